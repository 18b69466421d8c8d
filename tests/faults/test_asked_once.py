"""Branches of a run that want the same: the search is asked, and the page is read, once, whatever happens in between."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest

from graph.control import retry_run
from graph.runs import decide, outcome, resume_run, start_run
from graph.runtime import Runtime, open_runtime
from graph.settings import Settings
from ledger.db import Ledger
from ledger.ids import new_run_id
from ledger.questions import Decision
from ledger.verification import verify
from nodes.options import RunOptions
from tests.faults.campaign import Campaign, check_whole
from tests.support.inline import with_inline_readers
from tests.support.observed import Observed, observe
from tests.support.open_web import LOOPBACK
from tests.support.search_server import Failure, SearchServer, World

ONE = "When was the harbour wall built?"
PAGE = "pages/harbour-wall"
#: Two tasks whose subject is the same: they share a query, and pages.
TWO = "When was the harbour wall built, and when was the harbour wall repaired?"
LANES = 2
EVERY = 4


class Pair:
    """A run whose plan a person may write: tasks by name, each with a question and those that it waits for."""

    def __init__(self, ledger: Ledger, runtime: Runtime, world: World, run_id: UUID) -> None:
        self.ledger, self.runtime, self.world, self.run_id = ledger, runtime, world, run_id

    async def planned(self, *tasks: tuple[str, str, list[str]], review: str = "plan") -> Observed:
        """Work a run by this plan."""
        options = RunOptions.model_validate({"review": review})
        paused = await start_run(self.runtime, ONE, options, self.run_id)
        plan = [{"id": name, "question": asks, "depends_on": on} for name, asks, on in tasks]
        await self.decided(
            paused.reviews[0].review_id, Decision(choice="edit", decided_by="ann", edit=plan)
        )
        return await self.observed()

    async def decided(self, review_id: str, decision: Decision) -> None:
        await decide(self.runtime, review_id, decision)
        await resume_run(self.runtime, self.run_id)

    async def observed(self) -> Observed:
        async with self.ledger.transaction(one_moment=True) as tx:
            assert [check for check in await verify(tx, self.run_id) if not check.ok] == []
        return await observe(self.ledger, self.run_id, self.world)


@pytest.fixture
async def pair(
    ledger: Ledger, search_server: SearchServer, database_url: str, tmp_path: Path
) -> AsyncIterator[Pair]:
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
        yield Pair(ledger, with_inline_readers(runtime), world, run_id)


@pytest.mark.parametrize("waits_for", [[], ["t8"]], ids=["at once", "one after the other"])
async def test_two_branches_with_one_question_ask_once_and_both_find(
    pair: Pair, waits_for: list[str]
) -> None:
    """Their queries differ in case: one search. Both branches have the claim, each with its evidence."""
    run = await pair.planned(("t8", ONE, []), ("t9", ONE.upper(), waits_for))
    assert run.status == "completed"
    assert pair.world.counts[PAGE] == 1
    folded = [asked.casefold() for asked in pair.world.asked]
    assert len(folded) == len(set(folded))
    found = {
        name: {finding.quotes for finding in run.findings if finding.task_id == name}
        for name in ("t8", "t9")
    }
    assert found["t8"] == found["t9"] != set()
    taken = [one for each in run.operations for one in each.attempts if one.reused]
    called = [one for each in run.operations for one in each.attempts if not one.reused]
    assert len(called) == len(pair.world.asked)
    assert len(taken) == len(run.operations) - len(called) > 0


async def test_a_retry_of_one_of_them_asks_anew(pair: Pair) -> None:
    await pair.planned(("t8", ONE, []), ("t9", ONE, []), review="plan,report")
    before = pair.world.counts
    assert set(before.values()) == {1}
    await retry_run(pair.runtime, pair.run_id, "t9", "latest")
    assert set(pair.world.counts.values()) == {2}
    (review,) = (await outcome(pair.runtime, pair.run_id)).reviews
    await pair.decided(review.review_id, Decision(choice="approve", decided_by="ann"))
    assert (await pair.observed()).status == "completed"


async def test_what_fails_once_for_one_is_asked_for_the_other_and_serves_both(pair: Pair) -> None:
    pair.world.failures.append(Failure("error", PAGE, times=1))
    run = await pair.planned(("t8", ONE, []), ("t9", ONE, []))
    assert pair.world.counts[PAGE] == 2
    assert {task.status for task in run.tasks if task.task_id in {"t8", "t9"}} == {"complete"}
    assert {finding.task_id for finding in run.findings} == {"t8", "t9"}
    assert run.report is not None
    assert "could not be researched" not in run.report


@pytest.mark.slow
async def test_a_run_that_is_killed_asks_nothing_that_was_answered_for_either(
    campaign: Campaign,
) -> None:
    """Killed at points spread over the run: only what was not answered for any branch is asked again, and once."""

    trial, world = campaign.trial()
    reached, expected = await campaign.uninterrupted(replace(trial, question=TWO), world)
    assert len(expected.tasks) == 2
    assert len(expected.operations) > len(world.asked) == len(set(world.asked))
    lanes = asyncio.Semaphore(LANES)

    async def killed_at(number: int) -> int:
        trial, world = campaign.trial()
        trial = replace(trial, question=TWO)
        async with lanes:
            ended = await campaign.forks.run(replace(trial, kill_at=number))
            if not ended.killed:
                return 0
            campaign.server.settle()
            before, answered = world.counts, (await campaign.observed(trial, world)).answered
            ended = await campaign.forks.run(replace(trial, action="resume"))
        assert ended.status == "completed", ended.trace
        campaign.server.settle()
        after = await campaign.observed(trial, world)
        check_whole(after)
        again = world.counts - before
        assert not set(again) & set(answered), (number, again)
        assert set(again.values()) <= {1}, (number, again)
        assert after.result == expected.result
        return 1

    async with asyncio.TaskGroup() as group:
        killed = [group.create_task(killed_at(at)) for at in range(1, len(reached) + 1, EVERY)]
    assert sum(each.result() for each in killed) > len(reached) / EVERY / 2
