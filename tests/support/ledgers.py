"""Ledgers for tests: as many workers on one database as a test wants."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from uuid import UUID

from psycopg.rows import DictRow

from graph.versions import RELEASES
from ledger import leases, runs, tasks
from ledger.db import Ledger, new_pool
from ledger.faults import NO_FAULTS, Faults
from ledger.ids import new_run_id
from ledger.keys import KeyRing
from ledger.stamps import Stamp

HERE = Stamp(RELEASES[-1].version, RELEASES[-1].fingerprint)
SEAL_KEY = "5ea1" * 16
KEYS = KeyRing.of([SEAL_KEY])
_LEASE = "SELECT *, expires_at > clock_timestamp() AS runs FROM ledger.leases"


@asynccontextmanager
async def open_ledger(
    database_url: str,
    worker: str = "worker",
    tenant: str = "default",
    faults: Faults = NO_FAULTS,
    lease_seconds: float = 30.0,
) -> AsyncGenerator[Ledger]:
    """Open a ledger with a pool of its own."""
    async with new_pool(database_url, 5, worker=worker) as pool:
        yield Ledger(pool, worker, tenant, KEYS, faults=faults, lease_seconds=lease_seconds)


async def new_run(
    ledger: Ledger,
    question: str = "Why?",
    task_ids: tuple[str, ...] = ("t1",),
    stamp: Stamp = HERE,
) -> UUID:
    """Record a run of the current workflow, or another, with tasks that wait."""
    run_id = new_run_id()
    async with ledger.transaction() as tx:
        await runs.create(tx, run_id, question, {}, *stamp)
        await tasks.add(
            tx, run_id, [(name, f"Question {name}?", ()) for name in task_ids], "branch"
        )
    return run_id


async def execute(ledger: Ledger, statement: str) -> None:
    """Run statements that are none of ours."""
    async with ledger.pool.connection() as connection:
        await connection.execute(statement.encode())


async def lease(ledger: Ledger) -> DictRow:
    """Return the one lease, with `runs`: whether it has not run out."""
    async with ledger.pool.connection() as connection:
        row = await (await connection.execute(_LEASE)).fetchone()
    assert row is not None
    return row


async def take(ledger: Ledger, run_id: UUID) -> int:
    """Take a run and let go of it; returns the fence."""
    async with leases.hold(ledger, run_id) as fence:
        return fence
