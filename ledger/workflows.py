"""Which workflows worked in this database, and which runs its workers take.

A worker says so when it opens the database: what it was is told from this for a week after it is gone.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from ledger.canonical import canonical, digest
from ledger.db import Ledger, Transaction, application_name
from ledger.sql import load
from ledger.stamps import Stamp, columns

_SQL = load("workflows")

# Long enough to see on Monday who worked on Friday.
REMEMBERED_DAYS = 7


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker that was here of late: the runs that it takes, and whether it is connected now."""

    worker: str
    supports: frozenset[Stamp]
    at: datetime
    connected: bool

    @property
    def versions(self) -> list[int]:
        """The versions of the workflow that it supports."""
        return sorted({stamp.version for stamp in self.supports})


async def declare(
    ledger: Ledger, stamp: Stamp, topology: dict[str, Any], supports: Collection[Stamp]
) -> None:
    """Keep what a workflow looks like, and what this worker takes."""
    async with ledger.transaction() as tx:
        await tx.run(
            _SQL["DescribeWorkflow"],
            fingerprint=stamp.fingerprint,
            workflow_version=stamp.version,
            topology=Jsonb(topology),
        )
        await tx.run(_SQL["ForgetWorkers"], days=REMEMBERED_DAYS)
        name = ledger.worker
        application = application_name(name)
        await tx.run(
            _SQL["DeclareWorker"], worker=name, application=application, **columns(supports)
        )


async def topology(tx: Transaction, fingerprint: str) -> dict[str, Any] | None:
    """Return the topology that has a fingerprint, None where nobody kept one that does."""
    row = await tx.maybe(_SQL["TopologyOf"], fingerprint=fingerprint)
    if row is None or digest(canonical(row["topology"])) != fingerprint:
        return None
    found: dict[str, Any] = row["topology"]
    return found


async def workers(tx: Transaction) -> list[Worker]:
    """Return the workers that were here of late, newest first."""
    return [
        Worker(
            row["worker"],
            frozenset(map(Stamp, row["versions"], row["fingerprints"])),
            row["at"],
            row["connected"],
        )
        for row in await tx.many(_SQL["WorkersHere"])
    ]


async def unsupported(tx: Transaction, here: Collection[Stamp]) -> dict[UUID, Stamp]:
    """Return the unfinished runs that no worker takes, neither one that was here of late nor one that takes `here`."""
    rows = await tx.many(_SQL["UnsupportedRuns"], **columns(here))
    return {row["run_id"]: Stamp(row["workflow_version"], row["fingerprint"]) for row in rows}
