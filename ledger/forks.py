"""Forks: a new run that begins where another was at one of its checkpoints, with the ledger as it stood then.

The rows come from the sealed history, not from the tables: what was changed since, by work or by tampering, is not in
them. Ids inside the run stay as they are; decided reviews stay with the run that they were given for.
"""

from contextlib import suppress
from datetime import datetime
from typing import Final, Literal, TypeAlias
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from ledger import audit, reviews
from ledger.db import Transaction
from ledger.errors import NotFound
from ledger.questions import Review
from ledger.sql import load

_SQL = load("forks")
_RECORD, _OF, _OWNER = _SQL["RecordFork"], _SQL["ForkOf"], _SQL["OwnerOfCheckpoint"]
_REVIEW = _SQL["ReviewAsOf"]

# In the order of their foreign keys.
_COPIES: Final = tuple(
    _SQL[name]
    for name in (
        "CopyRun",
        "CopyTasks",
        "CopyRetries",
        "CopyOperations",
        "CopyAttempts",
        "CopySources",
        "CopyEvidence",
        "CopyFindings",
        "CopyFindingEvidence",
        "CopyCitations",
    )
)


#: Nothing is carried out; what was done there counts; it is carried out once more.
Effects: TypeAlias = Literal["forbid", "reuse", "reissue"]


class Fork(BaseModel):
    """Where a run began that did not begin with its question."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    origin_run: UUID
    origin_checkpoint: str
    ledger_version: int
    forked_at: datetime
    #: What becomes of the effects of the run that it comes from; None: of a fork that was made before there were any.
    effects: Effects | None = None


async def copy(
    tx: Transaction,
    run_id: UUID,
    origin: UUID,
    checkpoint_id: str,
    version: int,
    effects: Effects = "forbid",
) -> None:
    """Write the rows of a new run: those of `origin` as they stood at a version of its ledger, without its effects."""
    for statement in _COPIES:
        await tx.run(statement, run_id=run_id, origin=origin, version=version)
    await tx.run(
        _RECORD,
        run_id=run_id,
        origin_run=origin,
        origin_checkpoint=checkpoint_id,
        ledger_version=version,
        effects=effects,
    )
    await audit.append(
        tx,
        run_id,
        "run_forked",
        {"origin": str(origin), "checkpoint": checkpoint_id, "effects": effects},
    )


async def review_as_of(tx: Transaction, origin: UUID, review_id: str, version: int) -> Review:
    """Return a review as it stood at a version of its run's ledger; raises NotFound."""
    row = await tx.maybe(_REVIEW, run_id=origin, review_id=review_id, version=version)
    if row is None:
        raise NotFound(
            f"run {origin} had no review {review_id} then; `perdure verify {origin}` looks into it"
        )
    return reviews.from_row(tx, row)


async def of(tx: Transaction, run_id: UUID) -> Fork | None:
    """Return where a run was forked from, None for one that began with its question."""
    row = await tx.maybe(_OF, run_id=run_id)
    return None if row is None else Fork(**row)


async def ancestry(tx: Transaction, run_id: UUID) -> list[UUID]:
    """Return a run, the run that it was forked from, the one that that was forked from, and so on."""
    found = [run_id]
    while (fork := await of(tx, found[-1])) is not None and fork.origin_run not in found:
        found.append(fork.origin_run)
    return found


async def review_of(tx: Transaction, run_id: UUID, review_id: str) -> Review:
    """Return a review of a run, or of one that it was forked from after the decision; raises NotFound."""
    for each in await ancestry(tx, run_id):
        with suppress(NotFound):
            return await reviews.get(tx, each, review_id)
    return await reviews.get(tx, run_id, review_id)


async def refuse_foreign(tx: Transaction, run_id: UUID, checkpoint_id: str) -> None:
    """Raise NotFound for a checkpoint that is not the run's; names the run that has it."""
    row = await tx.maybe(_OWNER, checkpoint_id=checkpoint_id)
    if row is not None and row["run_id"] != run_id:
        raise NotFound(
            f"checkpoint {checkpoint_id} is one of run {row['run_id']}, not of {run_id};"
            f" `perdure fork {row['run_id']} --at {checkpoint_id}` forks that run"
        )
    raise NotFound(
        f"run {run_id} has no checkpoint {checkpoint_id[:80]!r} that it can be forked at;"
        f" `perdure history {run_id}` lists those that have can_fork"
    )
