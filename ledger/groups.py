"""Group commit: what many coroutines of one run have to write at the same time goes into one transaction.

While one transaction is on its way to disk, what comes next waits together and goes with the next one. A write that
fails takes nobody with it: then each is committed on its own. Two runs that store the same artifacts may get into each
other's way; whom the database then rolls back tries again.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias, TypeVar, cast
from uuid import UUID

from ledger.db import Ledger, Transaction
from ledger.errors import WriteConflict

# Each time the database rolls back one of those that are in each other's way, so the rest get on.
TRIES_MAX = 5

T = TypeVar("T")
Write: TypeAlias = Callable[[Transaction], Awaitable[Any]]
Waiting: TypeAlias = list[tuple[Write, "asyncio.Future[Any]"]]


async def commit(
    ledger: Ledger, run_id: UUID, write: Callable[[Transaction], Awaitable[T]], lane: str = ""
) -> T:
    """Return what `write` returns, once it is committed; raises what it or the commit raises.

    Each lane has transactions of its own: what must be safe soon does not wait for what is much.

    `write` may be called twice, in transactions of which one was rolled back. It is carried out even if the caller is
    cancelled meanwhile: what came from outside is kept.
    """
    future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
    # Whoever waited may be gone; then nobody is told of an error.
    future.add_done_callback(lambda done: done.cancelled() or done.exception())
    waiting = cast("dict[tuple[UUID, str], Waiting]", ledger.waiting)
    if (run_id, lane) in waiting:
        waiting[run_id, lane].append((write, future))
    else:
        waiting[run_id, lane] = [(write, future)]
        ledger.committing.add(task := asyncio.create_task(_drain(ledger, run_id, lane, waiting)))
        task.add_done_callback(ledger.committing.discard)
    return await asyncio.shield(future)


async def _drain(
    ledger: Ledger, run_id: UUID, lane: str, waiting: dict[tuple[UUID, str], Waiting]
) -> None:
    while batch := waiting[run_id, lane]:
        waiting[run_id, lane] = []
        await _settle(ledger, run_id, batch)
    del waiting[run_id, lane]


async def _settle(ledger: Ledger, run_id: UUID, batch: Waiting, tries: int = TRIES_MAX) -> None:
    writes = [write for write, _ in batch]
    outcome: list[Any] | BaseException
    (outcome,) = await asyncio.gather(_together(ledger, run_id, writes), return_exceptions=True)
    failed = isinstance(outcome, BaseException)
    if failed and (len(batch) > 1 or (tries and isinstance(outcome, WriteConflict))):
        for each in batch:
            await _settle(ledger, run_id, [each], tries - 1)
        return
    results = [outcome] if isinstance(outcome, BaseException) else outcome
    for (_, future), result in zip(batch, results, strict=True):
        if future.done():
            continue
        if failed:
            future.set_exception(result)
        else:
            future.set_result(result)


async def _together(ledger: Ledger, run_id: UUID, writes: Sequence[Write]) -> list[Any]:
    async with ledger.transaction(run_id) as tx:
        return [await write(tx) for write in writes]
