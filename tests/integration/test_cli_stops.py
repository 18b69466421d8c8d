"""A stop is never a loss: interrupted, held by another process, cancelled, a disk that takes no report."""

import signal
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from tests.support.commands import end, perdure, start
from tests.support.slow_search import SlowSearch, slow_search

QUESTION = "Which lock does the ferry take?"
DOCUMENT = (
    "# Ferries\n\nThe ferry takes the northern lock at noon.\n\nBarges wait below the weir.\n"
)


@pytest.fixture(autouse=True)
def home(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A database and a home of this test's own, as a person would set them."""
    monkeypatch.setenv("PERDURE_DATABASE_URL", database_url)
    monkeypatch.setenv("PERDURE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def corpus(tmp_path: Path) -> str:
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "ferries.md").write_text(DOCUMENT)
    return str(folder)


@pytest.fixture
def search(monkeypatch: pytest.MonkeyPatch) -> Iterator[SlowSearch]:
    with slow_search() as search:
        monkeypatch.setenv("PERDURE_SEARCH_URL", search.url)
        yield search


@pytest.mark.parametrize(
    "numbers",
    [(signal.SIGINT,), (signal.SIGINT, signal.SIGINT), (signal.SIGTERM, signal.SIGINT)],
    ids=["Ctrl-C", "Ctrl-C twice", "SIGTERM and Ctrl-C"],
)
def test_an_interrupted_run_says_how_to_go_on_and_goes_on(
    corpus: str, search: SlowSearch, numbers: tuple[signal.Signals, ...]
) -> None:
    """Ctrl-C while a search is out: exit 130, nothing lost, and resuming finishes the run."""
    process = start("run", QUESTION, "--corpus", corpus)
    assert search.asked.wait(60)
    for number in numbers:
        process.send_signal(number)
    ended = end(process)
    assert (ended.code, ended.output) == (130, b"")
    assert ended.messages.splitlines()[-1] == (
        f"perdure: interrupted; what was done is saved: `perdure resume {ended.run_id}` goes on"
    )
    assert "Traceback" not in ended.messages
    search.released.set()
    resumed = perdure("resume", ended.run_id)
    assert resumed.code == 0
    assert "northern lock" in resumed.text
    assert perdure("verify", ended.run_id).code == 0


def test_of_two_processes_on_one_run_one_works_and_the_other_leaves(
    corpus: str, search: SlowSearch
) -> None:
    name = str(uuid4())
    first = start("run", QUESTION, "--corpus", corpus, "--run-id", name)
    assert search.asked.wait(60)
    second = perdure("resume", name, "--json")
    assert (second.code, second.output) == (5, b"")
    assert f"run {name} is being worked by" in second.messages
    search.released.set()
    assert end(first).code == 0


def test_a_run_that_is_cancelled_while_it_is_worked_ends_with_1(
    corpus: str, search: SlowSearch
) -> None:
    name = str(uuid4())
    process = start("run", QUESTION, "--corpus", corpus, "--run-id", name, "--json")
    assert search.asked.wait(60)
    assert perdure("cancel", name).code == 0
    search.released.set()
    ended = end(process)
    assert (ended.code, ended.json["status"]) == (1, "cancelled")


def test_a_report_that_cannot_be_written_leaves_a_run_to_resume(corpus: str, home: Path) -> None:
    home.mkdir()
    reports = home / "reports"
    reports.write_text("a file where the folder should be")
    ended = perdure("run", QUESTION, "--corpus", corpus)
    assert (ended.code, ended.output) == (1, b"")
    assert str(reports) in ended.messages
    assert "`perdure resume RUN`" in ended.messages
    reports.unlink()
    assert perdure("resume", ended.run_id).code == 0
