"""The golden histories, and what counts as a difference."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from graph.replaying.all import Played, play_batch
from graph.workflow import CURRENT

HISTORIES = Path(__file__).parent / "histories"
FILES = sorted(HISTORIES.glob("*/*.json.gz"))
COMMITS = sorted({file.parent.name for file in FILES})
#: So many share them out: two files of tests, which two processes work, with two tests each for every commit.
PARTS = 4

#: Histories of older versions that this one goes on with otherwise, on purpose; each with the reason.
CHANGED = {
    "ee7e095/plan-rejected-archive.json.gz": "version 1 stopped at a rejected plan; since version 2 the words of a rejection"
    " are an instruction, by which it is planned anew",
}


def named(played: Played) -> str:
    """Return commit and name of a history."""
    return "/".join(Path(played.file).parts[-2:])


def different(played: Sequence[Played]) -> list[dict[str, Any]]:
    """Return what goes on otherwise and is not known to, and what is known to and does not."""
    return [each.as_json() for each in played if each.ok == (named(each) in CHANGED)]


async def replayed(commit: str, part: int, server_url: str, template: str) -> None:
    """Replay a part of a commit's histories, print how long that took, and see that none goes on otherwise."""
    files = [file for file in FILES if file.parent.name == commit][part::PARTS]
    begun = time.monotonic()
    played = await play_batch(server_url, template, files, CURRENT)
    print(f"{len(played)} histories of {commit} in {time.monotonic() - begun:.1f} s")
    assert different(played) == []
    assert len(played) == len(files)
