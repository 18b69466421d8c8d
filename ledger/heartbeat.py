"""The session of a lease's owner: one connection that holds a lock for as long as the owner lives, and renews the lease."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from psycopg.rows import DictRow

from ledger.db import Connection, Ledger, connection_beside
from ledger.errors import DatabaseUnavailable, LeaseLost, WriteConflict
from ledger.sql import Statement, load
from ledger.translation import wrap_errors

_SQL = load("leases")
_READ, _LOCK = _SQL["ReadLease"], _SQL["LockLease"]
_RENEW, _RELEASE = _SQL["RenewLease"], _SQL["ReleaseLease"]

# Two beats may be late or lost before the lease runs out.
BEATS_PER_LEASE = 3


@dataclass(slots=True)
class Session:
    """A connection for one run, replaced when it is lost."""

    ledger: Ledger
    run_id: UUID
    connection: Connection

    async def read(self) -> DictRow | None:
        """Return the lease of the run, with `free`: whether it may be taken."""
        return await self._row(_READ)

    async def lock(self, fence: int) -> None:
        """Show that the owner of this lease is connected."""
        await self._row(_LOCK, fence=fence)

    async def renew(self, fence: int) -> bool:
        """Let the lease begin anew; False if it is not this one any more."""
        if self.connection.closed:
            self.connection = await connection_beside(self.ledger.pool)
            await self.lock(fence)
        seconds = self.ledger.lease_seconds
        return await self._row(_RENEW, fence=fence, seconds=seconds) is not None

    async def release(self, fence: int, released_as: str) -> None:
        """Let go of the lease, unless it is another's by now; with the database gone it runs out by itself."""
        with suppress(DatabaseUnavailable):
            await self._row(_RELEASE, fence=fence, released_as=released_as)

    async def successor(self, fence: int) -> str | None:
        """Return who has the run if it is no more held under this fence; None where nobody can tell."""
        with suppress(DatabaseUnavailable):
            if self.connection.closed:
                self.connection = await connection_beside(self.ledger.pool)
            lease = await self.read()
            if lease is None:
                return "nobody"
            if lease["fence"] != fence:
                return str(lease["owner"])
        return None

    async def _row(self, statement: Statement, **values: Any) -> DictRow | None:
        given = {"tenant": self.ledger.tenant, "run_id": self.run_id, **values}
        with wrap_errors():
            return await (await self.connection.execute(statement.text, given)).fetchone()


@asynccontextmanager
async def session(ledger: Ledger, run_id: UUID) -> AsyncGenerator[Session]:
    """Open a session for a run and close it, whatever connection it has by then."""
    opened = Session(ledger, run_id, await connection_beside(ledger.pool))
    try:
        yield opened
    finally:
        await opened.connection.close()


@asynccontextmanager
async def beating(own: Session, fence: int) -> AsyncGenerator[None]:
    """Renew the lease while the body runs; when another has taken it, cancel the body and raise LeaseLost."""
    work = asyncio.current_task()
    assert work is not None
    cancelled_before = work.cancelling()
    heart = asyncio.create_task(_beat(own, fence))
    heart.add_done_callback(lambda done: None if done.cancelled() else work.cancel())
    try:
        try:
            yield
        finally:
            heart.cancel()
            await asyncio.wait({heart})
    except asyncio.CancelledError:
        if heart.cancelled() or work.uncancel() > cancelled_before:
            raise
        raise LeaseLost(heart.result()) from None


async def _beat(own: Session, fence: int) -> str:
    """Renew the lease until it is another's; returns whose."""
    pause = own.ledger.lease_seconds / BEATS_PER_LEASE
    while True:
        await asyncio.sleep(pause)
        # A database that is away may come back before the lease has run out; and after that, if nobody was there to
        # take it, the fence is still ours.
        with suppress(DatabaseUnavailable, WriteConflict, TimeoutError):
            async with asyncio.timeout(pause):
                if await own.renew(fence):
                    continue
            if (owner := await own.successor(fence)) is not None:
                return owner
