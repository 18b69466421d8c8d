"""A run's checkpoints as they are stored, valid or not: what is wrong with them, and what is done about it.

Nothing is deleted: what fails its check is recorded as rejected and never loaded again, and the newest valid one before it
takes its place. Needs no graph.
"""

import logging
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from ledger import audit, checkpoint_checks, checkpoint_seals, records
from ledger.db import Transaction
from ledger.errors import CheckpointDamaged
from ledger.recoveries import Rejected
from ledger.sql import load
from ledger.stamps import Stamp
from ledger.stored_checkpoints import Stored

_SQL = load("checkpoint_seals")
_BEFORE, _REJECT, _REJECT_WRITES, _IS_SEALED, _SEAL, _SEAL_WRITE = (
    _SQL["CheckpointsBefore"],
    _SQL["RejectCheckpoint"],
    _SQL["RejectWrites"],
    _SQL["IsSealed"],
    _SQL["SealCheckpoint"],
    _SQL["SealWrite"],
)
_LOAD, _REJECTED = _SQL["LoadCheckpoint"], _SQL["ListRejected"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Inspected:
    """One checkpoint of a run and what is wrong with it."""

    checkpoint_ns: str
    checkpoint_id: str
    parent: str | None
    boundary: str | None
    #: The version of the run's ledger that it rests on, and that version's seal; None where its record does not say.
    anchor: tuple[int, str] | None
    #: What is wrong with row, blobs, record, parent or seal, in words.
    problems: tuple[str, ...]
    #: What is wrong with pending writes, by their task.
    write_problems: dict[str, tuple[str, ...]]
    #: Why it was rejected before, or None.
    rejected: str | None
    #: Never sealed by anybody: `perdure adopt` would.
    unsealed: bool
    #: The version of its record, where that is newer than this installation knows.
    newer: int | None
    #: What it bears of the workflow that stored it; None where its record does not say.
    stamp: Stamp | None = None

    @property
    def is_valid(self) -> bool:
        """Whether it can be loaded, once damaged pending writes are out of the way."""
        usable = not self.problems and not self.unsealed
        return usable and self.rejected is None and self.newer is None


async def inspect(tx: Transaction, run_id: UUID) -> dict[str, list[Inspected]]:
    """Return every checkpoint of a run by namespace, newest first; raises SealKeyMissing."""
    found: dict[str, list[Inspected]] = {}
    async with aclosing(checkpoint_checks.walk(tx, run_id)) as checkpoints:
        async for stored in checkpoints:
            found.setdefault(stored.checkpoint_ns, []).append(inspected(tx, stored))
    return found


async def head(tx: Transaction, run_id: UUID, ns: str = "") -> Inspected | None:
    """Return the newest checkpoint that was not rejected, as it would be loaded, valid or not; None where there is none.

    Where it is not valid, `reject` it and ask again: so far back goes a recovery, and no further. Raises SealKeyMissing.
    """
    row = await tx.maybe(_LOAD, thread_id=str(run_id), checkpoint_ns=ns, checkpoint_id=None)
    return inspected(tx, Stored(**row)) if row is not None else None


def inspected(tx: Transaction, stored: Stored) -> Inspected:
    """Return what is wrong with a stored checkpoint; raises SealKeyMissing."""
    unsealed = checkpoint_checks.is_unsealed(stored)
    problems: Sequence[str] = ()
    of_writes: dict[str, list[str]] = {}
    if not unsealed:
        problems = checkpoint_checks.problems(tx.keys, tx.tenant, stored)
        of_writes = checkpoint_checks.write_problems(tx.keys, tx.tenant, stored)
    newer = checkpoint_checks.newer_record(tx.keys, tx.tenant, stored, records.SCHEMA_VERSION)
    record: dict[str, Any] = checkpoint_checks.record_of(stored) or {}
    boundary = record.get("boundary")
    return Inspected(
        stored.checkpoint_ns,
        stored.checkpoint_id,
        stored.parent,
        boundary if isinstance(boundary, str) else None,
        None if problems else _anchor(record),
        tuple(problems),
        {task: tuple(told) for task, told in of_writes.items()},
        stored.rejected,
        unsealed,
        newer,
        stamp_of(stored),
    )


def stamp_of(stored: Stored) -> Stamp | None:
    """Return what a checkpoint bears of the workflow that stored it, None where its record does not say."""
    record: dict[str, Any] = checkpoint_checks.record_of(stored) or {}
    version, fingerprint = record.get("workflow_version"), record.get("fingerprint")
    if isinstance(version, int) and isinstance(fingerprint, str):
        return Stamp(version, fingerprint)
    return None


def _anchor(record: dict[str, Any]) -> tuple[int, str] | None:
    version, seal = record.get("ledger_version"), record.get("ledger_seal")
    return (version, seal) if isinstance(version, int) and isinstance(seal, str) else None


async def reject(tx: Transaction, run_id: UUID, ns: str, checkpoint_id: str, reason: str) -> bool:
    """Record that a checkpoint is never to be loaded, and why; says whether that is new. Logs an alert and audits."""
    name = {"checkpoint_ns": ns, "checkpoint_id": checkpoint_id}
    if await tx.maybe(_REJECT, run_id=run_id, reason=reason, **name) is None:
        return False
    await audit.append(tx, run_id, "checkpoint_rejected", {**name, "reason": reason})
    _log.error("checkpoint %s of run %s is rejected: %s", checkpoint_id, run_id, reason)
    return True


async def rejected(tx: Transaction, run_id: UUID) -> list[Rejected]:
    """Return the checkpoints of a run that were ever rejected, oldest first."""
    return [Rejected(**row) for row in await tx.many(_REJECTED, run_id=run_id)]


async def reject_writes(
    tx: Transaction, run_id: UUID, ns: str, checkpoint_id: str, problems: dict[str, tuple[str, ...]]
) -> int:
    """Move the pending writes of these tasks out of the way, so that the tasks run again; returns how many rows.

    `problems` says by task what is wrong, as `Inspected.write_problems` does. Logs an alert for each task and audits.
    """
    moved = 0
    for task_id, told in problems.items():
        name = {"checkpoint_ns": ns, "checkpoint_id": checkpoint_id, "task_id": task_id}
        reason = "; ".join(told)
        rows = await tx.many(_REJECT_WRITES, run_id=run_id, reason=reason, **name)
        if rows:
            await audit.append(tx, run_id, "writes_rejected", {**name, "reason": reason})
            _log.error("pending writes of run %s are rejected: %s", run_id, reason)
        moved += len(rows)
    return moved


async def adopt(tx: Transaction, run_id: UUID) -> int:
    """Seal the checkpoints of a thread that nobody ever sealed, as they are, and say so in the audit log.

    Returns how many; 0 where there are none, or the thread is ours already. The caller's actor is who trusts them. Raises
    CheckpointDamaged for one that nobody could read, and SealKeyMissing.
    """
    thread_id = str(run_id)
    if (await tx.one(_IS_SEALED, thread_id=thread_id))["sealed"]:
        return 0
    seals: dict[tuple[str, str], str] = {}
    adopted = 0
    found = await tx.many(_BEFORE, thread_id=thread_id, passed=0, limit=None)
    # Parents first: a seal covers that of the parent.
    for stored in (Stored(**row) for row in reversed(found)):
        if not checkpoint_checks.is_readable(stored):
            raise CheckpointDamaged(stored.name, ["it cannot be read, so it is not adopted"])
        ns, parent = stored.checkpoint_ns, stored.parent
        before = (parent, seals.get((ns, parent))) if parent else None
        parts = checkpoint_seals.parts_of(stored, before)
        row = checkpoint_seals.seal_row(tx.keys, tx.tenant, stored.name, parts)
        seals[ns, stored.checkpoint_id] = row["seal"]
        await tx.run(_SEAL, **row)
        await tx.run_each(
            _SEAL_WRITE,
            checkpoint_seals.write_seal_rows(tx.keys, tx.tenant, stored, thread_id),
        )
        adopted += 1
    if adopted:
        await audit.append(tx, run_id, "checkpoints_adopted", {"checkpoints": adopted})
    return adopted
