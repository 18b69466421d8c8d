"""More runs at once than a process has connections: LangGraph's server and notebooks work many."""

import asyncio
from pathlib import Path

from graph.runs import start_run
from nodes.options import RunOptions
from tests.support.runtimes import QUESTION, runtime_on, write_corpus


async def test_as_many_runs_as_connections_do_not_wait_for_each_other(
    database_url: str, tmp_path: Path
) -> None:
    """Each holds its run by a connection; were those the pool's, none would be left to work with."""
    options = RunOptions(corpus=(str(write_corpus(tmp_path / "garden")),), review="none")
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        many = range(runtime.settings.pool_size + 1)
        done = await asyncio.gather(*(start_run(runtime, QUESTION, options) for _ in many))
    assert {outcome.run.status for outcome in done} == {"completed"}
