"""The guide to changing the workflow does not lie: each of its changes is made in a copy of the code, and proved there."""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from graph.runs import start_run
from graph.scaffolding import new_version
from graph.versions import WORKFLOW_VERSION
from tests.migrations.copies import GOES_ON, ROOT, copied, run_by
from tests.support.runtimes import QUESTION, options, runtime_on, write_corpus

GUIDE = ROOT / "graph" / "upcasts" / "README.md"
_SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
_BLOCK = re.compile(r"^```(python|diff)\n# (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NUMBER = f"{WORKFLOW_VERSION:04}"


def sections() -> dict[str, str]:
    """Return the text of each section of the guide."""
    _, *parts = _SECTION.split(GUIDE.read_text(encoding="utf-8"))
    return dict(zip(parts[::2], parts[1::2], strict=True))


SECTIONS = sections()


def in_copy(folder: Path, section: str) -> Path:
    """Make the changes of a section in a copy of the code."""
    # As `perdure new-version --force` does it in a checkout.
    new_version(copied(folder), force=True)
    for kind, path, text in _BLOCK.findall(section):
        file = folder / path.replace("NNNN", _NUMBER)
        file.parent.mkdir(parents=True, exist_ok=True)
        if kind == "python":
            file.write_text(text.replace("NNNN", _NUMBER), encoding="utf-8")
        else:
            file.write_text(changed(file.read_text(encoding="utf-8"), text), encoding="utf-8")
    return folder


def changed(text: str, diff: str) -> str:
    """Return a text after a diff without numbers: lines that go, one after the other from the top, and what takes their place."""
    lines, at = text.splitlines(), 0
    for gone, come in hunks(diff):
        found = [
            at + number for number in range(len(lines) - at) if fits(lines[at + number :], gone)
        ]
        assert found, f"{gone} is not there any more"
        at = found[0]
        lines[at : at + len(gone)] = come
        at += len(come)
    return "\n".join(lines) + "\n"


def fits(lines: Sequence[str], gone: Sequence[str]) -> bool:
    return list(lines[: len(gone)]) == list(gone)


def hunks(diff: str) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the lines that go and those that come at each place; places are parted by `@@`."""
    for hunk in diff.split("@@\n"):
        lines = hunk.splitlines()
        yield (
            [line[1:] for line in lines if line[:1] in {"-", " "}],
            [line[1:] for line in lines if line[:1] in {"+", " "}],
        )


def test_the_guide_says_how_to_make_each_change() -> None:
    assert list(SECTIONS) == [
        "Add a node",
        "Rename a node",
        "Split a channel",
        "Change a review",
        "Drop a field",
    ]


@pytest.mark.parametrize("name", SECTIONS)
async def test_a_change_of_the_guide_is_proved_by_its_test_and_a_sleeping_run_goes_on(
    database_url: str, tmp_path: Path, name: str
) -> None:
    corpus = write_corpus(tmp_path / "garden")
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        asleep = await start_run(runtime, QUESTION, options(corpus, "plan,report"))
    folder = in_copy(tmp_path / "copy", SECTIONS[name])
    place = {
        "PERDURE_DATABASE_URL": database_url,
        "PERDURE_HOME": str(tmp_path / "home"),
    }
    test = f"tests/unit/test_upcast_{_NUMBER}.py"
    run_by(folder, "-m", "pytest", "-q", "-p", "no:cacheprovider", test)
    told: dict[str, Any] = json.loads(run_by(folder, str(GOES_ON), str(asleep.run.run_id), **place))
    again = [["plan", "stale"]] if name == "Change a review" else []
    assert told == {
        "status": "completed",
        "version": WORKFLOW_VERSION + 1,
        "reviews": [["report", "decided"], ["plan", "decided"], *again],
    }
