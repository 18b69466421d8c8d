"""Checkpoint records: the application's view of every checkpoint, readable without LangGraph.

A record commits in the transaction of the checkpoint that it describes, on the saver's own connection; it is only added.
"""

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from ledger.db import Transaction
from ledger.sql import load

_SQL = load("records")
RECORD = _SQL["RecordCheckpoint"]
_LIST = _SQL["ListRecords"]

#: The version of what a record holds.
SCHEMA_VERSION = 1


class CheckpointRecord(BaseModel):
    """One checkpoint as the application sees it."""

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
    seal: Literal["valid", "broken", "missing"] = "missing"


async def newest_first(tx: Transaction, run_id: UUID) -> list[CheckpointRecord]:
    """Return the records of a run's own checkpoints and of its branches', newest first."""
    rows: list[dict[str, Any]] = await tx.many(_LIST, run_id=run_id)
    return [CheckpointRecord(**row) for row in rows]
