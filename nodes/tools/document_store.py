"""What ingesting a corpus needs to be kept: which bytes were read with which extractor, and what came of it."""

from collections.abc import Sequence
from typing import Protocol

from ledger.documents import Extraction, NewExtraction


class DocumentStore(Protocol):
    """Keeps documents and the text that was extracted from them."""

    async def known(self, keys: Sequence[tuple[str, str]]) -> dict[tuple[str, str], Extraction]:
        """Return what is kept of these (content artifact, extractor) pairs; pairs not kept are absent."""
        ...

    async def keep(self, batch: Sequence[NewExtraction]) -> list[Extraction]:
        """Store a batch in one transaction, in the order given; storing it again changes nothing."""
        ...
