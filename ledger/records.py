"""Checkpoint records: the application's view of every checkpoint, readable without LangGraph.

A record commits in the transaction of the checkpoint that it describes, on the saver's own connection, and is sealed with it.
Version 2 says which version of the run's ledger the checkpoint rests on; that version has the sources, findings and attempts.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Literal, cast
from uuid import UUID

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from ledger import checkpoint_checks
from ledger.db import Transaction
from ledger.errors import SealKeyMissing
from ledger.keys import KeyRing
from ledger.sql import load
from ledger.stamps import Stamp
from ledger.stored_checkpoints import Stored

_SQL = load("records")
_LIST = _SQL["ListRecords"]
_STORED = _SQL["StoredCheckpoints"]

#: The version of what a record holds.
SCHEMA_VERSION = 2

# What stands for a value that nobody here could have written.
_UNREADABLE: dict[str, Any] = {
    "parent_checkpoint": None,
    "schema_version": 0,
    "workflow_version": 0,
    "fingerprint": "?",
    "boundary": "?",
    "phase": "?",
    "step": 0,
    "tasks": {},
    "fence": None,
    "created_at": datetime.fromtimestamp(0, UTC),
}

#: "unknown": the key that sealed it is not here.
Seal = Literal["valid", "broken", "missing", "rejected", "unknown"]


class CheckpointRecord(BaseModel):
    """One checkpoint as the application sees it; what came with version 2 is None in records of version 1."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    checkpoint_id: str
    checkpoint_ns: str
    parent_checkpoint: str | None
    schema_version: int
    workflow_version: int
    fingerprint: str
    boundary: str
    phase: str
    step: int
    tasks: dict[str, int]
    fence: int | None
    created_at: datetime
    #: The newest sealed version of the run's ledger when the checkpoint was stored, and that version's seal.
    ledger_version: int | None = None
    ledger_seal: str | None = None
    #: The working summary.
    summary_artifact: str | None = None
    #: The reviews that are asked, and how often decisions were applied.
    approval: dict[str, Any] | None = None
    #: The number of the wave that is out, and the status of each of its tasks.
    wave: dict[str, Any] | None = None
    #: What is to be done outside, by key, with its status.
    effects: dict[str, str] | None = None
    seal: Seal = "missing"
    #: What is wrong with the checkpoint, in words.
    problems: tuple[str, ...] = ()

    @field_validator("approval", mode="before")
    @classmethod
    def _several_at_once(cls, value: Any) -> Any:
        """Read what was written when one review was asked at a time."""
        if not isinstance(value, dict):
            return value
        told = cast("dict[str, Any]", value)
        if isinstance(told.get("open"), list):
            return told
        asked = {"review_id": told.get("open"), "kind": told.get("kind")}
        return {"open": [asked] if told.get("open") else [], "decided": told.get("decided", 0)}

    @property
    def stamp(self) -> Stamp:
        """What it bears of the workflow that stored it."""
        return Stamp(self.workflow_version, self.fingerprint)

    @property
    def can_fork(self) -> bool:
        """Whether a new run can begin from it."""
        return self.seal == "valid" and self.is_a_beginning

    @property
    def is_a_beginning(self) -> bool:
        """Whether there is a next step, and a history of the ledger to begin with: not in a branch, nor at the end."""
        placed = self.checkpoint_ns == "" and self.boundary != "output_stored"
        return placed and self.ledger_version is not None


async def newest_first(tx: Transaction, run_id: UUID) -> list[CheckpointRecord]:
    """Return the records of a run's own checkpoints and of its branches', newest first; seals are not looked at."""
    rows: list[dict[str, Any]] = await tx.many(_LIST, run_id=run_id)
    return [_record(row) for row in rows]


def _record(row: dict[str, Any]) -> CheckpointRecord:
    """Return the record of a row; of one that was edited what can be shown: its seal says that it is broken."""
    try:
        return CheckpointRecord(**row)
    except ValidationError as error:
        edited = {str(problem["loc"][0]) for problem in error.errors(include_input=False)}
        kept = {name: value for name, value in row.items() if name not in edited}
        return CheckpointRecord(**{**_UNREADABLE, **kept})


async def verified(tx: Transaction, run_id: UUID) -> list[CheckpointRecord]:
    """Return the same, each with what its seal says."""
    found = await newest_first(tx, run_id)
    told: list[CheckpointRecord] = []
    for start in range(0, len(found), BATCH):
        told += await _batch_verified(tx, run_id, found[start : start + BATCH])
    return told


# Checkpoints in memory at once, each of a few kB and with its writes.
BATCH = 100


async def _batch_verified(
    tx: Transaction, run_id: UUID, batch: Sequence[CheckpointRecord]
) -> list[CheckpointRecord]:
    rows: list[dict[str, Any]] = await tx.many(
        _STORED,
        thread_id=str(run_id),
        namespaces=[record.checkpoint_ns for record in batch],
        checkpoint_ids=[record.checkpoint_id for record in batch],
    )
    return [
        record.model_copy(update=seal_of(tx.keys, tx.tenant, Stored(**row)))
        for record, row in zip(batch, rows, strict=True)
    ]


def seal_of(keys: KeyRing, tenant: str, stored: Stored) -> dict[str, Any]:
    """Return `seal` and `problems` of a record."""
    try:
        problems = checkpoint_checks.all_problems(keys, tenant, stored)
    except SealKeyMissing as error:
        return {"seal": "unknown", "problems": (str(error),)}
    if stored.rejected is not None:
        return {"seal": "rejected", "problems": (stored.rejected,)}
    if stored.seal is None:
        return {"seal": "missing", "problems": tuple(problems)}
    return {"seal": "broken" if problems else "valid", "problems": tuple(problems)}
