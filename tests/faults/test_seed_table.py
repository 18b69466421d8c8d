"""The table of what a run has to survive, one test for each row, each with its evidence.

| what happens | test |
|---|---|
| a worker stops after a branch completes | test_a_worker_stops_after_a_branch_completes |
| a tool answers twice | test_a_tool_answers_twice |
| a credential expires | test_a_credential_expires |
| a source becomes unavailable | test_a_source_becomes_unavailable |
| the workflow's schema changes | test_the_workflow_changes_while_a_run_waits |
| a checkpoint is corrupted | test_a_checkpoint_is_corrupted |
| a failure after an external write | test_a_worker_dies_after_the_report_was_written |
| a retry returns different model output | tests/faults/test_retry.py |
"""

import asyncio
from dataclasses import replace
from uuid import UUID

from graph.explaining import explained
from ledger import records
from ledger.faults import FaultPoint
from tests.faults.campaign import Campaign, check_whole
from tests.support.observed import asked
from tests.support.search_server import Failure, World
from tests.support.trials import Trial

CORRUPT = """
UPDATE langgraph.checkpoint_blobs SET blob = set_byte(blob, length(blob) - 1, get_byte(blob, length(blob) - 1) # 1)
 WHERE (thread_id, checkpoint_ns, channel, version) IN (
    SELECT thread_id, checkpoint_ns, 'step', checkpoint -> 'channel_versions' ->> 'step' FROM langgraph.checkpoints
     WHERE thread_id = %s AND checkpoint_ns = '' ORDER BY checkpoint_id DESC LIMIT 1)
"""
ANOTHER_WORKFLOW = "UPDATE ledger.runs SET fingerprint = 'sha256:another' WHERE run_id = %s"


async def killed_in_a_branch(campaign: Campaign, slow: str) -> tuple[Trial, World]:
    """Return a run whose worker was killed while this page did not answer and all else had."""
    trial, world = campaign.trial()
    gate = Failure("wait", slow)
    world.failures.append(gate)
    running = await campaign.forks.begin(trial)
    await asyncio.to_thread(gate.reached.wait)
    while await unanswered(campaign, trial, world) != (2, [slow]):
        assert gate.reached.is_set()
    running.kill()
    assert (await running.end()).killed
    gate.release.set()
    world.failures.clear()
    campaign.server.settle()
    return trial, world


async def unanswered(campaign: Campaign, trial: Trial, world: World) -> tuple[int, list[str]]:
    """Return how many branches have ended, and which calls have no accepted answer."""
    run = await campaign.observed(trial, world)
    return len(run.ended), [asked(each) for each in run.operations if each.status == "open"]


async def test_a_worker_stops_after_a_branch_completes(campaign: Campaign) -> None:
    """The two branches that had ended are not worked again; only the call that had no answer is made again."""
    trial, world = await killed_in_a_branch(campaign, "pages/tide-gauge-history")
    before, calls = await campaign.observed(trial, world), world.counts
    assert sorted(before.ended) == ["t2", "t3"]
    ended = await campaign.forks.run(replace(trial, action="resume"))
    assert ended.status == "completed", ended.trace
    after = await campaign.observed(trial, world)
    assert {name: after.ended[name] for name in before.ended} == before.ended
    assert world.counts - calls == {"pages/tide-gauge-history": 1}
    assert after.result == (await campaign.uninterrupted(*campaign.trial()))[1].result
    check_whole(after)


async def test_a_tool_answers_twice(campaign: Campaign) -> None:
    """The worker dies with an answer that it had not stored; the call is made again: two attempts, one accepted."""
    _, expected = await campaign.uninterrupted(*campaign.trial())
    trial, world = await campaign.killed_at(FaultPoint.BEFORE_RECEIPT)
    ended = await campaign.forks.run(replace(trial, action="resume"))
    assert ended.status == "completed", ended.trace
    run = await campaign.observed(trial, world)
    twice = [each for each in run.operations if world.counts[asked(each)] == 2]
    assert twice
    for operation in twice:
        assert [attempt.accepted for attempt in operation.attempts] == [False, True]
    assert run.result == expected.result


async def test_a_credential_expires(campaign: Campaign) -> None:
    """In the middle, and again at a resume: the run waits with the reason, loses nothing, and goes on with a valid key."""
    trial, world = campaign.trial()
    expired = Failure("expired", "search?")
    world.failures.append(expired)
    ended = await campaign.forks.run(trial)
    assert ended.error == "CredentialRefused", ended.trace
    run = await campaign.observed(trial, world)
    assert run.status == "blocked"
    assert "HTTP 401" in (run.reason or "")
    assert "PERDURE_SEARCH_URL" in (run.reason or "")
    calls = world.counts
    ended = await campaign.forks.run(replace(trial, action="resume"))
    assert ended.error == "RunWaits", ended.trace
    assert world.counts == calls, "nothing was asked for with a key that is not known"
    expired.times = 0
    ended = await campaign.forks.run(replace(trial, action="resume"))
    assert ended.status == "completed", ended.trace
    run = await campaign.observed(trial, world)
    assert {task.status for task in run.tasks} == {"complete"}
    async with campaign.ledger.transaction() as tx:
        recoveries = await explained(tx, UUID(trial.run_id))
    assert [each["outcome"] for each in recoveries] == ["resumed", "paused"]
    assert [one["name"] for one in recoveries[1]["asked"] if not one["ok"]] == ["credentials"]


async def test_a_source_becomes_unavailable(campaign: Campaign) -> None:
    """A page that was read is gone when the run goes on: its kept bytes are cited, and nobody asks for it again."""
    trial, world = await killed_in_a_branch(campaign, "pages/tide-gauge-history")
    gone = next(name for name in world.counts if name.startswith("pages/lighthouse"))
    world.failures.append(Failure("gone", "pages/lighthouse"))
    ended = await campaign.forks.run(replace(trial, action="resume"))
    assert ended.status == "completed", ended.trace
    run = await campaign.observed(trial, world)
    assert world.counts[gone] == 1
    assert run.result == (await campaign.uninterrupted(*campaign.trial()))[1].result
    check_whole(run)


async def test_the_workflow_changes_while_a_run_waits(campaign: Campaign) -> None:
    """A run that another topology began is not resumed: nothing is asked, no checkpoint is added."""
    trial, world = await killed_in_a_branch(campaign, "pages/tide-gauge-history")
    calls = world.counts
    before = await newest(campaign, trial)
    # What the code would find after an upgrade. The row is not edited behind the seals: that is another row of this table.
    async with campaign.ledger.transaction() as tx:
        await tx.connection.execute(ANOTHER_WORKFLOW, [trial.run_id])
        tx.written.add(UUID(trial.run_id))
    ended = await campaign.forks.run(replace(trial, action="resume"))
    assert ended.error == "UnknownWorkflow", ended.trace
    assert world.counts == calls
    assert await newest(campaign, trial) == before
    async with campaign.ledger.transaction() as tx:
        (recovery,) = await explained(tx, UUID(trial.run_id))
    assert recovery["outcome"] == "blocked"
    assert "another topology" in recovery["why"]


async def test_a_checkpoint_is_corrupted(campaign: Campaign) -> None:
    """One bit of the newest: it is named and never loaded, the run finishes from the one before, and repeats nothing."""
    trial, world = await killed_in_a_branch(campaign, "pages/tide-gauge-history")
    newest_id, before = await newest(campaign, trial), await campaign.observed(trial, world)
    async with campaign.ledger.pool.connection() as connection:
        assert (await connection.execute(CORRUPT, [trial.run_id])).rowcount == 1
    calls = world.counts
    ended = await campaign.forks.run(replace(trial, action="resume"))
    assert ended.status == "completed", ended.trace
    async with campaign.ledger.transaction() as tx:
        (recovery,) = await explained(tx, UUID(trial.run_id))
    (rejected,) = recovery["rejected"]
    assert rejected["checkpoint_id"] == newest_id
    assert "step" in rejected["reason"]
    assert recovery["loaded_checkpoint"] < newest_id
    run = await campaign.observed(trial, world)
    assert run.result == (await campaign.uninterrupted(*campaign.trial()))[1].result
    assert world.counts - calls == {"pages/tide-gauge-history": 1}
    assert {name: run.ended[name] for name in before.ended} == before.ended


async def test_a_worker_dies_after_the_report_was_written(campaign: Campaign) -> None:
    """The file is there and the run is not finished: it is finished by the next, and the file is the same."""
    _, expected = await campaign.uninterrupted(*campaign.trial())
    trial, world = await campaign.killed_at(FaultPoint.BEFORE_COMPLETION)
    report = campaign.home / "reports" / f"{trial.run_id}.md"
    written = report.read_bytes()
    assert (await campaign.forks.run(replace(trial, action="resume"))).status == "completed"
    assert report.read_bytes() == written
    run = await campaign.observed(trial, world)
    assert run.result == expected.result
    assert run.events.count("run_completed") == 1


async def newest(campaign: Campaign, trial: Trial) -> str:
    """Return the id of the newest checkpoint of the graph itself."""
    async with campaign.ledger.transaction() as tx:
        found = await records.newest_first(tx, UUID(trial.run_id))
    return max(record.checkpoint_id for record in found if not record.checkpoint_ns)
