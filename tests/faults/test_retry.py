"""One branch is researched anew: its calls are made again, all others stay, and the rule says whose findings stand."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import pytest

from graph.control import retry_run
from graph.errors import RetryRefused
from graph.forking import fork_run
from graph.runs import Outcome, decide, resume_run, start_run
from graph.runtime import Runtime, open_runtime
from graph.settings import Settings
from ledger import findings, journal, records, retries, tasks
from ledger.db import Ledger
from ledger.errors import NotFound
from ledger.findings import Finding
from ledger.ids import new_run_id
from ledger.questions import Decision
from ledger.retries import Rule
from ledger.verification import verify
from nodes.options import RunOptions
from tests.support.inline import with_inline_readers
from tests.support.observed import asked
from tests.support.open_web import LOOPBACK
from tests.support.pages import PAGES, QUESTION
from tests.support.search_server import Failure, SearchServer, World

CHANGED = {
    **PAGES,
    "tide-gauge": (
        "Tide gauge",
        ("A tide gauge is a stick with marks on it, says the new edition of this page.",),
    ),
}
CLAIM_NOW = "says the new edition"


@dataclass
class Harbour:
    """A run that waits for the review of its report, and its world."""

    runtime: Runtime
    world: World
    paused: Outcome

    @property
    def run_id(self) -> UUID:
        return self.paused.run.run_id

    async def standing(self, task_id: str) -> list[Finding]:
        async with self.runtime.ledger.transaction() as tx:
            return await findings.standing(tx, self.run_id, task_id)

    async def of_others(self) -> tuple[object, ...]:
        """Everything of the branches that are not researched anew."""
        async with self.runtime.ledger.transaction() as tx:
            operations = await journal.operations(tx, self.run_id)
            planned = await tasks.everything(tx, self.run_id)
        return (
            [each for each in operations if each.task_id != "t1"],
            [task for task in planned if task.task_id != "t1"],
            [each.finding_id for name in ("t2", "t3") for each in await self.standing(name)],
        )

    async def approve(self, outcome: Outcome) -> Outcome:
        """Approve the one review that is asked, and go on."""
        (review,) = outcome.reviews
        await decide(self.runtime, review.review_id, Decision(choice="approve", decided_by="ada"))
        return await resume_run(self.runtime, self.run_id)


@pytest.fixture
async def harbour(
    ledger: Ledger, search_server: SearchServer, database_url: str, tmp_path: Path
) -> AsyncIterator[Harbour]:
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
    async with open_runtime(settings) as opened:
        runtime = with_inline_readers(opened)
        options = RunOptions(review="report")
        yield Harbour(runtime, world, await start_run(runtime, QUESTION, options, run_id))


async def test_a_retry_makes_the_calls_of_one_branch_again_and_touches_no_other(
    harbour: Harbour,
) -> None:
    """The page has changed: both answers are kept, the latest stands, the report cites it."""
    before, others = await harbour.standing("t1"), await harbour.of_others()
    calls = harbour.world.counts
    harbour.world.pages = CHANGED
    again = await retry_run(harbour.runtime, harbour.run_id, "t1", "latest")

    assert (again.run.status, [review.kind for review in again.reviews]) == ("paused", ["report"])
    assert await harbour.of_others() == others
    async with harbour.runtime.ledger.transaction() as tx:
        operations = await journal.operations(tx, harbour.run_id)
        (retry,) = await retries.newest_first(tx, harbour.run_id)
    first = [asked(each) for each in operations if each.task_id == "t1"]
    assert sorted(first) == sorted([*set(first)] * 2), "each call stands twice, once for each time"
    assert harbour.world.counts - calls == dict.fromkeys(set(first), 1)
    now = await harbour.standing("t1")
    assert any(CLAIM_NOW in finding.claim for finding in now)
    assert not any(CLAIM_NOW in finding.claim for finding in before)
    assert (retry.task_id, retry.number, retry.settled) == ("t1", 1, "latest")
    done = await harbour.approve(again)
    assert done.report_path is not None
    assert CLAIM_NOW in done.report_path.read_text()
    async with harbour.runtime.ledger.transaction(one_moment=True) as tx:
        assert [check for check in await verify(tx, harbour.run_id) if not check.ok] == []


@pytest.mark.parametrize("rule", ["first", "review"])
async def test_what_a_retry_found_is_kept_and_does_not_stand_by_itself(
    harbour: Harbour, rule: Rule
) -> None:
    """Under `first` the earlier findings stand; under `review` a person is shown both and leaves one out."""
    before = {finding.finding_id for finding in await harbour.standing("t1")}
    harbour.world.pages = CHANGED
    again = await retry_run(harbour.runtime, harbour.run_id, "t1", rule)
    now = await harbour.standing("t1")
    new = [finding for finding in now if finding.finding_id not in before]
    if rule == "first":
        assert {finding.finding_id for finding in now} == before
        assert [review.kind for review in again.reviews] == ["report"]
        return
    assert before <= {finding.finding_id for finding in now}
    assert any(CLAIM_NOW in finding.claim for finding in new)
    (review,) = again.reviews
    assert review.kind == "conflict"
    assert {finding.finding_id for finding in now if finding.kind == "claim"} <= {
        each["id"] for each in review.shown["claims"]
    }
    edit = Decision(choice="edit", decided_by="ada", edit={"stand": sorted(before)})
    await decide(harbour.runtime, review.review_id, edit)
    done = await harbour.approve(await resume_run(harbour.runtime, harbour.run_id))
    assert done.report_path is not None
    assert CLAIM_NOW not in done.report_path.read_text()


async def test_a_retry_that_comes_to_nothing_leaves_the_earlier_findings_standing(
    harbour: Harbour,
) -> None:
    before = [finding.finding_id for finding in await harbour.standing("t1")]
    harbour.world.failures.append(Failure("error"))
    await retry_run(harbour.runtime, harbour.run_id, "t1", "latest")
    claims = [each.finding_id for each in await harbour.standing("t1") if each.kind == "claim"]
    assert set(claims) <= set(before)
    assert claims


async def test_what_cannot_be_tried_again_is_refused_and_changes_nothing(harbour: Harbour) -> None:
    with pytest.raises(NotFound, match="t1, t2, t3"):
        await retry_run(harbour.runtime, harbour.run_id, "t9", "latest")
    assert (await resume_run(harbour.runtime, harbour.run_id)).run.status == "paused"
    done = await harbour.approve(harbour.paused)
    assert done.run.status == "completed"
    with pytest.raises(RetryRefused, match="perdure fork"):
        await retry_run(harbour.runtime, harbour.run_id, "t1", "latest")


async def test_a_branch_of_a_finished_run_is_tried_again_in_a_fork(harbour: Harbour) -> None:
    """What the refusal says to do, done: the finished run stays as it is, the fork has the new answer."""
    await harbour.approve(harbour.paused)
    before = harbour.world.counts
    async with harbour.runtime.ledger.transaction() as tx:
        rows = await records.newest_first(tx, harbour.run_id)
    at = next(row.checkpoint_id for row in rows if row.boundary == "branch_completed")
    fork = await fork_run(harbour.runtime, harbour.run_id, at)
    assert harbour.world.counts == before, "forking asks for nothing"
    harbour.world.pages = CHANGED
    again = await retry_run(harbour.runtime, fork.run_id, "t1", "latest")
    (review,) = again.reviews
    await decide(harbour.runtime, review.review_id, Decision(choice="approve", decided_by="ada"))
    done = await resume_run(harbour.runtime, fork.run_id)
    assert done.report_path is not None
    assert CLAIM_NOW in done.report_path.read_text()
    first = harbour.runtime.resources.reports / f"{harbour.run_id}.md"
    assert CLAIM_NOW not in first.read_text()
