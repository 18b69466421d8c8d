"""Who works which run: a living worker, one that died, one that was stopped, or nobody."""

from dataclasses import dataclass
from typing import Literal, TypeAlias
from uuid import UUID

from ledger.db import Transaction
from ledger.sql import load
from ledger.stamps import Stamp, Taken

_SQL = load("workers")
_WORKERS, _ORPHANS, _NEXT = _SQL["WorkersOfRuns"], _SQL["FindOrphans"], _SQL["NextExpiry"]
_OVERDUE, _POSTPONED, _NEXT_TRY = _SQL["FindOverdue"], _SQL["FindPostponed"], _SQL["NextTry"]

#: `orphaned`: its worker died; `drained`: its worker was told to end (SIGTERM); `interrupted`: somebody stopped it
#: (Ctrl-C); `none`: nobody works it, and nobody should.
Worker: TypeAlias = Literal["working", "orphaned", "drained", "interrupted", "none"]


@dataclass(frozen=True, slots=True)
class Orphan:
    """A run that is not finished, and that nobody works: its worker, `owner`, is dead, or it waited in vain."""

    run_id: UUID
    owner: str
    fingerprint: str
    workflow_version: int

    @property
    def stamp(self) -> Stamp:
        """What it bears of its workflow."""
        return Stamp(self.workflow_version, self.fingerprint)


#: Runs of any workflow.
ANY = Taken()


async def of_runs(tx: Transaction) -> dict[UUID, Worker]:
    """Return who works which run; a run that is left out was never worked."""
    return {row["run_id"]: row["worker"] for row in await tx.many(_WORKERS)}


async def orphans(tx: Transaction, of: Taken = ANY, *, patient: bool) -> list[Orphan]:
    """Return the runs whose worker died, longest dead first.

    Whoever is not patient takes a worker for dead whose connection is gone; a patient one gives it half of its lease to
    connect again, as all do after a restart of the database.
    """
    return [Orphan(**row) for row in await tx.many(_ORPHANS, patient=patient, **of.columns)]


async def overdue(tx: Transaction, of: Taken = ANY) -> list[Orphan]:
    """Return the runs that wait for a review whose deadline has passed, and that nobody works; `owner` worked it last."""
    return [Orphan(**row) for row in await tx.many(_OVERDUE, **of.columns)]


async def postponed(tx: Transaction, of: Taken = ANY) -> list[Orphan]:
    """Return the runs whose time has come to ask a service again that was away; `owner` worked each last."""
    return [Orphan(**row) for row in await tx.many(_POSTPONED, **of.columns)]


async def seconds_to_next_try(tx: Transaction) -> float | None:
    """Return how long it is until the next run asks a service again, None where none is to."""
    seconds: float | None = (await tx.one(_NEXT_TRY))["seconds"]
    return seconds


async def seconds_to_expiry(tx: Transaction) -> float | None:
    """Return how long it is, by the database's clock, until the next lease runs out that is not renewed."""
    row = await tx.one(_NEXT)
    seconds: float | None = row["seconds"]
    return seconds
