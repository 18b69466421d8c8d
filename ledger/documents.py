"""What extractors made of documents: each document is read once and known for every later corpus.

An extraction is named by the digest of the bytes and by the extractor with its version. A document that could not be
read is remembered with the reason, so that it is not tried again. Every run may use what one has read, so each row has
a seal of its own: one that does not verify counts as absent, and the document is read anew.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from psycopg.rows import DictRow

from ledger import artifacts
from ledger.canonical import digest
from ledger.db import Ledger, Transaction
from ledger.sql import load

_LOG = logging.getLogger("perdure")

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
        found = [_extraction(tx, row) for row in rows if _verifies(tx, row)]
    return {(extraction.content_artifact, extraction.extractor): extraction for extraction in found}


async def keep(ledger: Ledger, batch: Sequence[NewExtraction]) -> list[Extraction]:
    """Store bytes, texts and extractions in one transaction; an extraction replaces the one that is there."""
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
    row = {
        "content_artifact": extraction.content_artifact,
        "extractor": extraction.extractor,
        "media_type": extraction.media_type,
        "text_artifact": extraction.text_artifact,
        **tx.pack({"title": extraction.title, "reason": extraction.reason}),
    }
    key_id, seal = tx.keys.sign(*_parts(tx, row))
    return {**row, "seal_key_id": key_id, "seal": seal}


def _parts(tx: Transaction, row: Mapping[str, Any]) -> tuple[str, ...]:
    names = ("content_artifact", "extractor", "media_type", "key_id")
    text = [] if row["text_artifact"] is None else [row["text_artifact"]]
    body = bytes(row["body"] or b"").hex()
    return ("extraction", tx.tenant, *(row[name] for name in names), body, *text)


def _verifies(tx: Transaction, row: DictRow) -> bool:
    key_id, seal = row["seal_key_id"], row["seal"]
    sealed_here = seal is not None and key_id in tx.keys.ids
    if sealed_here and tx.keys.verifies(key_id, str(seal), *_parts(tx, row)):
        return True
    _LOG.warning(
        "what %s made of %s is not sealed with a key that is here; the document is read anew",
        row["extractor"],
        row["content_artifact"],
    )
    return False


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
