"""A run is recorded into a file, and the file is played without anything of the run's world."""

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from graph.cli.exits import Code
from tests.support.commands import Ended, perdure
from tests.support.runtimes import GARDEN, QUESTION, write_corpus


@pytest.fixture
def reviewed(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A run that was approved and published, whose documents and database settings are gone afterwards."""
    monkeypatch.setenv("PERDURE_DATABASE_URL", database_url)
    monkeypatch.setenv("PERDURE_HOME", str(tmp_path / "home"))
    corpus = write_corpus(tmp_path / "corpus")
    target = f"file:{tmp_path}/report.md"
    asked = perdure(
        "run", QUESTION, "--corpus", str(corpus), "--review", "plan", "--publish", target
    )
    assert asked.code == Code.PAUSED
    (review,) = json.loads(perdure("reviews", "--json").output)
    perdure("review", review["review_id"], "--approve", "--as", "ada")
    assert perdure("resume", asked.run_id).code == Code.DONE
    shutil.rmtree(corpus)
    return asked.run_id


def recorded(run_id: str, to: Path, *options: str) -> list[dict[str, Any]]:
    """The lines of a run's history."""
    assert perdure("record", run_id, "--to", str(to), *options).code == Code.DONE
    return [json.loads(line) for line in gzip.decompress(to.read_bytes()).splitlines()]


def replayed(*files: Path) -> Ended:
    return perdure("replay", *map(str, files), "--jobs", "1", "--json")


def is_search(line: dict[str, Any]) -> bool:
    """Whether a line is a search that the run made."""
    _, table, _, row = line.get("change") or [0, "", "", None]
    return bool(table == "operations" and row["kind"] == "search")


def written(lines: list[dict[str, Any]], to: Path) -> Path:
    to.write_bytes(gzip.compress("\n".join(map(json.dumps, lines)).encode()))
    return to


def test_a_recorded_run_replays_and_an_edited_history_names_where_it_differs(
    reviewed: str, tmp_path: Path
) -> None:
    lines = recorded(reviewed, tmp_path / "run.json.gz")
    assert lines[0]["format"] == 1
    kept = [line for line in lines if not is_search(line)]
    assert len(kept) < len(lines)
    edited = written(kept, tmp_path / "edited.json.gz")
    cut = written([*lines[:1], {"change": [1]}], tmp_path / "cut.json.gz")
    (tmp_path / "folder" / "no.json.gz").mkdir(parents=True)
    ended = replayed(tmp_path / "run.json.gz", edited, cut, tmp_path / "folder")
    same, different, unreadable, no_file = ended.json
    assert ended.code == Code.FAILED
    assert (same["ok"], same["mode"], same["divergence"]) == (True, "full", None)
    assert same["checkpoints"] > 10
    assert "cannot be read" in no_file["unreadable"]
    assert unreadable["unreadable"] == "it is a history that was cut short or edited"
    assert not different["ok"]
    assert different["divergence"]["kind"] == "request"
    assert "asks for what was never asked: search" in different["divergence"]["why"]


def test_a_history_without_text_holds_no_word_of_it_and_says_what_it_shows(
    reviewed: str, tmp_path: Path
) -> None:
    file = tmp_path / "veiled.json.gz"
    lines = recorded(reviewed, file, "--without-text")
    text = gzip.decompress(file.read_bytes()).decode()
    words = [*QUESTION.split(), *" ".join(GARDEN.values()).split(), "ada"]
    assert [word for word in words if len(word) > 5 and word in text] == []
    assert str(tmp_path) not in text
    assert lines[0]["text"] is False
    (told,) = replayed(file).json
    assert (told["ok"], told["mode"]) == (True, "shape")
    assert "texts were left out" in told["note"]
