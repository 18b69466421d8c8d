"""The log of migrations: when a sleeping run was brought to another version of the workflow, and what of it changed.

An entry commits in the transaction of the migration that it tells of.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from ledger import audit
from ledger.canonical import Json
from ledger.db import Transaction, readable
from ledger.runs import Run
from ledger.sql import load

_SQL = load("workflow_migrations")
_RECORD, _LIST, _LOCK, _MOVE = (
    _SQL["LogMigration"],
    _SQL["MigrationsOfRun"],
    _SQL["LockRun"],
    _SQL["MoveRun"],
)
_OTHERS, _COUNT_OTHERS = _SQL["OtherwiseBegun"], _SQL["CountOtherwiseBegun"]


class Migrated(BaseModel):
    """One migration of a run; without checkpoints it is one of a run that had not begun."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    number: int
    from_version: int
    from_fingerprint: str
    to_version: int
    to_fingerprint: str
    old_checkpoint: str | None
    new_checkpoint: str | None
    worker: str
    fence: int
    at: datetime
    #: What changed: `steps` before and after, `channels`, `reviews` asked again with what they are asked as, `plan`.
    changes: dict[str, Any]

    def became(self, review_id: str) -> str | None:
        """Return the review that this migration asked in place of another, None where it left that as it was."""
        asked: dict[str, str] = self.changes["reviews"]
        return asked.get(review_id)

    def instead_of(self, review_id: str) -> str | None:
        """Return the review in whose place this migration asked another, None where it did not."""
        asked: dict[str, str] = self.changes["reviews"]
        return next((old for old, new in asked.items() if new == review_id), None)


async def lock(tx: Transaction, run_id: UUID) -> None:
    """Keep everybody else from writing for a run until the transaction ends."""
    await tx.maybe(_LOCK, run_id=run_id)


async def record(
    tx: Transaction,
    run: Run,
    to: tuple[int, str],
    checkpoints: tuple[str | None, str | None],
    options: dict[str, Json],
    changes: dict[str, Json],
) -> int:
    """Say of a run that it is one of another version now, and log that; returns the number of the entry.

    `to` is the version and its fingerprint, `checkpoints` the old and the new one. Raises IllegalTransition where the run
    is finished or of yet another version.
    """
    assert tx.fence is not None  # who migrates a run holds it
    moved = {
        "to_version": to[0],
        "to_fingerprint": to[1],
        "from_version": run.workflow_version,
        "from_fingerprint": run.fingerprint,
    }
    body = tx.pack({"question": run.question, "options": options})
    await tx.one(_MOVE, run_id=run.run_id, **moved, **body)
    row = await tx.one(
        _RECORD,
        run_id=run.run_id,
        **moved,
        old_checkpoint=checkpoints[0],
        new_checkpoint=checkpoints[1],
        worker=tx.actor,
        fence=tx.fence,
        **tx.pack(changes),
    )
    detail: dict[str, Json] = {
        "from": run.workflow_version,
        "to": to[0],
        "checkpoint": checkpoints[1],
    }
    await audit.append(tx, run.run_id, "run_migrated", detail)
    number: int = row["number"]
    return number


async def newest_first(tx: Transaction, run_id: UUID) -> list[Migrated]:
    """Return the migrations of a run; raises LedgerDamaged for what nobody here could have written."""
    found: list[Migrated] = []
    for row in await tx.many(_LIST, run_id=run_id):
        with readable(run_id, f"row workflow_migrations {row['number']}"):
            columns = {name: row[name] for name in row if name not in {"key_id", "body"}}
            found.append(Migrated(**columns, changes=tx.unpack(row)))
    return found


async def others(
    tx: Transaction, version: int, fingerprint: str, after: UUID | None, limit: int
) -> Sequence[UUID]:
    """Return the unfinished runs of other workflows than this, by their ids, at most `limit` after one of them."""
    rows = await tx.many(
        _OTHERS, version=version, fingerprint=fingerprint, after=after, limit=limit
    )
    return [row["run_id"] for row in rows]


async def count_others(tx: Transaction, version: int, fingerprint: str) -> int:
    """Return how many unfinished runs are of other workflows than this."""
    count: int = (await tx.one(_COUNT_OTHERS, version=version, fingerprint=fingerprint))["runs"]
    return count
