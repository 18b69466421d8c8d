"""Why a run stands where it stands: its recoveries, each with what came of it, told from the ledger alone.

What a recovery found is its stored report. What it led to (answers reused, calls made again, answers made use of) is read
from the journal, by the fences of the attempts: it stays true when the worker that recovered died the next moment.
"""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from ledger import forks, journal, recoveries, retries, workflow_migrations
from ledger.db import Transaction
from ledger.journal import Attempt, Operation
from ledger.recoveries import Recovery, Report


async def explained(tx: Transaction, run_id: UUID) -> list[dict[str, Any]]:
    """Return the recoveries of a run, newest first, as `perdure explain --json` prints them."""
    found = await recoveries.newest_first(tx, run_id)
    operations = await journal.operations(tx, run_id)
    # The fence of the worker that came after: what has it or a later one is not this recovery's doing.
    until = [None, *(recovery.fence for recovery in found)]
    return [
        _of(recovery, operations, next_fence)
        for recovery, next_fence in zip(found, until, strict=False)
    ]


def _of(recovery: Recovery, operations: Sequence[Operation], until: int | None) -> dict[str, Any]:
    report = recovery.report or Report(why="the worker died before its recovery had ended")
    since = range(recovery.fence, until) if until is not None else None
    return {
        "at": recovery.began_at,
        "worker": recovery.worker,
        "fence": recovery.fence,
        "outcome": recovery.outcome,
        "loaded_checkpoint": report.loaded_checkpoint,
        "boundary": report.boundary,
        "rejected": [each.model_dump() for each in report.rejected],
        "reruns": list(report.reruns),
        "damage": list(report.damage),
        "reused": [each.operation_id for each in operations if _accepted_before(each, recovery)],
        "repeated": [each.operation_id for each in operations if _repeated(each, recovery, since)],
        "reconciled": _reconciled(operations, report),
        "retries": list(report.retries),
        "asked": [each.model_dump() for each in report.asked],
        "next": list(report.next),
        "why": report.why,
    }


def _accepted_before(operation: Operation, recovery: Recovery) -> bool:
    return any(
        attempt.accepted and attempt.ended_at is not None and attempt.ended_at < recovery.began_at
        for attempt in operation.attempts
    )


def _repeated(operation: Operation, recovery: Recovery, since: range | None) -> bool:
    """Whether a call was made again because nobody knew how it had ended."""
    lost = any(
        _unanswered(attempt) and attempt.fence < recovery.fence for attempt in operation.attempts
    )
    again = any(
        attempt.fence >= recovery.fence if since is None else attempt.fence in since
        for attempt in operation.attempts
    )
    return lost and again


def _unanswered(attempt: Attempt) -> bool:
    return attempt.outcome == "started" and not attempt.received


def _reconciled(operations: Sequence[Operation], report: Report) -> list[dict[str, Any]]:
    """Answers that had come and were not made use of, and consequences left in the middle; and what became of each."""
    received = set(report.at_hand.received)
    answers = [
        {"key": each.operation_id, "outcome": each.status}
        for each in operations
        if each.operation_id in received
    ]
    return answers + [{"key": each.key, "outcome": each.after} for each in report.effects]


async def origin(tx: Transaction, run_id: UUID) -> dict[str, Any] | None:
    """Return where a run was forked from, None for one that began with its question."""
    fork = await forks.of(tx, run_id)
    return None if fork is None else fork.model_dump(mode="json")


async def retried(tx: Transaction, run_id: UUID) -> list[dict[str, Any]]:
    """Return the retries of a run's branches, newest first, each with the rule and what it came to."""
    return [each.model_dump(mode="json") for each in await retries.newest_first(tx, run_id)]


async def migrations(tx: Transaction, run_id: UUID) -> list[dict[str, Any]]:
    """Return the migrations of a run to later versions of the workflow, newest first."""
    found = await workflow_migrations.newest_first(tx, run_id)
    return [each.model_dump(mode="json") for each in found]
