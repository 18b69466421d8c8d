"""What extractors made of documents: each document is read once and known for every later corpus.

An extraction is named by the digest of the bytes and by the extractor with its version. A document that could not be
read is remembered with the reason, so that it is not tried again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from psycopg.rows import DictRow

from ledger import artifacts
from ledger.canonical import digest
from ledger.db import Ledger, Transaction
from ledger.sql import load

_SQL = load("documents")
_KNOWN, _RECORD = _SQL["KnownExtractions"], _SQL["RecordExtraction"]


@dataclass(frozen=True, slots=True)
class Extraction:
    """What is known of some bytes; `reason` says why there is no text."""

    content_artifact: str
    extractor: str
    text_artifact: str | None
    title: str
    media_type: str
    reason: str | None


@dataclass(frozen=True, slots=True)
class NewExtraction:
    """Bytes and what an extractor made of them; exactly one of `text` and `reason` is set."""

    content: bytes
    media_type: str
    extractor: str
    title: str
    text: str | None
    reason: str | None


async def known(
    ledger: Ledger, keys: Sequence[tuple[str, str]]
) -> dict[tuple[str, str], Extraction]:
    """Return what is known of these (content digest, extractor) pairs."""
    async with ledger.transaction() as tx:
        rows = await tx.many(
            _KNOWN,
            contents=[content for content, _ in keys],
            extractors=[extractor for _, extractor in keys],
        )
        found = [_extraction(tx, row) for row in rows]
    return {(extraction.content_artifact, extraction.extractor): extraction for extraction in found}


async def keep(ledger: Ledger, batch: Sequence[NewExtraction]) -> list[Extraction]:
    """Store bytes, texts and extractions in one transaction; what is stored already stays as it is."""
    async with ledger.transaction() as tx:
        return await record(tx, batch)


async def record(tx: Transaction, batch: Sequence[NewExtraction]) -> list[Extraction]:
    """Store a batch within a transaction; the bytes of a document that was refused are not kept."""
    found = [_made(new) for new in batch]
    contents: dict[str, tuple[bytes, str]] = {}
    for new, extraction in zip(batch, found, strict=True):
        if new.text is not None and extraction.text_artifact is not None:
            contents[extraction.content_artifact] = (new.content, new.media_type)
            contents[extraction.text_artifact] = (new.text.encode(), "text/plain; charset=utf-8")
    await artifacts.put_many(tx, contents)
    ordered = sorted(
        found, key=lambda extraction: (extraction.content_artifact, extraction.extractor)
    )
    await tx.run_each(_RECORD, [_row(tx, extraction) for extraction in ordered])
    return found


def _made(new: NewExtraction) -> Extraction:
    text_artifact = None if new.text is None else digest(new.text.encode())
    return Extraction(
        digest(new.content), new.extractor, text_artifact, new.title, new.media_type, new.reason
    )


def _row(tx: Transaction, extraction: Extraction) -> dict[str, Any]:
    return {
        "content_artifact": extraction.content_artifact,
        "extractor": extraction.extractor,
        "media_type": extraction.media_type,
        "text_artifact": extraction.text_artifact,
        **tx.pack({"title": extraction.title, "reason": extraction.reason}),
    }


def _extraction(tx: Transaction, row: DictRow) -> Extraction:
    body = tx.unpack(row)
    return Extraction(
        content_artifact=row["content_artifact"],
        extractor=row["extractor"],
        text_artifact=row["text_artifact"],
        title=body["title"],
        media_type=row["media_type"],
        reason=body["reason"],
    )
