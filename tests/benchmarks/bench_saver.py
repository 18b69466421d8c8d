"""What fencing, recording, sealing and verifying cost: our saver by turns with LangGraph's own, on the same payloads.

The database waits for its disk. Measurements are taken in pairs, so that whatever else the machine does meets both.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from statistics import median
from typing import Any

import psycopg
import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import Checkpoint
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

from graph.migrate import LANGGRAPH_SCHEMA
from graph.saver import SealedPostgresSaver
from ledger.db import Ledger, Pool, new_pool
from ledger.sql import load
from tests.support.ledgers import KEYS, new_run
from tests.support.savers import WORKFLOW, next_checkpoint
from tests.support.targets import tell

TAKE = load("leases")["TakeLease"]
# Longer than any benchmark.
LEASE_SECONDS = 3_600
PAIRS = 400
RUNS, STEPS, CONNECTIONS = 20, 10, 10
TIMES_MIN = 5
# A database in another building: each statement that stores a checkpoint waits so long, on both sides.
AWAY_SECONDS = 0.01


class Thread:
    """A thread that grows, by one saver."""

    def __init__(self, saver: AsyncPostgresSaver, thread_id: str) -> None:
        self.saver = saver
        self.config: RunnableConfig = {
            "configurable": {"thread_id": thread_id, "checkpoint_ns": ""}
        }
        self.checkpoint: Checkpoint | None = None
        self.number = 0

    async def put(self) -> None:
        """Store the next checkpoint: 5 kB in six channels, three of them new."""
        self.number += 1
        self.checkpoint, new = next_checkpoint(self.saver, self.checkpoint, self.number)
        self.config = await self.saver.aput(
            self.config,
            self.checkpoint,
            {"source": "loop", "step": self.number, "parents": {}},
            new,
        )

    async def put_writes(self) -> None:
        """Store what a task wrote: two channels."""
        self.number += 1
        writes: list[tuple[str, Any]] = [
            ("finished", {"t1": {"status": "complete"}}),
            ("step", {"name": "x" * 500}),
        ]
        await self.saver.aput_writes(
            self.config, writes, f"task-{self.number}", "~__pregel_pull, branch"
        )

    async def load(self) -> None:
        """Load the newest."""
        head: RunnableConfig = {"configurable": {**self.config["configurable"]}}
        head["configurable"].pop("checkpoint_id", None)
        assert await self.saver.aget_tuple(head) is not None


class Pair:
    """Our saver and LangGraph's, each with a pool of its own."""

    def __init__(self, ledger: Ledger, ours: Pool, theirs: Pool) -> None:
        self.ledger = ledger
        self.ours = SealedPostgresSaver(ours, ledger, WORKFLOW)
        self.theirs = AsyncPostgresSaver(theirs)

    async def threads(self) -> tuple[Thread, Thread]:
        """Return a thread of each; ours is a run that is held."""
        run_id = await new_run(self.ledger)
        async with self.ledger.transaction() as tx:
            fence = await tx.maybe(
                TAKE, run_id=run_id, owner="bench", seconds=LEASE_SECONDS, seen=None
            )
        assert fence is not None
        self.ledger.held[run_id] = fence["fence"]
        return Thread(self.ours, str(run_id)), Thread(self.theirs, f"plain-{run_id}")


@pytest.fixture
async def pair(durable_url: str) -> AsyncIterator[Pair]:
    """Both savers."""
    async with AsyncExitStack() as stack:
        pools = [
            await stack.enter_async_context(new_pool(durable_url, CONNECTIONS, path))
            for path in (None, LANGGRAPH_SCHEMA, LANGGRAPH_SCHEMA)
        ]
        yield Pair(Ledger(pools[0], "bench", keys=KEYS), pools[1], pools[2])


async def milliseconds(work: Callable[[], Awaitable[None]]) -> float:
    """Return what a piece of work takes."""
    begun = time.perf_counter()
    await work()
    return (time.perf_counter() - begun) * 1000


async def ratio(
    ours: Callable[[], Awaitable[None]], theirs: Callable[[], Awaitable[None]], what: str
) -> float:
    """Measure by turns, which goes first by turns too, and return the ratio of the medians."""
    taken: tuple[list[float], list[float]] = ([], [])
    for number in range(PAIRS):
        works = ((0, ours), (1, theirs))
        for side, work in works if number % 2 else works[::-1]:
            taken[side].append(await milliseconds(work))
    mine, plain = median(taken[0]), median(taken[1])
    print(f"\n{what}: {mine:.3f} ms against {plain:.3f} ms at the median of {PAIRS}")
    return mine / plain


async def test_a_sealed_put_costs_as_much_as_a_plain_one(pair: Pair) -> None:
    ours, theirs = await pair.threads()
    tell("sealed put, times", await ratio(ours.put, theirs.put, "put, sealed and plain"), 1.1)


async def test_sealed_writes_cost_little_more_than_plain_ones(pair: Pair) -> None:
    ours, theirs = await pair.threads()
    await ours.put()
    await theirs.put()
    tell(
        "sealed put_writes, times",
        await ratio(ours.put_writes, theirs.put_writes, "put_writes, sealed and plain"),
        1.2,
    )


async def test_a_verified_load_costs_little_more_than_a_plain_one(pair: Pair) -> None:
    ours, theirs = await pair.threads()
    for thread in (ours, theirs):
        for _ in range(3):
            await thread.put()
        await thread.put_writes()
    tell(
        "verified load of a 5 kB state, times",
        await ratio(ours.load, theirs.load, "load, verified and plain"),
        1.15,
    )


async def test_a_long_history_does_not_slow_a_load(pair: Pair) -> None:
    """The newest of 2,000 checkpoints against the newest of 20."""
    (long, _), (short, _) = await pair.threads(), await pair.threads()
    for thread, length in ((long, 2_000), (short, 20)):
        for _ in range(length):
            await thread.put()
    async with pair.ledger.pool.connection() as connection:
        # As PostgreSQL does by itself within a minute.
        await connection.execute("ANALYZE")
    times = await ratio(long.load, short.load, "load, 2,000 checkpoints and 20")
    tell("load from 2,000 checkpoints against 20, times", times, 1.2)


async def test_many_runs_share_a_pool_where_a_lock_makes_them_wait(
    pair: Pair, durable_url: str
) -> None:
    """Twenty runs at once on ten connections, once as the database is, once as one that is far away."""
    times = [await gain(pair, durable_url, seconds) for seconds in (0.0, AWAY_SECONDS)]
    verdict = "met" if times[-1] >= TIMES_MIN else "NOT MET"
    print(
        f"throughput of {RUNS} runs, times: {times[-1]:.3g}, aimed at {TIMES_MIN} at least: {verdict}"
    )


async def gain(pair: Pair, database_url: str, seconds: float) -> float:
    """Return how many times as much our saver stores on a database that is so far away."""
    async with far_away(database_url, seconds):
        mine, plain = await throughputs(pair)
    print(
        f"\ndatabase {seconds * 1000:.0f} ms away: sealed {mine:.0f} puts/s, plain {plain:.0f} puts/s,"
        f" {mine / plain:.2f} times"
    )
    return mine / plain


async def throughputs(pair: Pair) -> tuple[float, float]:
    """Return the checkpoints that each saver stores in a second, the median of five turns."""
    taken: tuple[list[float], list[float]] = ([], [])
    for _ in range(5):
        threads = [await pair.threads() for _ in range(RUNS)]
        for side in (0, 1):
            begun = time.perf_counter()
            await asyncio.gather(*(grow(thread[side]) for thread in threads))
            taken[side].append(RUNS * STEPS / (time.perf_counter() - begun))
    return median(taken[0]), median(taken[1])


async def grow(thread: Thread) -> None:
    """Store some checkpoints, one after the other."""
    for _ in range(STEPS):
        await thread.put()


@asynccontextmanager
async def far_away(database_url: str, seconds: float) -> AsyncIterator[None]:
    """Make every checkpoint that anybody stores wait in the database, as on a long way to it."""
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as connection:
        await connection.execute(
            "CREATE FUNCTION public.wait() RETURNS trigger LANGUAGE plpgsql AS"
            f" $$BEGIN PERFORM pg_sleep({seconds}); RETURN NEW; END$$".encode()
        )
        await connection.execute(
            "CREATE TRIGGER wait BEFORE INSERT ON langgraph.checkpoints FOR EACH ROW EXECUTE FUNCTION public.wait()"
        )
        try:
            yield
        finally:
            await connection.execute("DROP FUNCTION public.wait CASCADE")
