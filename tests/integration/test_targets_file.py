"""A report's file appears whole or not at all, never in the place of another, whoever is killed or frozen on the way."""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ledger.canonical import digest
from nodes.options import BadInput
from nodes.targets import file
from nodes.targets.base import Absent, Confirmed, Differs, NotSent, Refused, Sending
from nodes.targets.file import DEFAULT_CONTRACT, FileTarget, file_target
from tests.support.target_conformance import (
    CHECKS,
    REPORT,
    Check,
    Subject,
    named,
    publication,
    sending,
)

# A process whose files may have 100 bytes: what follows ends it within the write, or fails.
LIMITED = """
import asyncio, resource, signal, sys
from nodes.targets.file import DEFAULT_CONTRACT, file_target
from tests.support.target_conformance import sending
signal.signal(signal.SIGXFSZ, getattr(signal, sys.argv[2]))
target = file_target(sys.argv[1], DEFAULT_CONTRACT)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
print(type(asyncio.run(target.send(sending(target)))).__name__)
"""


def opened(place: Path | str) -> FileTarget:
    return file_target(str(place), DEFAULT_CONTRACT)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def limited(place: Path, on_limit: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", LIMITED, str(place), on_limit]
    root = Path(__file__).parent.parent.parent
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("check", CHECKS, ids=named)
async def test_a_file_conforms(check: Check, tmp_path: Path) -> None:
    async def effects(one: Sending) -> int:
        wanted = digest(one.publication.content)
        return sum(
            digest((tmp_path / name).read_bytes()) == wanted
            for name in names(tmp_path)
            if name == f"{one.publication.run_id}.md"
        )

    await check(Subject(lambda: opened(f"{tmp_path}/"), effects))


async def test_the_file_is_the_report_and_nothing_else_is_left(tmp_path: Path) -> None:
    target = opened(tmp_path / "report.md")
    done = await target.send(sending(target))
    assert done == Confirmed(
        str(tmp_path / "report.md"),
        {"digest": digest(REPORT.encode()), "bytes": len(REPORT.encode())},
    )
    assert names(tmp_path) == ["report.md"]
    assert (tmp_path / "report.md").read_text() == REPORT
    assert (tmp_path / "report.md").stat().st_nlink == 1


async def test_a_file_with_other_content_is_left_as_it_is(tmp_path: Path) -> None:
    place = tmp_path / "report.md"
    place.write_text("mine")
    target = opened(place)
    assert isinstance(await target.send(sending(target)), Differs)
    assert isinstance(await target.look_up(sending(target)), Differs)
    assert place.read_text() == "mine"
    assert names(tmp_path) == ["report.md"]


async def test_what_is_no_file_differs_and_nobody_waits_for_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("pipe", "link"):
        target = opened(tmp_path / name)
        assert isinstance(await target.look_up(sending(target)), Differs)
        assert isinstance(await target.send(sending(target)), Differs)


async def test_what_a_killed_sender_left_is_removed_by_the_next_one(tmp_path: Path) -> None:
    place = tmp_path / "report.md"
    killed = limited(place, "SIG_DFL")
    assert killed.returncode == -signal.SIGXFSZ, killed.stderr
    (left,) = names(tmp_path)
    assert left.startswith(".")
    assert (tmp_path / left).stat().st_size == 100
    target = opened(place)
    assert isinstance(await target.look_up(sending(target)), Absent)
    assert isinstance(await target.send(sending(target)), Confirmed)
    assert names(tmp_path) == ["report.md"]
    assert place.read_text() == REPORT


async def test_what_another_key_left_is_not_touched(tmp_path: Path) -> None:
    """Its sender may be at work."""
    target = opened(tmp_path / "report.md")
    other = replace(sending(target), key="eff_other")
    temporary = file._write(tmp_path / "report.md", other)
    assert isinstance(await target.send(sending(target)), Confirmed)
    assert temporary.exists()


def test_a_file_that_cannot_be_written_whole_leaves_nothing(tmp_path: Path) -> None:
    failed = limited(tmp_path / "report.md", "SIG_IGN")
    assert failed.stdout.strip() == "Refused", failed.stderr
    assert names(tmp_path) == []


async def test_a_sender_that_was_frozen_before_its_link_changes_nothing(tmp_path: Path) -> None:
    """The next one took it for dead, removed what it had written and made the file."""
    place = tmp_path / "report.md"
    target = opened(place)
    one = sending(target)
    frozen = file._write(place, one)
    assert isinstance(await target.send(one), Confirmed)
    made = place.stat().st_ino
    assert not frozen.exists()
    assert isinstance(file._link(frozen, place, one), Confirmed)
    assert place.stat().st_ino == made


async def test_a_sender_whose_temporary_file_is_gone_has_sent_nothing(tmp_path: Path) -> None:
    """The one that removed it may have died before it made the file."""
    place = tmp_path / "report.md"
    one = sending(opened(place))
    frozen = file._write(place, one)
    file._remove_leftovers(place, one.key)
    assert isinstance(file._link(frozen, place, one), NotSent)
    assert names(tmp_path) == []


async def test_a_missing_folder_is_told_before_and_refused(tmp_path: Path) -> None:
    for place in (tmp_path / "none" / "report.md", tmp_path / "file" / "report.md"):
        (tmp_path / "file").touch()
        target = opened(place)
        with pytest.raises(BadInput, match="no folder"):
            await target.check()
        assert isinstance(await target.send(sending(target)), Refused)


async def test_a_folder_stays_a_folder_for_whoever_opens_its_address_again(tmp_path: Path) -> None:
    """Else the request of a run would change with what became of the path meanwhile."""
    first = opened(tmp_path)
    again = opened(first.address.removeprefix("file:"))
    assert first.address == f"file:{tmp_path}/" == again.address
    assert first.request(publication()) == again.request(publication())
