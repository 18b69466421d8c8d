"""What ingesting a corpus needs to be kept: which bytes were read with which extractor, and what came of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Extraction:
    """What reading these bytes with this extractor came to; `reason` is set, and `text_artifact` not, when refused."""

    content_artifact: str
    extractor: str
    text_artifact: str | None
    title: str
    media_type: str
    reason: str | None


@dataclass(frozen=True, slots=True)
class NewExtraction:
    """An extraction with its bytes and its text, to be kept; exactly one of `text` and `reason` is set."""

    content: bytes
    media_type: str
    extractor: str
    title: str
    text: str | None
    reason: str | None


class DocumentStore(Protocol):
    """Keeps documents and the text that was extracted from them."""

    async def known(self, keys: Sequence[tuple[str, str]]) -> dict[tuple[str, str], Extraction]:
        """Return what is kept of these (content artifact, extractor) pairs; pairs not kept are absent."""
        ...

    async def keep(self, batch: Sequence[NewExtraction]) -> list[Extraction]:
        """Store a batch in one transaction, in the order given; storing it again changes nothing."""
        ...
