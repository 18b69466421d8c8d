"""Reads the ledger's rows as the material that a researcher works on."""

from collections.abc import Sequence
from uuid import UUID

from ledger import evidence, findings, tasks
from ledger.db import Transaction
from ledger.findings import Finding
from nodes import material
from nodes.material import Claim


async def claims(tx: Transaction, run_id: UUID, task_id: str | None = None) -> tuple[Claim, ...]:
    """Return the claims of a run, or of one task, with their exact quotes."""
    found = [
        finding
        for finding in await findings.standing(tx, run_id, task_id)
        if finding.kind == "claim"
    ]
    quotes = await evidence.some(
        tx, run_id, [name for finding in found for name in finding.evidence_ids]
    )
    return tuple(
        _claim(finding, [quotes[name].exact for name in finding.evidence_ids]) for finding in found
    )


def _claim(finding: Finding, quotes: Sequence[str]) -> Claim:
    return Claim(
        finding_id=finding.finding_id,
        task_id=finding.task_id,
        text=finding.claim,
        evidence_ids=finding.evidence_ids,
        quotes=tuple(quotes),
        confidence=finding.confidence,
    )


def as_task(task: tasks.Task, run_question: str) -> material.Task:
    """Return a task as a researcher sees it."""
    return material.Task(task.task_id, task.question, run_question)
