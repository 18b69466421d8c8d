"""Whoever was slow to take a run that has ended meanwhile finds it as it is, and writes nothing of it."""

import asyncio
from pathlib import Path

from graph.runs import cancel_run, resume_run, start_run
from ledger import audit
from tests.support.ledgers import open_ledger
from tests.support.runtimes import QUESTION, options, runtime_on, write_corpus
from tests.support.waiting import until

WAITS = (
    "SELECT count(*) AS waiting FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    " AND query LIKE '%%INSERT INTO ledger.leases%%'"
)


async def test_a_run_that_ended_before_it_was_taken_is_returned_as_it_is(
    database_url: str, tmp_path: Path
) -> None:
    """Its row is read and it is not finished; it is cancelled while the lease is waited for."""
    corpus = write_corpus(tmp_path / "garden")
    async with (
        runtime_on(database_url, tmp_path / "home") as runtime,
        open_ledger(database_url, "look") as look,
    ):
        run_id = (await start_run(runtime, QUESTION, options(corpus, "plan"))).run.run_id

        async def is_waiting() -> bool:
            async with look.pool.connection() as connection:
                row = await (await connection.execute(WAITS)).fetchone()
            return row is not None and row["waiting"] > 0

        async with look.pool.connection() as connection, connection.transaction():
            await connection.execute("SELECT FROM ledger.leases FOR UPDATE")
            late = asyncio.create_task(resume_run(runtime, run_id))
            await until(is_waiting)
            await cancel_run(runtime, run_id)
        assert (await late).run.status == "cancelled"
        async with runtime.ledger.transaction() as tx:
            events = [each.event for each in await audit.entries(tx, run_id)]
        assert "run_resumed" not in events
