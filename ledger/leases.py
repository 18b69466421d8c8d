"""One writer per run: a lease that runs out, and a fence that each new lease raises.

The lease is for liveness: it is renewed for as long as its owner lives, and by the database's clock it runs out when it
is not. The fence is for safety: it is checked in every transaction that writes for the run, so that an owner who was
taken over writes nothing, wherever it was frozen. A session lock tells sooner than the lease that an owner is dead: it
vanishes with the owner's connection. Without that connection the owner may go on; the fence decides.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Literal, TypeAlias
from uuid import UUID

import psycopg
from psycopg.rows import DictRow

from ledger.db import Ledger, Transaction, application_name
from ledger.errors import (
    DatabaseUnavailable,
    LeaseLost,
    LedgerDamaged,
    RunDrained,
    RunHeld,
    TakeoverBlocked,
)
from ledger.heartbeat import Session, beating, session
from ledger.sql import load
from ledger.translation import wrap_errors

_SQL = load("leases")
_TAKE, _CUT = _SQL["TakeLease"], _SQL["CutOwner"]

# The commit in flight of an owner that lives takes milliseconds. Whoever is in the way for longer is frozen.
CUT_AFTER_SECONDS = 0.25
# A session that was told to end does so at once, unless this user may not tell it.
BLOCKED_AFTER_SECONDS = 10.0

#: How a lease is let go of. A lease that is lost, or whose database is gone, is not: it runs out.
Release: TypeAlias = Literal["ended", "drained", "interrupted", "failed"]


@asynccontextmanager
async def hold(ledger: Ledger, run_id: UUID, *, passing: bool = False) -> AsyncGenerator[int]:
    """Hold a run and yield its fence; raises RunHeld if a living worker has it, TakeoverBlocked if it cannot be had.

    The body is cancelled, and LeaseLost raised, soon after another worker has taken the run over. Who is only `passing` does
    not work the run: one whose worker died is left without a worker, as it was found, and a sweep takes it up.
    """
    # Its connection is beside the pool: as many runs as the pool has connections would leave none to work with.
    async with session(ledger, run_id) as own:
        fence, orphaned = await _take(own)
        ledger.held[run_id] = fence
        released: Release | None = "failed"
        try:
            async with beating(own, fence):
                yield fence
            released = "ended"
        except RunDrained:
            released = "drained"
            raise
        except (asyncio.CancelledError, KeyboardInterrupt):
            released = "interrupted"
            raise
        except LeaseLost:
            released = None
            raise
        except DatabaseUnavailable as error:
            released = None
            if (successor := await own.successor(fence)) is not None:
                raise LeaseLost(successor) from error
            raise
        finally:
            del ledger.held[run_id]
            if released is not None and not (passing and orphaned):
                await own.release(fence, released)


async def _take(own: Session) -> tuple[int, bool]:
    """Take the run; returns the fence, and whether the worker before never let go of it."""
    ledger, run_id = own.ledger, own.run_id
    seen = await own.read()
    # This process's own run is never taken over by it: its fence would be everybody's who works here.
    if run_id in ledger.held or (seen is not None and not seen["free"]):
        raise _held(run_id, seen)
    if seen is not None and seen["fence"] is None:
        raise LedgerDamaged(run_id, "row leases has no fence")
    async with ledger.transaction() as tx:
        row = await _taken(own, tx, seen)
        if row is None:
            raise _held(run_id, await own.read())
        # Before the lease is seen by anybody, or its owner would pass for dead.
        await own.lock(row["fence"])
    return row["fence"], seen is not None and seen["unreleased"]


async def _taken(own: Session, tx: Transaction, seen: DictRow | None) -> DictRow | None:
    """Take the lease that was seen, and end the transactions of dead or frozen workers that are in the way."""
    taking = asyncio.create_task(
        tx.maybe(
            _TAKE,
            run_id=own.run_id,
            owner=own.ledger.worker,
            seconds=own.ledger.lease_seconds,
            seen=seen and seen["fence"],
        )
    )
    try:
        # A take that is under way and not committed says nobody's name: it has the time that a lease gives it.
        async with asyncio.timeout(own.ledger.lease_seconds + BLOCKED_AFTER_SECONDS):
            while not (await asyncio.wait({taking}, timeout=CUT_AFTER_SECONDS))[0]:
                await _cut(own, tx.connection.info.backend_pid, seen["owner"] if seen else None)
    except TimeoutError as error:
        raise TakeoverBlocked(own.run_id, seen["owner"] if seen else "another worker") from error
    finally:
        taking.cancel()
        await asyncio.wait({taking})
    return taking.result()


async def _cut(own: Session, taker: int, owner: str | None) -> None:
    values = {
        "taker": taker,
        "application": owner and application_name(owner),
        "seconds": own.ledger.lease_seconds,
    }
    with wrap_errors():
        try:
            await own.connection.execute(_CUT.text, values)
        except psycopg.errors.InsufficientPrivilege as error:
            raise TakeoverBlocked(own.run_id, owner or "another worker") from error


def _held(run_id: UUID, seen: DictRow | None) -> RunHeld:
    if seen is None:
        return RunHeld(run_id, "another worker that has just begun")
    return RunHeld(run_id, seen["owner"], seen["acquired_at"], seen["expires_at"])
