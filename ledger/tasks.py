"""The plan of a run: tasks with their dependencies and how far each is.

A task is ready when it waits and everything that it depends on has ended. Changes of status are guarded statements.
"""

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias
from uuid import UUID

from psycopg.rows import DictRow
from pydantic import BaseModel, ConfigDict

from ledger.db import Transaction
from ledger.sql import load

_SQL = load("tasks")
_ADD, _LIST, _GET, _READY = _SQL["AddTask"], _SQL["ListTasks"], _SQL["GetTask"], _SQL["ReadyTasks"]
_REWORD = _SQL["RewordTask"]
_BEGIN, _END, _COUNT, _SUPERSEDE = (
    _SQL["BeginTask"],
    _SQL["EndTask"],
    _SQL["CountTasks"],
    _SQL["SupersedePlan"],
)

Status: TypeAlias = Literal["pending", "running", "complete", "retryable", "blocked", "superseded"]
Ended: TypeAlias = Literal["complete", "retryable", "blocked"]


class Task(BaseModel):
    """One task; `gaps` is what stayed unanswered, `failures` what could not be read, in words."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    task_id: str
    position: int
    question: str
    depends_on: tuple[str, ...]
    worker: str
    status: Status
    attempts: int
    #: How often a person had it researched anew.
    retries: int = 0
    reason: str | None
    gaps: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()


async def add(
    tx: Transaction, run_id: UUID, tasks: Sequence[tuple[str, str, Sequence[str]]], worker: str
) -> None:
    """Add tasks (id, question, dependencies) behind those that exist; one that exists already stays as it is."""
    start = len(await everything(tx, run_id))
    rows: list[dict[str, Any]] = [
        {
            "run_id": run_id,
            "task_id": task_id,
            "position": start + offset,
            "worker": worker,
            "depends_on": list(depends_on),
            **tx.pack({"question": question, "gaps": [], "failures": []}),
        }
        for offset, (task_id, question, depends_on) in enumerate(tasks)
    ]
    await tx.run_each(_ADD, rows)


async def reword(
    tx: Transaction, run_id: UUID, task_id: str, question: str, depends_on: Sequence[str]
) -> None:
    """Change what a waiting task asks and waits for; raises IllegalTransition for one that was begun."""
    body = tx.pack({"question": question, "gaps": [], "failures": []})
    await tx.one(_REWORD, run_id=run_id, task_id=task_id, depends_on=list(depends_on), **body)


async def supersede(tx: Transaction, run_id: UUID, kept: Sequence[str]) -> None:
    """Set aside the waiting tasks that an edited plan no longer has."""
    await tx.run(_SUPERSEDE, run_id=run_id, kept=list(kept))


async def everything(tx: Transaction, run_id: UUID) -> list[Task]:
    """Return the tasks of a run in the order of its plan."""
    return [_task(tx, row) for row in await tx.many(_LIST, run_id=run_id)]


async def get(tx: Transaction, run_id: UUID, task_id: str) -> Task:
    """Return one task."""
    return _task(tx, await tx.one(_GET, run_id=run_id, task_id=task_id))


async def ready(tx: Transaction, run_id: UUID, limit: int) -> list[Task]:
    """Return the tasks that can be worked now, at most `limit`."""
    return [_task(tx, row) for row in await tx.many(_READY, run_id=run_id, limit=limit)]


async def begin(tx: Transaction, run_id: UUID, task_id: str) -> None:
    """Begin a task, or a new attempt at one that a dead worker began; an ended one stays as it is."""
    await tx.run(_BEGIN, run_id=run_id, task_id=task_id)


async def end(
    tx: Transaction,
    run_id: UUID,
    task: Task,
    status: Ended,
    *,
    reason: str | None,
    gaps: Sequence[str],
    failures: Sequence[str],
) -> None:
    """End a task with what stayed unanswered and what could not be read."""
    body = tx.pack({"question": task.question, "gaps": list(gaps), "failures": list(failures)})
    await tx.run(_END, run_id=run_id, task_id=task.task_id, status=status, reason=reason, **body)


async def counts(tx: Transaction, run_id: UUID) -> dict[str, int]:
    """Return how many tasks stand in which status."""
    return {row["status"]: row["tasks"] for row in await tx.many(_COUNT, run_id=run_id)}


def _task(tx: Transaction, row: DictRow) -> Task:
    body = tx.unpack(row)
    columns = {name: value for name, value in row.items() if name not in {"key_id", "body"}}
    return Task(**columns, **body)
