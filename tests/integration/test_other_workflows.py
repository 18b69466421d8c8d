"""A run of another workflow, met on every way to it: it goes on, is left untouched, or is stopped with what differs.

The run waits for a review of its plan, as runs do for days; the code is another by then.
"""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeAlias, cast
from uuid import UUID

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph_sdk.runtime import _ExecutionRuntime  # pyright: ignore[reportPrivateUsage]

from graph.app import RunStopped, graph
from graph.control import retry_run
from graph.errors import NewerWorkflow, RunLeft, UnknownWorkflow, UpgradeNeeded
from graph.explaining import explained
from graph.forking import fork_run
from graph.process import SERVER
from graph.runs import resume_run, start_run
from graph.runtime import Runtime
from graph.sweeping import Swept, sweep, watch
from graph.workflow import CURRENT, Definition
from graph.working import working
from ledger import records, runs
from ledger.runs import Run
from nodes.options import BadInput
from tests.support.commands import perdure
from tests.support.ledgers import execute
from tests.support.observed import table_digests
from tests.support.other_workflows import EDITED, HARMLESS, MIGRATING, NEXT, asleep
from tests.support.runtimes import QUESTION, options, runtime_on
from tests.support.waiting import until

Way: TypeAlias = Callable[[Runtime, UUID], Awaitable[object]]


async def orphaned(runtime: Runtime, run_id: UUID) -> None:
    """Let its worker have died in the middle of it; of its lease nothing is sealed but who held it."""
    async with runtime.ledger.transaction() as tx:
        await runs.set_status(tx, run_id, "running")
    await execute(
        runtime.ledger,
        "UPDATE ledger.leases SET released_at = NULL, released_as = NULL, expires_at = now()",
    )


async def row(runtime: Runtime, run_id: UUID) -> Run:
    async with runtime.ledger.transaction() as tx:
        return await runs.get(tx, run_id)


async def forked(runtime: Runtime, run_id: UUID) -> Run:
    async with runtime.ledger.transaction() as tx:
        found = await records.newest_first(tx, run_id)
    at = next(each.checkpoint_id for each in found if each.is_a_beginning)
    return await fork_run(runtime, run_id, at)


async def retried(runtime: Runtime, run_id: UUID) -> object:
    async with runtime.ledger.transaction() as tx:
        await tx.connection.execute("UPDATE ledger.tasks SET status = 'complete'")
        tx.written.add(run_id)
    return await retry_run(runtime, run_id, "t1", "latest")


async def held(runtime: Runtime, run_id: UUID) -> object:
    """Work it by whatever else is done to a run that is held."""
    async with working(runtime, run_id) as run:
        return run


WAYS: dict[str, Way] = {"resume": resume_run, "retry": retried, "fork": forked, "held": held}


@pytest.mark.parametrize("way", WAYS)
async def test_a_run_of_an_unknown_workflow_is_stopped_with_what_differs(
    database_url: str, tmp_path: Path, way: str
) -> None:
    run_id = await asleep(database_url, tmp_path, approved=way != "retry")
    async with runtime_on(database_url, tmp_path / "home", definition=EDITED) as runtime:
        with pytest.raises(UnknownWorkflow, match="node audit is new") as stopped:
            await WAYS[way](runtime, run_id)
        assert "edge audit -> __end__ is new" in stopped.value.differences
        standing = await row(runtime, run_id)
        if way == "fork":
            assert (standing.status, standing.reason) == ("paused", None)
        else:
            assert (standing.status, standing.reason) == ("blocked", str(stopped.value))


async def test_the_difference_to_a_workflow_that_only_the_database_knows_is_named(
    database_url: str, tmp_path: Path
) -> None:
    """Nothing in the code says what the edited one looked like: whoever worked with it left that here."""
    run_id = await asleep(database_url, tmp_path, EDITED)
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        with pytest.raises(UnknownWorkflow, match="node audit is gone"):
            await resume_run(runtime, run_id)


async def test_a_topology_that_was_made_up_is_not_believed(
    database_url: str, tmp_path: Path
) -> None:
    run_id = await asleep(database_url, tmp_path, EDITED)
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        await execute(
            runtime.ledger,
            "SET session_replication_role = replica;"
            " UPDATE ledger.workflows SET topology = topology - 'nodes'; RESET session_replication_role",
        )
        with pytest.raises(UnknownWorkflow, match="nobody here knows the topology sha256:"):
            await resume_run(runtime, run_id)


@pytest.mark.parametrize("way", WAYS)
async def test_a_run_of_a_newer_version_is_left_as_it_is(
    database_url: str, tmp_path: Path, way: str
) -> None:
    run_id = await asleep(database_url, tmp_path, NEXT, approved=way != "retry")
    # What can be tried again has ended, which is this test's own doing.
    own = ("tasks", "changes", "contents", "heads", "seals") if way == "retry" else ()
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        before = await table_digests(runtime.ledger, *own)
        with pytest.raises(NewerWorkflow, match="is of workflow version 3") as stopped:
            await WAYS[way](runtime, run_id)
        assert stopped.value.version == NEXT.version
        assert await table_digests(runtime.ledger, *own) == before


async def test_a_harmless_change_goes_on_and_the_recovery_says_why(
    database_url: str, tmp_path: Path
) -> None:
    run_id = await asleep(database_url, tmp_path)
    async with runtime_on(database_url, tmp_path / "home", definition=HARMLESS) as runtime:
        assert (await resume_run(runtime, run_id)).run.status == "completed"
        async with runtime.ledger.transaction() as tx:
            (told,) = await explained(tx, run_id)
        assert told["compatible"] == "nothing leads to audit"


@pytest.mark.parametrize(
    ("policy", "error", "told"),
    [
        ("ask", UpgradeNeeded, "`perdure upgrade"),
        ("never", RunLeft, "PERDURE_MIGRATE=never"),
    ],
)
async def test_a_run_of_an_older_version_is_not_migrated_unless_that_is_allowed(
    database_url: str, tmp_path: Path, policy: str, error: type[RunLeft], told: str
) -> None:
    run_id = await asleep(database_url, tmp_path)
    home = tmp_path / "home"
    async with runtime_on(database_url, home, definition=MIGRATING, migrate=policy) as runtime:
        before = await table_digests(runtime.ledger)
        with pytest.raises(error, match=told):
            await resume_run(runtime, run_id)
        assert await table_digests(runtime.ledger) == before
        with pytest.raises(UnknownWorkflow, match="not migrated"):
            await forked(runtime, run_id)


async def test_a_pinned_worker_takes_runs_of_its_versions_only(
    database_url: str, tmp_path: Path
) -> None:
    run_id = await asleep(database_url, tmp_path)
    corpus = tmp_path / "garden"
    async with runtime_on(database_url, tmp_path / "home", versions=[1]) as runtime:
        before = await table_digests(runtime.ledger)
        with pytest.raises(RunLeft, match="only runs of version 1 "):
            await resume_run(runtime, run_id)
        with pytest.raises(BadInput, match="a new run would be of workflow version 2"):
            await start_run(runtime, QUESTION, options(corpus))
        assert await table_digests(runtime.ledger) == before
        await orphaned(runtime, run_id)
        (left,) = await sweep(runtime)
        assert left.became == "left"
    async with runtime_on(database_url, tmp_path / "home", versions=[1, 2]) as runtime:
        (taken,) = await sweep(runtime)
        assert (taken.run_id, taken.became) == (run_id, "completed")


@pytest.mark.parametrize(
    ("definition", "told"),
    [(NEXT, "version 3"), (EDITED, "another topology")],
    ids=["newer", "unknown"],
)
async def test_sweep_and_watch_take_no_run_of_another_workflow_and_name_each(
    database_url: str, tmp_path: Path, definition: Definition, told: str
) -> None:
    run_id = await asleep(database_url, tmp_path, definition)
    async with runtime_on(database_url, tmp_path / "home", lease_seconds=1) as runtime:
        await orphaned(runtime, run_id)
        before = await table_digests(runtime.ledger)
        (swept,) = await sweep(runtime)
        assert (swept.run_id, swept.became) == (run_id, "left")
        assert told in (swept.reason or "")
        named: list[Swept] = []

        async def named_it() -> bool:
            return bool(named)

        watching = asyncio.create_task(watch(runtime, named.append))
        await until(named_it)
        runtime.control.request_drain("the test is over")
        await watching
        assert named == [swept]
        assert await table_digests(runtime.ledger) == before


async def test_the_dev_server_binds_its_graph_to_no_run_of_another_workflow(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = await asleep(database_url, tmp_path, NEXT)
    monkeypatch.setenv("PERDURE_DATABASE_URL", database_url)
    config: RunnableConfig = {"configurable": {"thread_id": str(run_id)}}
    runtime: Any = _ExecutionRuntime(access_context="threads.create_run", store=cast("Any", None))
    try:
        with pytest.raises(RunStopped, match="is of workflow version 3"):
            async with graph(config, runtime):
                pass
    finally:
        await SERVER.close()


def test_the_command_line_ends_with_4_and_says_which_version_is_needed(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer = str(asyncio.run(asleep(database_url, tmp_path, NEXT)))
    edited = str(asyncio.run(asleep(database_url, tmp_path, EDITED)))
    monkeypatch.setenv("PERDURE_DATABASE_URL", database_url)
    ended = perdure("resume", newer)
    assert (ended.code, "is of workflow version 3" in ended.messages) == (4, True)
    ended = perdure("resume", edited)
    assert (ended.code, "node audit is gone" in ended.messages) == (4, True)
    told = perdure("doctor", "--json").json["checks"]
    workers = next(each for each in told if each["name"] == "workers")
    assert (workers["ok"], "0 connected" in workers["detail"]) == (True, True)
    listed = {each["run_id"]: each for each in perdure("runs", "--json").json}
    assert (listed[newer]["status"], listed[edited]["status"]) == ("paused", "blocked")
    assert "stopped for review" in perdure("explain", edited).text


async def test_a_checkpoint_of_another_workflow_than_its_run_is_refused(
    database_url: str, tmp_path: Path
) -> None:
    """As after a migration whose own checkpoint was damaged: the one before it is whole, and the older version's."""
    run_id = await asleep(database_url, tmp_path, EDITED)
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        async with runtime.ledger.transaction() as tx:
            await tx.connection.execute(
                "UPDATE ledger.runs SET fingerprint = %s", [CURRENT.stamp.fingerprint]
            )
            tx.written.add(run_id)
        with pytest.raises(UnknownWorkflow, match="checkpoint "):
            await forked(runtime, run_id)
        with pytest.raises(UnknownWorkflow, match=r"checkpoint .* of run .* node audit is gone"):
            await resume_run(runtime, run_id)
        assert (await row(runtime, run_id)).status == "blocked"


async def test_no_worker_loads_a_checkpoint_of_another_workflow_by_its_id(
    database_url: str, tmp_path: Path
) -> None:
    """LangGraph's server can be told to go on from any checkpoint of a thread; reading it for a person is no harm."""
    run_id = await asleep(database_url, tmp_path)
    config: RunnableConfig = {"configurable": {"thread_id": str(run_id), "checkpoint_ns": ""}}
    async with runtime_on(database_url, tmp_path / "home", definition=HARMLESS) as runtime:
        async with working(runtime, run_id):
            edited = await runtime.new_saver().aget_tuple(config)
            assert edited is not None
        assert edited.metadata["perdure_state_version"] == 1  # type: ignore[typeddict-item]
    async with runtime_on(database_url, tmp_path / "home", definition=EDITED) as runtime:
        runtime.ledger.held[run_id] = 1
        with pytest.raises(UnknownWorkflow, match="checkpoint "):
            await runtime.new_saver(checking=True).aget_tuple(config)
        del runtime.ledger.held[run_id]
        assert await runtime.new_saver(checking=True).aget_tuple(config) is not None
