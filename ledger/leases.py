"""One writer per run.

A worker that takes a run raises its fence; every later transaction of an older worker is refused, wherever that worker
was frozen. A session lock tells at once whether the last owner still lives: it vanishes with its connection.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from uuid import UUID

import psycopg

from ledger.db import Ledger, connection_beside, wrap_errors
from ledger.errors import RunHeld
from ledger.sql import load

_SQL = load("leases")
_TRY, _RELEASE, _RAISE, _OWNER = (
    _SQL["TryRunLock"],
    _SQL["ReleaseRunLock"],
    _SQL["RaiseFence"],
    _SQL["OwnerOfRun"],
)


@asynccontextmanager
async def hold(ledger: Ledger, run_id: UUID) -> AsyncGenerator[int]:
    """Hold a run and yield its fence; raises RunHeld if a living worker has it.

    The lock lives on a connection of its own, beside the pool: as many runs as the pool has connections would leave
    none to work with.
    """
    key = {"tenant": ledger.tenant, "run_id": run_id}
    async with await connection_beside(ledger.pool) as connection:
        with wrap_errors():
            row = await (await connection.execute(_TRY.text, key)).fetchone()
        if row is None or not row["taken"]:
            raise RunHeld(run_id, await _owner(ledger, run_id))
        try:
            fence = await _raise_fence(ledger, run_id)
            ledger.held[run_id] = fence
            yield fence
        finally:
            ledger.held.pop(run_id, None)
            # A connection that was lost has let go already.
            with suppress(psycopg.OperationalError, psycopg.InterfaceError):
                await connection.execute(_RELEASE.text, key)


async def _raise_fence(ledger: Ledger, run_id: UUID) -> int:
    async with ledger.transaction() as tx:
        row = await tx.one(_RAISE, run_id=run_id, owner=ledger.worker)
    fence: int = row["fence"]
    return fence


async def _owner(ledger: Ledger, run_id: UUID) -> str:
    async with ledger.transaction() as tx:
        row = await tx.maybe(_OWNER, run_id=run_id)
    return row["owner"] if row else "another worker that has just begun"
