"""Addresses: each form opens one target, its own address opens the same again, and what holds a secret is refused."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.canonical import canonical
from ledger.contracts import Contract
from ledger.db import Ledger, new_pool
from nodes.options import BadInput
from nodes.targets.opening import FORMS, Targets
from nodes.targets.smtp import mail_server
from nodes.targets.webhook import WebhookTarget
from tests.support.target_conformance import publication

HOOK = "https://hooks.example.org/in"


@pytest.fixture
def targets() -> Targets:
    """An opener; nothing here needs the database."""
    return Targets(
        ledger=Ledger(new_pool("postgresql://never.opened/", 1), "worker"),
        mail_server=mail_server("smtp://ada:canary@mail.test"),
        sender="perdure@example.org",
        databases={"archive": "postgresql://ada:canary@db.test/archive"},
        tokens={"hooks.example.org": "canary", "127.0.0.1:8080": "port", "[::1]:8080": "six"},
    )


#: What is given, the kind that it opens, and its address then.
OPENED = {
    HOOK: ("webhook", HOOK),
    "HTTPS://Hooks.Example.Org/In?to=beans": ("webhook", "https://hooks.example.org/In?to=beans"),
    "http://127.0.0.1:8080/x": ("webhook", "http://127.0.0.1:8080/x"),
    "http://localhost/x": ("webhook", "http://localhost/x"),
    "http://[::1]:8080/x": ("webhook", "http://[::1]:8080/x"),
    "mailto:ada@example.org": ("email", "mailto:ada@example.org"),
    "MAILTO:ada@example.org?Subject=Beans": ("email", "mailto:ada@example.org?Subject=Beans"),
    "postgres:reports": ("postgres", "postgres:reports"),
    "postgres:public.reports": ("postgres", "postgres:reports"),
    "postgres:Mine.Reports@archive": ("postgres", "postgres:Mine.Reports@archive"),
    "file:/srv/no/such/report.md": ("file", "file:/srv/no/such/report.md"),
    "file:///srv/no/such/": ("file", "file:/srv/no/such/"),
    "file:/srv/no/a%20b?c#d": ("file", "file:/srv/no/a%20b?c#d"),
}


@pytest.mark.parametrize("given", OPENED)
def test_an_address_opens_a_target_whose_address_opens_the_same(
    given: str, targets: Targets
) -> None:
    opened = targets.open(given)
    assert (opened.kind, opened.address) == OPENED[given]
    again = targets.open(opened.address)
    assert again == opened
    assert again.request(publication()) == opened.request(publication())
    assert "canary" not in repr((opened, targets, opened.request(publication())))


def test_a_relative_path_is_made_absolute(
    targets: Targets, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process may stand in another folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    assert targets.open("file:report.md").address == f"file:{tmp_path}/report.md"
    assert targets.open("file:folder").address == f"file:{tmp_path}/folder/"
    assert targets.open("file:new/").address == f"file:{tmp_path}/new/"
    monkeypatch.setenv("HOME", str(tmp_path))
    assert targets.open("file:~/report.md").address == f"file:{tmp_path}/report.md"


def test_one_place_has_one_address(targets: Targets) -> None:
    """What is told twice is done once."""
    for one, other in (
        ("https://example.org", "HTTPS://Example.org:443/"),
        ("https://example.org?keyword=monkey", "https://example.org/?keyword=monkey"),
    ):
        assert targets.open(one).address == targets.open(other).address


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("", "no target is written like that"),
        ("report.md", "no target is written like that"),
        ("file:", "no target is written like that"),
        (f"{HOOK}\n", None),
        (f"{HOOK}\x00", "no target is written like that"),
        ("ftp://example.org/", "no target is called ftp:"),
        ("file://server/share", "another machine"),
        ("file:~nobody-of-that-name/x", "nobody's home"),
        ("http://example.org/", "can be read and changed on its way"),
        ("http://127.0.0.1.example.org/", "can be read and changed on its way"),
        ("http://192.168.0.1/", "can be read and changed on its way"),
        ("https://ada:canary@example.org/", "no user or password"),
        (f"{HOOK}?token=canary", "holds no token"),
        (f"{HOOK}?a=b&API_KEY=canary", "holds no api_key"),
        (f"{HOOK}?x-API-key=canary", "holds no x-api-key"),
        (f"{HOOK}?X-Amz-Signature=canary", "holds no x-amz-signature"),
        (f"{HOOK}?authToken=canary", "holds no authtoken"),
        (f"{HOOK}?a=1;client_secret=canary", "holds no client_secret"),
        (f"{HOOK}#part", "behind a #"),
        (f"{HOOK}#", "behind a #"),
        ("https:///x", "needs a host"),
        ("https://a b/", "needs a host"),
        ("https://example.org:99999/", "a port up to"),
        ("https://[::1/", "no URL"),
        ("https://xn--a/", "no URL"),
        ("https://example.org:0/", "a port up to"),
        ("file:/srv/\udcff", "no target is written like that"),
        ("https://example.org/\ud800", "no target is written like that"),
        ("mailto:ada", "no mail address"),
        ("postgres:a b", "names no table"),
        ("postgres:ledger.runs", "names no table"),
        ("postgres://ada:canary@db.test/x", "names no database by its URL"),
        ("postgres:reports@nowhere", "which names: archive"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused_with_the_reason(
    address: str, reason: str | None, targets: Targets
) -> None:
    if reason is None:
        assert targets.open(address).address == HOOK
        return
    with pytest.raises(BadInput) as refusal:
        targets.open(address)
    assert reason in str(refusal.value)
    assert "canary" not in str(refusal.value)


BEGINNINGS = [
    "", "https://", "http://127.0.0.1", "https://[", "https://a.b:", "https://a.b/?", "file:", "file:~", "file:///",
    "mailto:", "mailto:a@b?", "mailto:a@b?subject=", "postgres:", "postgres:a.", "postgres:a@",
]  # fmt: skip


@given(st.sampled_from(BEGINNINGS), st.text(st.characters(codec=None)))
def test_any_text_opens_a_target_that_its_address_opens_again_or_is_bad_input(
    beginning: str, rest: str
) -> None:
    """Whatever somebody types; a request that nobody can store would stop its run for ever."""
    pool = new_pool("postgresql://never.opened/", 1)
    opener = Targets(Ledger(pool, "worker"), databases={"a": "postgresql://db.test/"})
    try:
        opened = opener.open(beginning + rest)
    except BadInput:
        return
    again = opener.open(opened.address)
    assert again.address == opened.address
    assert canonical(again.request(publication())) == canonical(opened.request(publication()))


def test_an_unknown_form_is_told_all_that_there_are(targets: Targets) -> None:
    with pytest.raises(BadInput) as refusal:
        targets.open("slack:general")
    assert FORMS in str(refusal.value)


@pytest.mark.parametrize(
    ("address", "token"),
    [
        (HOOK, "canary"),
        ("https://HOOKS.example.org:8443/", "canary"),
        ("https://example.org/", None),
        ("https://hooks.example.org.evil.test/", None),
        ("https://evil-hooks.example.org/", None),
        ("http://127.0.0.1:8080/", "port"),
        ("http://127.0.0.1:8081/", None),
        ("http://[::1]:8080/", "six"),
    ],
)
def test_a_token_goes_to_its_host_and_to_no_other(
    address: str, token: str | None, targets: Targets
) -> None:
    opened = targets.open(address)
    assert isinstance(opened, WebhookTarget)
    assert opened.token == token


def test_the_contract_of_the_longest_beginning_counts(targets: Targets) -> None:
    declared = {
        "https://": Contract(kind="opaque"),
        "https://hooks.example.org/": Contract(kind="queryable", lag_seconds=5),
        "https://hooks.example.org/other": Contract(kind="opaque"),
    }
    told = replace(targets, contracts=declared)
    assert told.open(HOOK).contract == declared["https://hooks.example.org/"]
    assert told.open("https://example.org/").contract.kind == "opaque"
    assert told.open("mailto:ada@example.org").contract.kind == "opaque"
    assert told.open("postgres:reports").contract.kind == "transactional"
    assert targets.open(HOOK).contract == Contract(
        kind="keyed", window_seconds=86_400, request_seconds=30
    )


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("mailto:ada@example.org", "keyed"),
        ("file:/srv/x", "keyed"),
        (HOOK, "conditional"),
        (HOOK, "transactional"),
        ("postgres:reports", "queryable"),
        ("postgres:reports@archive", "transactional"),
    ],
)
def test_a_contract_that_a_target_cannot_keep_is_refused(
    address: str, kind: str, targets: Targets
) -> None:
    contract = Contract.model_validate({"kind": kind})
    with pytest.raises(BadInput, match="PERDURE_CONTRACTS"):
        replace(targets, contracts={address: contract}).open(address)
