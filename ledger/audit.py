"""The audit log: who did what to a run, one chain of hashes per run, only ever added to.

An entry's hash covers the entry and the hash before it, so that no entry can be changed, removed from the middle or put
in between without the chain showing it. Entries hold ids, counts and digests, never what a person wrote.
"""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from ledger.canonical import Json, canonical, digest
from ledger.db import Transaction
from ledger.sql import load

_SQL = load("audit")
_LOCK, _HEAD, _APPEND, _ENTRIES = (
    _SQL["LockChain"],
    _SQL["HeadOfChain"],
    _SQL["AppendEntry"],
    _SQL["ListEntries"],
)


class Entry(BaseModel):
    """One entry of a run's audit log."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sequence: int
    event: str
    actor: str
    detail: dict[str, Any]
    at: datetime
    previous: str | None
    hash: str


async def append(tx: Transaction, run_id: UUID, event: str, detail: dict[str, Json]) -> None:
    """Add an entry in this transaction, by its actor."""
    # Serialises the writers of one run's chain until they commit.
    await tx.one(_LOCK, run_id=run_id)
    head = await tx.one(_HEAD, run_id=run_id)
    sequence, previous, at = head["sequence"] + 1, head["hash"], head["at"]
    hashed = _hash(run_id, sequence, event, tx.actor, detail, at, previous)
    await tx.run(
        _APPEND,
        run_id=run_id,
        sequence=sequence,
        event=event,
        actor=tx.actor,
        detail=canonical(detail).decode(),
        at=at,
        previous=previous,
        hash=hashed,
    )


async def entries(tx: Transaction, run_id: UUID) -> list[Entry]:
    """Return a run's entries, oldest first."""
    return [Entry(**row) for row in await tx.many(_ENTRIES, run_id=run_id)]


def first_broken(run_id: UUID, chain: list[Entry]) -> int | None:
    """Return the sequence number of the first entry that does not follow from the one before, or None."""
    previous = None
    for number, entry in enumerate(chain, start=1):
        expected = _hash(run_id, number, entry.event, entry.actor, entry.detail, entry.at, previous)
        if (entry.sequence, entry.previous, entry.hash) != (number, previous, expected):
            return number
        previous = entry.hash
    return None


def _hash(
    run_id: UUID,
    sequence: int,
    event: str,
    actor: str,
    detail: dict[str, Json],
    at: datetime,
    previous: str | None,
) -> str:
    moment = at.astimezone(UTC).isoformat(timespec="microseconds")
    return digest(canonical([str(run_id), sequence, event, actor, detail, moment, previous]))
