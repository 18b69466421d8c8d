"""Evidence: exact quotes, cut by code from stored text and never written by anyone.

A quote is kept with its position and with what stands around it (W3C Web Annotation: TextPositionSelector and
TextQuoteSelector), so that it can be found again in another edition of its source.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from psycopg.rows import DictRow
from pydantic import BaseModel, ConfigDict

from ledger import artifacts
from ledger.db import Transaction
from ledger.errors import QuoteMismatch
from ledger.ids import derived_id
from ledger.sql import load

_SQL = load("evidence")
_RECORD, _LIST = _SQL["RecordEvidence"], _SQL["ListEvidence"]

# What the Web Annotation clients keep on either side: enough to tell two equal quotes of a page apart.
CONTEXT_CHARACTERS = 32


@dataclass(frozen=True, slots=True)
class Position:
    """The stretch [start, end) of a source's extracted text, in code points."""

    source_id: str
    text_artifact: str
    start: int
    end: int


class Evidence(BaseModel):
    """One exact quote: `text[start:end] == exact` for the text of `text_artifact`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    evidence_id: str
    source_id: str
    text_artifact: str
    start: int
    end: int
    exact: str
    prefix: str
    suffix: str


def cut(text: str, run_id: UUID, position: Position) -> Evidence:
    """Cut the quote at a position; raises QuoteMismatch if the text has no such place."""
    start, end = position.start, position.end
    if not 0 <= start < end <= len(text):
        raise QuoteMismatch(
            f"{position.text_artifact} has {len(text)} characters, no place {start}:{end}"
        )
    return Evidence(
        evidence_id=derived_id(
            "ev", str(run_id), position.source_id, position.text_artifact, start, end
        ),
        source_id=position.source_id,
        text_artifact=position.text_artifact,
        start=start,
        end=end,
        exact=text[start:end],
        prefix=text[max(0, start - CONTEXT_CHARACTERS) : start],
        suffix=text[end : end + CONTEXT_CHARACTERS],
    )


async def record(tx: Transaction, run_id: UUID, positions: Sequence[Position]) -> list[Evidence]:
    """Cut and store the quotes at these positions, reading each text once; returns them in order."""
    texts = await artifacts.get_texts(tx, {position.text_artifact for position in positions})
    found = [cut(texts[position.text_artifact], run_id, position) for position in positions]
    await tx.run_each(_RECORD, [_row(tx, run_id, evidence) for evidence in found])
    return found


async def some(tx: Transaction, run_id: UUID, evidence_ids: Sequence[str]) -> dict[str, Evidence]:
    """Return the evidence with these ids, by id."""
    rows = await tx.many(_LIST, run_id=run_id, evidence_ids=list(evidence_ids))
    return {row["evidence_id"]: _evidence(tx, row) for row in rows}


async def everything(tx: Transaction, run_id: UUID) -> dict[str, Evidence]:
    """Return the evidence of a run by id."""
    rows = await tx.many(_LIST, run_id=run_id, evidence_ids=None)
    return {row["evidence_id"]: _evidence(tx, row) for row in rows}


def _row(tx: Transaction, run_id: UUID, evidence: Evidence) -> dict[str, Any]:
    body = evidence.model_dump(include={"exact", "prefix", "suffix"})
    columns = evidence.model_dump(
        include={"evidence_id", "source_id", "text_artifact", "start", "end"}
    )
    return {"run_id": run_id, **columns, **tx.pack(body)}


def _evidence(tx: Transaction, row: DictRow) -> Evidence:
    body = tx.unpack(row)
    columns = {name: value for name, value in row.items() if name not in {"key_id", "body"}}
    return Evidence(**columns, **body)
