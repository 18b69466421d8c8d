"""Retries after retries, in forks, and of what has failed or waits: whose findings stand, and what a person is asked."""

from pathlib import Path

import pytest

from graph.control import retry_run
from graph.errors import RetryRefused, RunWaits
from graph.forking import fork_run
from graph.rewinding import rewind
from graph.runs import decide, outcome, resume_run
from graph.runtime import open_runtime
from graph.settings import Settings
from graph.working import working
from ledger import records, retries, runs, tasks
from ledger.errors import NotFound
from ledger.questions import Decision
from ledger.retries import Rule
from tests.faults.test_retry import CHANGED, Harbour, harbour
from tests.support.pages import PAGES
from tests.support.search_server import Failure

__all__ = ["harbour"]  # a fixture


async def standing(harbour: Harbour, task_id: str = "t1") -> set[str]:
    """Return the claims of a task that stand."""
    return {each.claim for each in await harbour.standing(task_id) if each.kind == "claim"}


async def test_first_means_what_stood_before_the_retry_not_what_ever_stood(
    harbour: Harbour,
) -> None:
    harbour.world.pages = CHANGED
    await retry_run(harbour.runtime, harbour.run_id, "t1", "latest")
    latest = await standing(harbour)
    harbour.world.pages = PAGES
    await retry_run(harbour.runtime, harbour.run_id, "t1", "first")
    assert await standing(harbour) == latest


async def test_nobody_is_asked_to_choose_between_the_same_or_twice(harbour: Harbour) -> None:
    again = await retry_run(harbour.runtime, harbour.run_id, "t1", "review")
    assert [review.kind for review in again.reviews] == ["report"]
    harbour.world.pages = CHANGED
    asked = await retry_run(harbour.runtime, harbour.run_id, "t1", "review")
    assert [review.kind for review in asked.reviews] == ["conflict"]
    assert [review.kind for review in (await harbour.approve(asked)).reviews] == ["report"]
    other = await retry_run(harbour.runtime, harbour.run_id, "t2", "latest")
    assert [review.kind for review in other.reviews] == ["report"]


@pytest.mark.parametrize("rule", ["first", "latest"])
async def test_a_fork_in_the_middle_of_a_retry_settles_it_by_its_rule(
    harbour: Harbour, rule: Rule
) -> None:
    """The retry of the fork finds something else, or nothing: what stood before stands, as the rule says."""
    before, runtime = await standing(harbour), harbour.runtime
    async with working(runtime, harbour.run_id) as run:
        assert run is not None
        async with runtime.ledger.transaction(harbour.run_id) as tx:
            number = await retries.request(tx, harbour.run_id, "t1", rule)
            await runs.close_reviews(tx, harbour.run_id)
            await runs.set_status(tx, harbour.run_id, "running")
        await rewind(runtime, run, [("t1", number)])
    async with runtime.ledger.transaction() as tx:
        newest = next(r for r in await records.newest_first(tx, harbour.run_id) if r.is_a_beginning)
    fork = await fork_run(runtime, harbour.run_id, newest.checkpoint_id)
    harbour.world.pages = CHANGED
    if rule == "latest":
        harbour.world.failures.append(Failure("error"))
    await resume_run(runtime, fork.run_id)
    harbour.paused = await outcome(runtime, fork.run_id)
    assert await standing(harbour) == before
    async with runtime.ledger.transaction() as tx:
        (task,) = [t for t in await tasks.everything(tx, fork.run_id) if t.task_id == "t1"]
    assert task.status == "complete"


async def test_a_refused_retry_leaves_a_failed_run_as_it_is(harbour: Harbour) -> None:
    async with harbour.runtime.ledger.transaction() as tx:
        await runs.set_status(tx, harbour.run_id, "failed", "out of order")
    with pytest.raises(NotFound):
        await retry_run(harbour.runtime, harbour.run_id, "t9", "latest")
    run = (await outcome(harbour.runtime, harbour.run_id)).run
    assert (run.status, run.reason) == ("failed", "out of order")


async def test_a_decision_that_was_not_carried_out_yet_is_not_passed_by(harbour: Harbour) -> None:
    (review,) = harbour.paused.reviews
    await decide(harbour.runtime, review.review_id, Decision(choice="reject", decided_by="ada"))
    with pytest.raises(RetryRefused, match="perdure resume"):
        await retry_run(harbour.runtime, harbour.run_id, "t1", "latest")
    assert (await resume_run(harbour.runtime, harbour.run_id)).run.status == "cancelled"


async def test_a_run_that_waited_for_a_key_waits_for_its_review_again(
    harbour: Harbour, database_url: str, tmp_path: Path
) -> None:
    without = Settings.model_validate({"database_url": database_url, "home": tmp_path})
    async with open_runtime(without) as runtime:
        with pytest.raises(RunWaits):
            await resume_run(runtime, harbour.run_id)
    assert (await outcome(harbour.runtime, harbour.run_id)).run.status == "blocked"
    assert (await resume_run(harbour.runtime, harbour.run_id)).run.status == "paused"
