"""`perdure explain` after a death: what it says agrees with the journal and with the server that was asked."""

import asyncio
from collections import Counter
from dataclasses import replace
from uuid import UUID

import pytest

from graph.explaining import explained
from ledger import journal, records
from ledger.faults import FaultPoint
from ledger.journal import Operation
from tests.faults.campaign import Campaign
from tests.support.commands import Ended, end, start
from tests.support.observed import asked
from tests.support.search_server import Failure
from tests.support.trials import Trial

SLOW = "pages/tide-gauge-history"


async def operations(campaign: Campaign, trial: Trial) -> list[Operation]:
    """Return the journal of a run."""
    async with campaign.ledger.transaction() as tx:
        return await journal.operations(tx, UUID(trial.run_id))


async def newest_record(campaign: Campaign, trial: Trial) -> str:
    """Return the id of the newest checkpoint of the graph itself."""
    async with campaign.ledger.transaction() as tx:
        found = await records.newest_first(tx, UUID(trial.run_id))
    return max(record.checkpoint_id for record in found if not record.checkpoint_ns)


async def told_by(*arguments: str) -> Ended:
    """Run a command as a process of its own."""
    return await asyncio.to_thread(lambda: end(start(*arguments)))


async def test_explain_after_a_kill_in_mid_branch_agrees_with_journal_and_server(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One page does not answer; when all else has, the worker is killed and another resumes the run."""
    trial, world = campaign.trial()
    slow = Failure("wait", SLOW)
    world.failures.append(slow)
    running = await campaign.forks.begin(trial)
    await asyncio.to_thread(slow.reached.wait)
    while any(asked(each) != SLOW for each in await unanswered(campaign, trial)):
        assert slow.reached.is_set()
    running.kill()
    assert (await running.end()).killed
    loaded = await newest_record(campaign, trial)
    before = await operations(campaign, trial)
    slow.release.set()
    world.failures.clear()
    ended = await campaign.forks.run(replace(trial, action="resume"))
    assert ended.status == "completed", ended.trace

    async with campaign.ledger.transaction() as tx:
        (recovery,) = await explained(tx, UUID(trial.run_id))
    names = {each.operation_id: asked(each) for each in before}
    assert recovery["loaded_checkpoint"] == loaded
    assert recovery["rejected"] == []
    assert Counter(recovery["reused"]) == Counter(
        each.operation_id for each in before if each.status == "accepted"
    )
    assert [names[name] for name in recovery["repeated"]] == [SLOW]
    assert world.counts[SLOW] == 2
    assert {world.counts[names[name]] for name in recovery["reused"]} == {1}
    assert recovery["next"] == ["branch"]
    assert "t1" in recovery["why"]
    assert all(each["ok"] for each in recovery["asked"])

    for name, value in (("DATABASE_URL", campaign.database_url), ("HOME", str(campaign.home))):
        monkeypatch.setenv(f"PERDURE_{name}", str(value))
    told = await told_by("explain", trial.run_id, "--json")
    assert told.code == 0
    assert [one["loaded_checkpoint"] for one in told.json] == [loaded]
    assert [one["repeated"] for one in told.json] == [recovery["repeated"]]
    text = (await told_by("explain", trial.run_id)).text
    for line in (f"loaded      checkpoint {loaded}", f"repeated    {recovery['repeated'][0]}"):
        assert line in text


async def unanswered(campaign: Campaign, trial: Trial) -> list[Operation]:
    """Return the operations that were begun and have no accepted answer; waits for one to be begun."""
    while not (found := await operations(campaign, trial)):
        assert trial.run_id
    return [each for each in found if each.status == "open"]


async def test_an_answer_that_came_before_the_death_is_made_use_of_without_a_call(
    campaign: Campaign,
) -> None:
    trial, world = await campaign.killed_at(FaultPoint.AFTER_RECEIPT)
    received = {
        each.operation_id: each
        for each in await operations(campaign, trial)
        if each.status == "open" and each.attempts[0].received
    }
    assert received
    assert (await campaign.forks.run(replace(trial, action="resume"))).status == "completed"
    async with campaign.ledger.transaction() as tx:
        (recovery,) = await explained(tx, UUID(trial.run_id))
    assert {one["key"]: one["outcome"] for one in recovery["reconciled"]} == dict.fromkeys(
        received, "accepted"
    )
    assert not received.keys() & set(recovery["repeated"])
    assert {world.counts[asked(each)] for each in received.values()} == {1}


async def test_a_run_that_nobody_had_to_recover_says_so(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial, world = campaign.trial()
    await campaign.uninterrupted(trial, world)
    monkeypatch.setenv("PERDURE_DATABASE_URL", str(campaign.database_url))
    told = await told_by("explain", trial.run_id)
    assert "never recovered" in told.text
    assert (await told_by("explain", trial.run_id, "--json")).json == []
