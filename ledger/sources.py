"""The source ledger: every document that a run read, with the digests of its bytes and of its extracted text."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal, TypeAlias
from uuid import UUID

from psycopg.rows import DictRow
from pydantic import BaseModel, ConfigDict, Field

from ledger import audit
from ledger.canonical import Json
from ledger.db import Transaction
from ledger.ids import derived_id
from ledger.sql import load

_SQL = load("sources")
_RECORD, _LIST, _GET = _SQL["RecordSource"], _SQL["ListSources"], _SQL["GetSources"]
_EXCLUDE, _ACCEPT = _SQL["ExcludeSource"], _SQL["AcceptSource"]
_SET_STATUS = _SQL["SetSourceStatus"]

#: What the audit log calls a status that followed a recheck.
RECHECKED = "source_rechecked"

Status: TypeAlias = Literal["retained", "changed", "unavailable", "forbidden"]


class NewSource(BaseModel):
    """A document as it was read; `metadata` is what the transfer said of it (HTTP headers, a file's size)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    uri: str
    canonical_uri: str
    title: str
    content_artifact: str
    text_artifact: str
    extractor: str
    redirects: tuple[str, ...] = ()
    metadata: dict[str, Any] = Field(default_factory=dict[str, Any])
    status: Status = "retained"


class Source(NewSource):
    """A recorded source."""

    source_id: str
    retrieved_at: datetime
    #: The review that left it out, or that took it although it is not retained as it was.
    excluded_by: str | None = None
    accepted_by: str | None = None

    @property
    def is_flagged(self) -> bool:
        """Whether a person should look at it, and none has."""
        return self.status != "retained" and self.excluded_by is None and self.accepted_by is None


def source_id(run_id: UUID, source: NewSource) -> str:
    """Return the id of a source: the same bytes from the same place are one source of a run."""
    return derived_id(
        "src", str(run_id), source.canonical_uri, source.content_artifact, source.text_artifact
    )


async def record(tx: Transaction, run_id: UUID, source: NewSource) -> str:
    """Record a source unless it is recorded, and return its id; its artifacts must be stored already."""
    name = source_id(run_id, source)
    body: dict[str, Json] = {
        "uri": source.uri,
        "canonical_uri": source.canonical_uri,
        "title": source.title,
        "redirects": list(source.redirects),
        "metadata": source.metadata,
    }
    columns = source.model_dump(
        include={"status", "content_artifact", "text_artifact", "extractor"}
    )
    await tx.run(_RECORD, run_id=run_id, source_id=name, **columns, **tx.pack(body))
    return name


async def everything(tx: Transaction, run_id: UUID) -> list[Source]:
    """Return the sources of a run in the order of their reading."""
    return [_source(tx, row) for row in await tx.many(_LIST, run_id=run_id)]


async def some(tx: Transaction, run_id: UUID, source_ids: list[str]) -> list[Source]:
    """Return the sources with these ids, in their order."""
    rows = {
        row["source_id"]: row for row in await tx.many(_GET, run_id=run_id, source_ids=source_ids)
    }
    return [_source(tx, rows[name]) for name in source_ids if name in rows]


async def exclude(tx: Transaction, run_id: UUID, source_ids: Sequence[str], review_id: str) -> None:
    """Say that nothing may rest on these sources any more, by this review; ids of anything else are passed over."""
    await tx.run_each(_EXCLUDE, _named(run_id, source_ids, review_id))


async def accept(tx: Transaction, run_id: UUID, source_ids: Sequence[str], review_id: str) -> None:
    """Say that these sources are used as they are, by this review."""
    await tx.run_each(_ACCEPT, _named(run_id, source_ids, review_id))


async def set_status(tx: Transaction, run_id: UUID, source_id: str, status: Status) -> None:
    """Say how a source stands since it was read again; what was kept of it stays."""
    row = await tx.maybe(_SET_STATUS, run_id=run_id, source_id=source_id, status=status)
    if row is not None:
        detail: dict[str, Json] = {"source": source_id, "from": row["status"], "to": status}
        await audit.append(tx, run_id, RECHECKED, detail)


async def found_again(tx: Transaction, run_id: UUID, source_id: str) -> None:
    """Give a source that is as it was read the status back that it had before it was read again."""
    log = await audit.entries(tx, run_id)
    before = [
        each.detail["from"]
        for each in log
        if each.event == RECHECKED and each.detail["source"] == source_id
    ]
    if before:
        await set_status(tx, run_id, source_id, before[0])


def _named(run_id: UUID, source_ids: Sequence[str], review_id: str) -> list[dict[str, Any]]:
    return [{"run_id": run_id, "source_id": name, "review_id": review_id} for name in source_ids]


def _source(tx: Transaction, row: DictRow) -> Source:
    body = tx.unpack(row)
    columns = {name: value for name, value in row.items() if name not in {"key_id", "body"}}
    return Source(**columns, **body)
