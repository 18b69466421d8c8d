"""Takes up the runs whose workers died, whose reviews are overdue, or whose targets or models did not answer, on demand and for ever.

Each is resumed as a person would resume it. What a run was stopped for on purpose is not this module's to overrule: one
that was interrupted, drained, cancelled or has failed is left alone. One of a workflow that this worker does not support
is not even looked at, but for naming it.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from graph import relaying
from graph.admitting import left
from graph.errors import RunLeft
from graph.runs import resume_run
from graph.runtime import Runtime
from ledger import outbox, reviews, runs, workers
from ledger.db import Transaction
from ledger.errors import DatabaseUnavailable, LeaseLost, LedgerError, RunDrained, RunHeld
from ledger.stamps import Taken
from ledger.workers import Orphan
from nodes.options import BadInput

logger = logging.getLogger(__name__)

# Each run takes a connection of its own; a person waits for all of them.
AT_ONCE_MAX = 8
# A look at the leases is two short queries.
LOOKS_PER_LEASE = 3
# A look at those that others have to take reads each of their rows: rarely.
LOOKS_PER_LOOK_AT_OTHERS = 6


@dataclass(frozen=True, slots=True)
class Swept:
    """An orphan, its dead `owner`, and what became of it.

    `became` is the status that it came to; or `held`, another worker was quicker; `left`, it cannot be worked here;
    `drained`, this process was told to end; `stopped`, by an error. `reason` says why.
    """

    run_id: UUID
    owner: str
    became: str
    reason: str | None = None

    @property
    def shown(self) -> dict[str, str | None]:
        """The fields of `perdure sweep --json`."""
        return {
            "run_id": str(self.run_id),
            "owner": self.owner,
            "became": self.became,
            "reason": self.reason,
        }


async def sweep(runtime: Runtime) -> list[Swept]:
    """Take up every run whose worker died, whose review's deadline passed or whose target may answer by now.

    Each is worked to its end or its next pause; then the notices that are due are sent.
    """
    async with runtime.ledger.transaction() as tx:
        found = await _found(tx, Taken(runtime.supports), patient=False)
        others = await _others(runtime, tx, patient=False)
    free = asyncio.Semaphore(AT_ONCE_MAX)

    async def when_free(orphan: Orphan) -> Swept:
        async with free:
            return await _take_up(runtime, orphan)

    swept = list(await asyncio.gather(*map(when_free, found)))
    await relaying.run_once(runtime)
    return swept + others


async def _found(tx: Transaction, of: Taken, *, patient: bool) -> list[Orphan]:
    """Return what may be taken up, each run once: what its target did not answer then, it may now."""
    found = [
        *await workers.orphans(tx, of, patient=patient),
        *await workers.overdue(tx, of),
        *await workers.postponed(tx, of),
        *await outbox.unsettled(tx, of),
    ]
    return list({each.run_id: each for each in found}.values())


async def _others(runtime: Runtime, tx: Transaction, *, patient: bool) -> list[Swept]:
    """Return what would be taken up if this worker supported its workflow, and for whom each run is left."""
    found = await _found(tx, Taken(runtime.supports, others=True), patient=patient)
    return [
        Swept(each.run_id, each.owner, "left", await _why_left(runtime, tx, each)) for each in found
    ]


async def _why_left(runtime: Runtime, tx: Transaction, orphan: Orphan) -> str:
    if (error := left(runtime, await runs.get(tx, orphan.run_id))) is not None:
        return str(error)
    return (
        f"it was begun by workflow version {orphan.workflow_version} with another topology; a worker of that version takes it"
        f" up, and `perdure resume {orphan.run_id}` says what differs"
    )


async def watch(runtime: Runtime, tell: Callable[[Swept], None]) -> None:
    """Take up runs until this process is told to end; `tell` hears what became of each.

    It wakes when a lease runs out, so it has a run within a moment. A database that is away is waited for.
    """
    taken: set[UUID] = set()

    async def take_up(orphan: Orphan) -> None:
        tell(await _take_up(runtime, orphan))
        taken.discard(orphan.run_id)

    others = _Others(runtime, tell)
    async with asyncio.TaskGroup() as group:
        while not runtime.control.drain_requested:
            pause, found = await _look(runtime)
            for orphan in found:
                # What this process has itself, and was kept from renewing, it will renew.
                if orphan.run_id not in taken | runtime.ledger.held.keys():
                    taken.add(orphan.run_id)
                    group.create_task(take_up(orphan))
            await others.look()
            await _relayed(runtime)
            await runtime.control.wait(pause)


class _Others:
    """Tells of each run that is left to others, once."""

    def __init__(self, runtime: Runtime, tell: Callable[[Swept], None]) -> None:
        self._runtime, self._tell = runtime, tell
        self._looks, self._told = 0, set[UUID]()

    async def look(self) -> None:
        """Look for them every now and then."""
        self._looks += 1
        if self._looks % LOOKS_PER_LOOK_AT_OTHERS != 1:
            return
        try:
            async with self._runtime.ledger.transaction() as tx:
                found = await _others(self._runtime, tx, patient=True)
        except LedgerError as error:
            logger.warning("cannot look for runs of other workflows: %s", error)
            return
        for swept in found:
            if swept.run_id not in self._told:
                self._told.add(swept.run_id)
                self._tell(swept)


async def _relayed(runtime: Runtime) -> None:
    try:
        await relaying.run_once(runtime)
    except LedgerError as error:
        logger.warning("notices are left for the next look: %s", error)


async def _look(runtime: Runtime) -> tuple[float, list[Orphan]]:
    """Return for how many seconds nothing will have to be done, and what has to be done now."""
    between = runtime.ledger.lease_seconds / LOOKS_PER_LEASE
    try:
        async with runtime.ledger.transaction() as tx:
            # In this order: what runs out in between is found.
            seconds = [
                await workers.seconds_to_expiry(tx),
                await workers.seconds_to_next_try(tx),
                await reviews.seconds_to_due(tx),
            ]
            found = await _found(tx, Taken(runtime.supports), patient=True)
    except DatabaseUnavailable as error:
        logger.warning("cannot look for runs whose workers died: %s", error)
        return between, []
    return max(0.0, min([between, *(each for each in seconds if each is not None)])), found


async def _take_up(runtime: Runtime, orphan: Orphan) -> Swept:
    swept = partial(Swept, orphan.run_id, orphan.owner)
    try:
        run = (await resume_run(runtime, orphan.run_id)).run
    except RunLeft as error:
        # It was brought to another version since it was found.
        return swept("left", str(error))
    except (RunHeld, LeaseLost) as error:
        return swept("held", str(error))
    except RunDrained as error:
        return swept("drained", str(error))
    except (LedgerError, BadInput, OSError) as error:
        return swept("stopped", str(error))
    return swept(run.status, run.reason)
