"""Reads the ledger's rows as the material that a researcher works on."""

from collections.abc import Sequence
from uuid import UUID

from ledger import evidence, findings, tasks
from ledger.canonical import Json
from ledger.db import Transaction
from ledger.evidence import Evidence
from ledger.findings import Finding
from ledger.sources import Source
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
        _claim(finding, [quotes[name] for name in finding.evidence_ids]) for finding in found
    )


def _claim(finding: Finding, quotes: Sequence[Evidence]) -> Claim:
    return Claim(
        finding_id=finding.finding_id,
        task_id=finding.task_id,
        text=finding.claim,
        evidence_ids=finding.evidence_ids,
        quotes=tuple(quote.exact for quote in quotes),
        confidence=finding.confidence,
        source_ids=tuple(dict.fromkeys(quote.source_id for quote in quotes)),
    )


def shown_claims(found: Sequence[Claim]) -> list[Json]:
    """Return claims as a review shows them: with the ids that an edit may leave out."""
    return [
        {"id": claim.finding_id, "claim": claim.text, "sources": list(claim.source_ids)}
        for claim in found
    ]


def shown_sources(read: Sequence[Source]) -> list[Json]:
    """Return sources as a review shows them."""
    return [{"id": each.source_id, "uri": each.uri, "status": each.status} for each in read]


def as_task(task: tasks.Task, run_question: str) -> material.Task:
    """Return a task as a researcher sees it."""
    return material.Task(task.task_id, task.question, run_question)
