"""Seals: what a key ring signs it verifies, and nothing else."""

import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from graph.seal_keys import FILE, known_keys, seal_keys
from graph.settings import Settings, SettingsInvalid
from ledger.errors import SealKeyMissing
from ledger.keys import KeyRing

OLD, NEW = "0" * 32, "1" * 32
PARTS = st.lists(st.text(), max_size=4)


@given(PARTS, PARTS)
def test_a_seal_holds_for_what_was_sealed_and_for_nothing_else(
    sealed: list[str], other: list[str]
) -> None:
    ring = KeyRing.of([NEW])
    key_id, seal = ring.sign(*sealed)
    assert ring.verifies(key_id, seal, *sealed)
    assert ring.verifies(key_id, seal, *other) == (sealed == other)
    assert not KeyRing(((key_id, b"forged"),)).verifies(key_id, seal, *sealed)


def test_a_new_key_in_front_seals_and_the_old_one_still_verifies() -> None:
    old = KeyRing.of([OLD]).sign("checkpoint")
    ring = KeyRing.of([NEW, OLD])
    assert ring.verifies(*old, "checkpoint")
    assert ring.key_id != old[0]
    with pytest.raises(SealKeyMissing, match=old[0]):
        KeyRing.of([NEW]).verifies(*old, "checkpoint")


def test_a_ring_without_keys_says_what_to_set() -> None:
    with pytest.raises(SealKeyMissing, match="PERDURE_SEAL_KEY"):
        KeyRing().sign("checkpoint")


def test_a_seal_that_is_no_hex_does_not_verify() -> None:
    ring = KeyRing.of([NEW])
    assert not ring.verifies(ring.key_id, "ünd", "checkpoint")


def settings(home: Path, key: str | None = None) -> Settings:
    """Return settings with a home of their own."""
    return Settings(home=home, seal_key=SecretStr(key) if key else None)


@pytest.fixture(autouse=True)
def no_key_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the key to the file."""
    monkeypatch.delenv("PERDURE_SEAL_KEY")


def test_a_key_is_made_once_and_only_its_owner_may_read_it(tmp_path: Path) -> None:
    first = seal_keys(settings(tmp_path), ())
    assert seal_keys(settings(tmp_path), {first.key_id}) == first
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == [FILE]


def test_a_lost_key_is_not_replaced_where_something_was_sealed_with_it(tmp_path: Path) -> None:
    lost = KeyRing.of([OLD]).key_id
    with pytest.raises(SealKeyMissing, match=lost):
        seal_keys(settings(tmp_path), {lost})
    assert not (tmp_path / FILE).exists()
    assert seal_keys(settings(tmp_path, NEW), {lost}).key_id == KeyRing.of([NEW]).key_id


def test_a_key_file_that_holds_no_key_is_no_reason_to_make_another(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"")
    with pytest.raises(SettingsInvalid, match="empty"):
        known_keys(settings(tmp_path))
    (tmp_path / FILE).write_bytes(b"\xff\xfe")
    with pytest.raises(SettingsInvalid, match="cannot be read"):
        known_keys(settings(tmp_path))


def test_a_key_that_is_too_short_to_be_one_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 32"):
        settings(Path(), "secret")
