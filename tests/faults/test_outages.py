"""The database goes away, connections are cut, a run is taken over or cancelled, while it is worked.

The outside world holds its answers until the test has done its harm, so that every branch is in the middle of a call.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest

from graph.cluster import Cluster
from graph.runs import resume_run, start_run
from graph.runtime import Runtime, open_runtime
from graph.threads import run_config
from ledger import leases
from ledger.errors import LeaseLost
from nodes.options import RunOptions
from tests.faults.campaign import Campaign, check_whole
from tests.support.inline import with_inline_readers
from tests.support.observed import reading, table_digests
from tests.support.search_server import Failure, SearchServer, World
from tests.support.trials import ForkServer, Running, Trial

CUT_EVERY_OTHER_CONNECTION = """
SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
 WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
"""
CUT_WHO_LOCKS = """
SELECT pg_terminate_backend(pid, 10000) FROM pg_locks
 WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""
#: The queries of the three branches: while they wait for an answer, nothing else happens.
QUERIES = 4


async def held(world: World, work: "asyncio.Task[object] | None" = None) -> Failure:
    """Make every search wait, and return once all that the run asks are waiting."""
    assert world.failures
    gate = world.failures[0]
    while len(world.asked) < QUERIES:
        assert work is None or not work.done(), work.result()
        gate.reached.clear()
        await asyncio.to_thread(gate.reached.wait, 0.1)
    return gate


def gate(world: World) -> Failure:
    """Let the searches of a world wait until the gate's `release` is set."""
    failure = Failure("wait", "search?")
    world.failures.append(failure)
    return failure


async def test_a_database_that_crashes_is_waited_for_or_the_run_is_resumed(
    forks: ForkServer, search_server: SearchServer, private_server: Cluster, tmp_path: Path
) -> None:
    """The server is stopped in immediate mode while three branches are out, and started again."""
    url = private_server.url()
    assert url is not None
    async with crashing(forks, search_server, url, tmp_path) as (campaign, trial, world, running):
        await private_server.stop("immediate")
        await private_server.start()
        world.failures[0].release.set()
        ended = await running.end()
        assert ended.status == "completed" or ended.error == "DatabaseUnavailable", ended.trace
        assert (await forks.run(replace(trial, action="resume"))).status == "completed"
        run = await campaign.observed(trial, world)
        assert run.result == (await campaign.uninterrupted(*campaign.trial()))[1].result
        check_whole(run)


@asynccontextmanager
async def crashing(
    forks: ForkServer, search_server: SearchServer, url: str, home: Path
) -> AsyncIterator[tuple[Campaign, Trial, World, Running]]:
    """Begin a run on a server that is about to crash, with its branches waiting for answers."""
    async with reading(url) as ledger:
        campaign = Campaign(forks, ledger, search_server, url, home / "home")
        trial, world = campaign.trial()
        gate(world)
        running = await forks.begin(trial)
        await held(world)
        yield campaign, trial, world, running


async def test_a_run_whose_connections_are_all_cut_goes_on_with_new_ones(
    campaign: Campaign,
) -> None:
    trial, world = campaign.trial()
    gate(world)
    running = await campaign.forks.begin(trial)
    waiting = await held(world)
    async with campaign.ledger.pool.connection() as connection:
        await connection.execute(CUT_EVERY_OTHER_CONNECTION)
    waiting.release.set()
    ended = await running.end()
    assert ended.status == "completed", ended.trace
    check_whole(await campaign.observed(trial, world))
    assert set(world.counts.values()) == {1}


async def test_of_two_processes_that_resume_a_run_one_works(campaign: Campaign) -> None:
    trial, world = campaign.trial()
    gate(world)
    running = await campaign.forks.begin(trial)
    await held(world)
    running.kill()
    assert (await running.end()).killed
    resume = replace(trial, action="resume")
    both = [asyncio.create_task(campaign.forks.run(resume)) for _ in range(2)]
    (first,), (second,) = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
    assert first.result().error == "RunHeld", first.result().trace
    world.failures[0].release.set()
    assert (await second).status == "completed"
    run = await campaign.observed(trial, world)
    assert run.events.count("run_resumed") == 1
    check_whole(run)


async def test_a_cancelled_run_stops_writing(campaign: Campaign) -> None:
    """Another process cancels; the worker's answers come too late and change no row of ours, but that it lets go."""
    trial, world = campaign.trial()
    gate(world)
    running = await campaign.forks.begin(trial)
    waiting = await held(world)
    assert (await campaign.forks.run(replace(trial, action="cancel"))).status == "cancelled"
    before = await table_digests(campaign.ledger, "checkpoint_writes", "write_seals", "leases")
    waiting.release.set()
    ended = await running.end()
    assert ended.status == "cancelled", ended.trace
    assert (
        await table_digests(campaign.ledger, "checkpoint_writes", "write_seals", "leases") == before
    )
    assert (await campaign.forks.run(replace(trial, action="resume"))).status == "cancelled"


@pytest.fixture
async def worker(campaign: Campaign) -> AsyncIterator[tuple[Runtime, Trial, World]]:
    """A worker in this process, whose lock can be cut, and the run that it will work."""
    trial, world = campaign.trial()
    async with open_runtime(trial.settings) as opened:
        yield with_inline_readers(opened), trial, world


async def test_a_worker_that_was_overtaken_writes_nothing(
    campaign: Campaign, worker: tuple[Runtime, Trial, World]
) -> None:
    """Its lock connection is cut while it waits for answers, another takes the run: its answers are dropped."""
    stale, trial, world = worker
    run_id = UUID(trial.run_id)
    gate(world)
    work: asyncio.Task[object] = asyncio.create_task(
        start_run(stale, trial.question, RunOptions(), run_id)
    )
    waiting = await held(world, work)
    async with campaign.ledger.pool.connection() as connection:
        await connection.execute(CUT_WHO_LOCKS)
    async with leases.hold(campaign.ledger, run_id):
        before = await table_digests(campaign.ledger)
        waiting.release.set()
        with pytest.raises(LeaseLost):
            await work
        assert await table_digests(campaign.ledger) == before
    await resume_run(stale, run_id)
    check_whole(await campaign.observed(trial, world))


async def test_a_worker_that_was_overtaken_stores_no_checkpoint(
    campaign: Campaign, worker: tuple[Runtime, Trial, World]
) -> None:
    stale, trial, _ = worker
    run_id = UUID(trial.run_id)
    await start_run(stale, trial.question, RunOptions(), run_id)
    async with leases.hold(campaign.ledger, run_id) as fence:
        stale.ledger.held[run_id] = fence - 1
        before = await table_digests(campaign.ledger)
        with pytest.raises(LeaseLost):
            await stale.compiled().aupdate_state(
                run_config(run_id, RunOptions()), {"step": {"name": "late"}}, as_node="publish"
            )
        assert await table_digests(campaign.ledger) == before
