"""Citations: the numbers in a report, each standing for one evidence id, and so for one exact quote."""

from collections.abc import Sequence
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from ledger.db import Transaction
from ledger.sql import load

_SQL = load("citations")
_RECORD, _LIST = _SQL["RecordCitation"], _SQL["ListCitations"]


class Citation(BaseModel):
    """One numbered citation with the quote, its place and the artifacts that prove it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    number: int
    evidence_id: str
    source_uri: str
    exact: str
    start: int
    end: int
    text_artifact: str
    content_artifact: str


async def record(
    tx: Transaction, run_id: UUID, report_artifact: str, evidence_ids: Sequence[str]
) -> None:
    """Record the citations of a report, numbered from 1 in this order; evidence must be recorded already."""
    rows = [
        {
            "run_id": run_id,
            "report_artifact": report_artifact,
            "number": number,
            "evidence_id": evidence_id,
        }
        for number, evidence_id in enumerate(evidence_ids, start=1)
    ]
    await tx.run_each(_RECORD, rows)


async def of_report(tx: Transaction, run_id: UUID, report_artifact: str) -> list[Citation]:
    """Return the citations of a report by number."""
    rows = await tx.many(_LIST, run_id=run_id, report_artifact=report_artifact)
    return [
        Citation(
            number=row["number"],
            evidence_id=row["evidence_id"],
            source_uri=tx.unpack({"key_id": row["source_key_id"], "body": row["source_body"]})[
                "uri"
            ],
            exact=tx.unpack(row)["exact"],
            start=row["start"],
            end=row["end"],
            text_artifact=row["text_artifact"],
            content_artifact=row["content_artifact"],
        )
        for row in rows
    ]
