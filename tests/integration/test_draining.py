"""A worker that is told to end finishes its step; whoever looks can tell it from one that was interrupted or that died."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.commands import end, perdure
from tests.support.stopped_runs import StoppedRun, stopped_run
from tests.support.waiting import wait_until


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, database_url: str, tmp_path: Path) -> Iterator[StoppedRun]:
    with stopped_run(monkeypatch, database_url, tmp_path) as begun:
        begun.wait_until_asked()
        yield begun


def until_told(run: StoppedRun) -> None:
    """Return once the worker has said that it was told to end."""
    assert run.process.stderr is not None
    assert any(b"told to end" in line for line in run.process.stderr)


def test_a_worker_that_is_told_to_end_finishes_its_step_and_lets_go(run: StoppedRun) -> None:
    """The answer that it waited for is kept, so the resume asks nothing again."""
    assert run.shown()["worker"] == "working"
    run.signal(signal.SIGTERM)
    until_told(run)
    run.search.released.set()
    ended = end(run.process)
    assert (ended.code, ended.output) == (130, b"")
    assert ended.messages.splitlines()[-1] == (
        "perdure: told to end; the running step is finished and saved:"
        f" `perdure resume {run.run_id}` goes on"
    )
    assert (run.shown()["status"], run.shown()["worker"]) == ("running", "drained")
    assert perdure("sweep", "--json").json == []
    before = perdure("journal", run.run_id, "--json").json
    assert {operation["status"] for operation in before} == {"accepted"}
    assert "search" in {operation["kind"] for operation in before}
    resumed = perdure("resume", run.run_id)
    assert (resumed.code, "northern lock" in resumed.text) == (0, True)
    journal = perdure("journal", run.run_id, "--json").json
    assert {len(operation["attempts"]) for operation in journal} == {1}


def test_a_second_sigterm_stops_at_once(run: StoppedRun) -> None:
    run.signal(signal.SIGTERM)
    until_told(run)
    run.signal(signal.SIGTERM)
    assert end(run.process).code == 130
    assert run.shown()["worker"] == "interrupted"
    assert perdure("sweep", "--json").json == []
    run.search.released.set()
    assert perdure("resume", run.run_id).code == 0


def test_a_killed_worker_leaves_an_orphan_that_a_sweep_finishes(run: StoppedRun) -> None:
    owner = run.lease()["owner"]
    run.process.kill()
    run.process.wait()
    run.search.released.set()
    # The database's process of its session has to notice first.
    wait_until(lambda: run.shown()["worker"] == "orphaned")
    (swept,) = perdure("sweep", "--json").json
    assert swept == {"run_id": run.run_id, "owner": owner, "became": "completed", "reason": None}
    assert run.shown()["worker"] == "none"
    assert perdure("verify", run.run_id).code == 0
    assert perdure("sweep").text == "none\n"


def test_an_orphan_of_another_workflow_is_left_alone_and_named(run: StoppedRun) -> None:
    run.process.kill()
    run.process.wait()
    wait_until(lambda: run.shown()["worker"] == "orphaned")
    before = run.lease()["fence"]
    run.belong_to_another_workflow()
    (swept,) = perdure("sweep", "--json").json
    assert swept["became"] == "left"
    assert "another topology" in swept["reason"]
    assert (run.lease()["fence"], run.shown()["worker"]) == (before, "orphaned")
