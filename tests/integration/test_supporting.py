"""Which worker supports which runs is known to everybody, and no worker enters a step with a state that it cannot read."""

import asyncio
from pathlib import Path

import psycopg
import pytest

from graph.errors import StateInvalid
from graph.runs import outcome, resume_run
from graph.threads import run_config
from graph.working import working
from ledger import workflows
from ledger.stamps import Stamp
from nodes.options import RunOptions
from tests.support.commands import perdure
from tests.support.ledgers import execute
from tests.support.other_workflows import MIGRATING, NEXT, asleep
from tests.support.runtimes import runtime_on


async def test_what_each_worker_supports_is_known_and_which_runs_nobody_does(
    database_url: str, tmp_path: Path
) -> None:
    newer = await asleep(database_url, tmp_path, NEXT)
    async with runtime_on(database_url, tmp_path / "home", definition=MIGRATING) as runtime:
        async with runtime.ledger.transaction() as tx:
            here, gone = await workflows.workers(tx)
            assert (here.worker, here.connected, here.versions) == (
                runtime.ledger.worker,
                True,
                [2, 3],
            )
            assert (gone.connected, gone.supports) == (False, frozenset({NEXT.stamp}))
            assert await workflows.unsupported(tx, []) == {}
        await execute(runtime.ledger, "DELETE FROM ledger.workers")
        async with runtime.ledger.transaction() as tx:
            assert await workflows.unsupported(tx, []) == {newer: NEXT.stamp}
            assert await workflows.unsupported(tx, [Stamp(3, NEXT.stamp.fingerprint)]) == {}


def test_a_run_that_nobody_supports_is_named_wherever_people_look(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer = str(asyncio.run(asleep(database_url, tmp_path, NEXT)))
    with psycopg.connect(database_url) as connection:
        connection.execute("DELETE FROM ledger.workers")
    monkeypatch.setenv("PERDURE_DATABASE_URL", database_url)
    told = f"no worker of the last 7 days supports 1 runs of workflow version 3: {newer}"
    assert told in perdure("runs").messages
    assert told in perdure("show", newer).messages
    checks = {each["name"]: each for each in perdure("doctor", "--json").json["checks"]}
    assert not checks["workers"]["ok"]
    assert told in checks["workers"]["detail"]


async def test_a_state_that_is_not_this_versions_blocks_the_run_before_the_step(
    database_url: str, tmp_path: Path
) -> None:
    """What LangGraph's server lets a client write into a channel is not worked with, and not by halves."""
    run_id = await asleep(database_url, tmp_path)
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        async with working(runtime, run_id) as run:
            assert run is not None
            config = run_config(run_id, RunOptions.model_validate(run.options))
            await runtime.compiled().aupdate_state(config, {"wave": "one"}, as_node="plan")
        with pytest.raises(StateInvalid, match="wave: Input should be a valid integer"):
            await resume_run(runtime, run_id)
        standing = (await outcome(runtime, run_id)).run
        assert standing.status == "blocked"
        assert "wave" in (standing.reason or "")
