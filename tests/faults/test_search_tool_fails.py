"""Whatever the search tool does, it ends as an outcome in the ledger and as a line in the report."""

from collections.abc import AsyncIterator
from pathlib import Path
from uuid import UUID

import pytest

from graph.errors import RunWaits
from graph.runs import decide, resume_run, start_run
from graph.runtime import Runtime, open_runtime
from graph.settings import Settings
from ledger.db import Ledger
from ledger.ids import new_run_id
from ledger.journal import Operation
from ledger.questions import Decision
from nodes.calls import ATTEMPTS_MAX
from nodes.options import RunOptions
from tests.support.inline import with_inline_readers
from tests.support.observed import Observed, asked, observe
from tests.support.open_web import LOOPBACK
from tests.support.pages import QUESTION
from tests.support.search_server import Failure, Kind, SearchServer, World

NOTHING = "nothing in it could be cited"
UNRESEARCHED = "## What could not be researched"


class Case:
    """One run against a world that fails."""

    def __init__(self, ledger: Ledger, runtime: Runtime, world: World, run_id: UUID) -> None:
        self.ledger, self.runtime, self.world, self.run_id = ledger, runtime, world, run_id

    async def run(self, *failures: Failure) -> Observed:
        """Work the run and return what it came to: it is always completed."""
        self.world.failures.extend(failures)
        outcome = await start_run(self.runtime, QUESTION, RunOptions(review="none"), self.run_id)
        assert outcome.run.status == "completed"
        assert outcome.report_path is not None
        observed = await observe(self.ledger, self.run_id, self.world)
        assert observed.report is not None
        return observed


@pytest.fixture
async def case(
    ledger: Ledger, search_server: SearchServer, database_url: str, tmp_path: Path
) -> AsyncIterator[Case]:
    """A run that has not begun, and its world."""
    run_id = new_run_id()
    world = search_server.world(str(run_id))
    settings = Settings.model_validate(
        {
            "database_url": database_url,
            "home": tmp_path,
            "search_url": world.search_url,
            "private_networks": [LOOPBACK],
        }
    )
    async with open_runtime(settings) as runtime:
        yield Case(ledger, with_inline_readers(runtime), world, run_id)


def outcomes(operation: Operation) -> list[tuple[str, str | None]]:
    """Return how each attempt of an operation ended."""
    return [(attempt.outcome, attempt.reason) for attempt in operation.attempts]


async def test_a_search_that_always_fails_is_tried_three_times_and_said(case: Case) -> None:
    """The run completes with a report that says so and cites nothing."""
    run = await case.run(Failure("error"))
    assert run.report is not None
    for operation in run.operations:
        assert [outcome for outcome, _ in outcomes(operation)] == ["failed"] * ATTEMPTS_MAX
        assert all("HTTP 500" in (reason or "") for _, reason in outcomes(operation))
    assert {task.status for task in run.tasks} == {"blocked"}
    assert NOTHING in run.report
    assert UNRESEARCHED in run.report
    assert "HTTP 500" in run.report
    assert "## Citations" not in run.report
    assert run.findings == () or {finding.kind for finding in run.findings} == {"open_question"}


@pytest.mark.parametrize(
    ("kind", "where", "reason"),
    [
        ("error", "search?", "HTTP 500"),
        ("cut", "search?", "RemoteProtocolError"),
        ("error", "pages/tide-gauge", "HTTP 500"),
        ("cut", "pages/tide-gauge", "RemoteProtocolError"),
    ],
)
async def test_what_fails_once_is_tried_again_and_both_attempts_are_kept(
    case: Case, kind: Kind, where: str, reason: str
) -> None:
    run = await case.run(Failure(kind, where, times=1))
    tried = [operation for operation in run.operations if len(operation.attempts) > 1]
    assert len(tried) == 1
    (first, why), (second, _) = outcomes(tried[0])
    assert (first, second) == ("failed", "succeeded")
    assert reason in (why or "")
    assert tried[0].attempts[1].accepted
    assert case.world.counts[asked(tried[0])] == 2
    assert run.report is not None
    assert UNRESEARCHED not in run.report
    assert {finding.task_id for finding in run.findings} == {"t1", "t2", "t3"}


async def test_an_answer_that_is_no_json_is_not_asked_for_again(case: Case) -> None:
    run = await case.run(Failure("malformed", "search?"))
    for operation in run.operations:
        assert outcomes(operation) == [("failed", "the search service gave no list of results")]
    assert run.report is not None
    assert "the search service gave no list of results" in run.report
    assert NOTHING in run.report


async def test_a_page_that_is_gone_costs_that_page_only(case: Case) -> None:
    run = await case.run(Failure("gone", "pages/tide-gauge-history"))
    failed = [operation for operation in run.operations if operation.status == "open"]
    assert [asked(operation) for operation in failed] == ["pages/tide-gauge-history"]
    assert [outcome for outcome, _ in outcomes(failed[0])] == ["failed"]
    assert run.report is not None
    assert UNRESEARCHED in run.report
    assert "HTTP 410" in run.report
    assert {finding.task_id for finding in run.findings} == {"t1", "t2", "t3"}


async def test_a_search_that_finds_nothing_is_no_failure_and_cites_nothing(case: Case) -> None:
    run = await case.run(Failure("empty", "search?"))
    assert all(operation.status == "accepted" for operation in run.operations)
    assert {task.status for task in run.tasks} == {"complete"}
    assert run.report is not None
    assert NOTHING in run.report
    assert "## Citations" not in run.report


async def test_a_run_that_searches_the_web_is_not_answered_without_it(
    case: Case, database_url: str, tmp_path: Path
) -> None:
    """Resumed where no search is set up, it says so, instead of a report that nothing answers the question."""
    options = RunOptions(review="plan")
    paused = await start_run(case.runtime, QUESTION, options, case.run_id)
    approval = Decision(choice="approve", decided_by="ada")
    await decide(case.runtime, paused.reviews[0].review_id, approval)
    without = Settings.model_validate({"database_url": database_url, "home": tmp_path})
    async with open_runtime(without) as runtime:
        with pytest.raises(RunWaits, match="set PERDURE_SEARCH_URL"):
            await resume_run(runtime, case.run_id)
    resumed = await resume_run(case.runtime, case.run_id)
    assert resumed.run.status == "completed"
    report = (await observe(case.ledger, case.run_id, case.world)).report
    assert report is not None
    assert NOTHING not in report
