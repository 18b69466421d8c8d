"""Findings: what a run claims, the evidence for it, and what checking it came to.

Disagreements and open questions are findings of their own kind. A finding is replaced by another, never rewritten; only
its verdict, its flag and what supersedes it change.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, TypeAlias
from uuid import UUID

from psycopg.rows import DictRow
from pydantic import BaseModel, ConfigDict

from ledger.db import Transaction
from ledger.ids import derived_id
from ledger.sql import load

_SQL = load("findings")
_RECORD, _SUPPORT, _LIST = _SQL["RecordFinding"], _SQL["SupportFinding"], _SQL["ListFindings"]
_VERDICT, _FLAG, _SUPERSEDE = _SQL["SetVerdict"], _SQL["FlagFinding"], _SQL["SupersedeFinding"]
_RESTING = _SQL["FindingsRestingOn"]

Kind: TypeAlias = Literal["claim", "disagreement", "open_question"]
Verdict: TypeAlias = Literal["supported", "contradicted", "insufficient", "not-checked"]


class NewFinding(BaseModel):
    """A finding to record; `about` names the findings that a disagreement is between."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    task_id: str
    attempt: int
    #: The retry that found it first, 0 for none.
    retry: int = 0
    kind: Kind
    claim: str
    evidence_ids: tuple[str, ...] = ()
    about: tuple[str, ...] = ()
    confidence: float = 1.0


class Finding(NewFinding):
    """A recorded finding."""

    finding_id: str
    verdict: Verdict
    flagged: bool
    superseded_by: str | None
    created_at: datetime


def finding_id(run_id: UUID, finding: NewFinding) -> str:
    """Return the id of a finding: the same claim of a task on the same evidence is one finding."""
    named = [
        finding.task_id,
        finding.kind,
        finding.claim,
        list(finding.evidence_ids),
        list(finding.about),
    ]
    return derived_id("fnd", str(run_id), named)


async def record(tx: Transaction, run_id: UUID, findings: Sequence[NewFinding]) -> list[str]:
    """Record findings with their evidence, which must be recorded already; returns their ids."""
    names = [finding_id(run_id, finding) for finding in findings]
    await tx.run_each(
        _RECORD, [_row(tx, run_id, *pair) for pair in zip(names, findings, strict=True)]
    )
    await tx.run_each(
        _SUPPORT,
        [
            {"run_id": run_id, "finding_id": name, "position": position, "evidence_id": evidence}
            for name, finding in zip(names, findings, strict=True)
            for position, evidence in enumerate(finding.evidence_ids)
        ],
    )
    return names


async def standing(tx: Transaction, run_id: UUID, task_id: str | None = None) -> list[Finding]:
    """Return the findings of a run, or of one task, that nothing supersedes: by task, the most confident first."""
    return [_finding(tx, row) for row in await tx.many(_LIST, run_id=run_id, task_id=task_id)]


async def set_verdicts(tx: Transaction, run_id: UUID, verdicts: Mapping[str, Verdict]) -> None:
    """Record what checking came to, by finding id."""
    rows = [
        {"run_id": run_id, "finding_id": name, "verdict": verdict}
        for name, verdict in verdicts.items()
    ]
    await tx.run_each(_VERDICT, rows)


async def flag(tx: Transaction, run_id: UUID, finding_ids: Sequence[str]) -> None:
    """Mark findings that a person should look at."""
    await tx.run_each(_FLAG, [{"run_id": run_id, "finding_id": name} for name in finding_ids])


async def supersede(tx: Transaction, run_id: UUID, finding_ids: Sequence[str], by: str) -> None:
    """Set findings aside; `by` names the finding, review or attempt that replaces them."""
    await tx.run_each(
        _SUPERSEDE, [{"run_id": run_id, "finding_id": name, "by": by} for name in finding_ids]
    )


def set_aside_by(number: int) -> str:
    """Return what a finding is superseded by while this retry of its task is not settled."""
    return f"retry {number}"


async def resting_on(tx: Transaction, run_id: UUID, source_ids: Sequence[str]) -> list[str]:
    """Return the findings that rest on a quote from one of these sources."""
    rows = await tx.many(_RESTING, run_id=run_id, source_ids=list(source_ids))
    return [row["finding_id"] for row in rows]


def _row(tx: Transaction, run_id: UUID, name: str, finding: NewFinding) -> dict[str, Any]:
    columns = finding.model_dump(include={"task_id", "attempt", "retry", "kind", "confidence"})
    body = tx.pack({"claim": finding.claim, "about": list(finding.about)})
    return {"run_id": run_id, "finding_id": name, **columns, **body}


def _finding(tx: Transaction, row: DictRow) -> Finding:
    body = tx.unpack(row)
    columns = {name: value for name, value in row.items() if name not in {"key_id", "body"}}
    return Finding(**columns, **body)
