"""Bytes in LangGraph's tables: a run of 200 tasks against one of 20, and per checkpoint.

A plan has at most twelve tasks, because a person reviews it; these runs stop at that review, and the other tasks are put
into the ledger before they go on.
"""

from dataclasses import replace
from pathlib import Path
from uuid import UUID

from ledger import tasks
from ledger.db import Ledger
from ledger.ids import new_run_id
from tests.support.search_server import SearchServer
from tests.support.targets import tell
from tests.support.trials import ForkServer, Trial

FEW, MANY = 20, 200
TIMES_MAX = 12
BYTES_PER_CHECKPOINT_MAX = 20_000

QUESTION = "What is a tide gauge?"
_BYTES = """
SELECT (SELECT sum(pg_column_size(t.*)) FROM langgraph.checkpoints AS t WHERE thread_id = %(thread)s)
     + (SELECT sum(pg_column_size(t.*)) FROM langgraph.checkpoint_blobs AS t WHERE thread_id = %(thread)s)
     + (SELECT sum(pg_column_size(t.*)) FROM langgraph.checkpoint_writes AS t WHERE thread_id = %(thread)s) AS bytes,
       (SELECT count(*) FROM langgraph.checkpoints WHERE thread_id = %(thread)s) AS checkpoints
"""


async def test_storage_grows_with_the_work(
    forks: ForkServer, search_server: SearchServer, ledger: Ledger, durable_url: str, tmp_path: Path
) -> None:
    sizes: dict[int, int] = {}
    for count in (FEW, MANY):
        run_id = new_run_id()
        world = search_server.world(str(run_id))
        trial = Trial(
            "start",
            str(run_id),
            durable_url,
            str(tmp_path),
            QUESTION,
            world.search_url,
            review="plan",
        )
        assert (await forks.run(trial)).status == "paused"
        assert (await forks.run(replace(trial, action="approve"))).status == "decided"
        await _add_tasks(ledger, run_id, count - 1)
        ended = await forks.run(replace(trial, action="resume"))
        assert ended.status == "completed", ended.trace
        sizes[count], checkpoints = await _measured(ledger, run_id)
        print(
            f"\n{count} tasks: {sizes[count]:,} bytes, {sizes[count] // checkpoints:,} for each of {checkpoints} checkpoints"
        )
        tell("bytes for each checkpoint", sizes[count] / checkpoints, BYTES_PER_CHECKPOINT_MAX)
    tell(f"{MANY} tasks against {FEW}, times the bytes", sizes[MANY] / sizes[FEW], TIMES_MAX)


async def _add_tasks(ledger: Ledger, run_id: UUID, count: int) -> None:
    new = [(f"more-{number}", QUESTION, ()) for number in range(count)]
    async with ledger.transaction() as tx:
        await tasks.add(tx, run_id, new, "branch")


async def _measured(ledger: Ledger, run_id: UUID) -> tuple[int, int]:
    async with ledger.pool.connection() as connection:
        cursor = await connection.execute(_BYTES, {"thread": str(run_id)})
        row = await cursor.fetchone()
    assert row is not None
    return int(row["bytes"]), int(row["checkpoints"])
