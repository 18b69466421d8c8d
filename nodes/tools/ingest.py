"""Ingests a corpus: finds its documents, reads the new ones in parallel, keeps them, and says what it consists of.

What is known by the digest of its bytes and its extractor is not read again, a refusal neither. However large the corpus
is, what is in memory at any moment is one batch and `IN_FLIGHT_BYTES_MAX`; what was kept stays kept when the ingest is
cancelled or killed.
"""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from ledger.documents import Extraction, NewExtraction
from nodes.material import Document, Skipped
from nodes.tools.corpus_files import CorpusEmpty, Found, find
from nodes.tools.document_store import DocumentStore
from nodes.tools.documents import DOCUMENT_BYTES_MAX, Unreadable, artifact_of, extractor_of
from nodes.tools.extractors import ExtractorLost, Extractors
from nodes.tools.manifest import Manifest

# A round trip and a thread switch for this many documents cost less than hashing them.
READ_DOCUMENTS_MAX = 128
READ_BYTES_MAX = 8 * 1024 * 1024

# The largest document is worked alone; a worker holds its own copy of what it reads.
IN_FLIGHT_BYTES_MAX = DOCUMENT_BYTES_MAX
# Enough that no worker waits while the next batch is read.
IN_FLIGHT_PER_WORKER_MAX = 16

# Few enough transactions for a corpus of thousands, and little lost by a kill.
KEEP_DOCUMENTS_MAX = 64
KEEP_BYTES_MAX = 8 * 1024 * 1024
KEEP_SECONDS_MAX = 1.0

# (content artifact, extractor)
Key = tuple[str, str]


class Progress(Protocol):
    """Told after each document how many of all are settled."""

    def __call__(self, done: int, total: int, uri: str) -> None:
        """Show it; must not block."""
        ...


@dataclass(frozen=True, slots=True)
class _Read:
    """A document of which we have the bytes, or the reason why we have not."""

    found: Found
    content: bytes = b""
    media_type: str = ""
    key: Key | None = None
    reason: str = ""


async def ingest(
    paths: Sequence[str], store: DocumentStore, progress: Progress, *, workers: int
) -> Manifest:
    """Bring the documents of these files and folders into the store and return what the corpus consists of.

    `workers` processes read documents; none is started when there is nothing new. Raises `CorpusMissing` and
    `CorpusEmpty`, and what the store raises.
    """
    found, skipped = await asyncio.to_thread(find, paths)
    async with Extractors(workers) as extractors:
        ingestion = _Ingestion(store, extractors, progress, len(found), workers)
        try:
            for batch in _batches(found):
                await ingestion.take(await asyncio.to_thread(_read_all, batch))
            await ingestion.finish()
        finally:
            await ingestion.abandon()
    manifest = ingestion.manifest(skipped)
    if not manifest.documents:
        raise CorpusEmpty(manifest.skipped)
    return manifest


class _Ingestion:
    """One ingest under way: what was read in the order of the corpus, what is being extracted, what waits to be kept."""

    def __init__(
        self,
        store: DocumentStore,
        extractors: Extractors,
        progress: Progress,
        total: int,
        workers: int,
    ) -> None:
        self._store = store
        self._extractors = extractors
        self._progress = progress
        self._total = total
        self._in_flight_max = workers * IN_FLIGHT_PER_WORKER_MAX
        self._done = 0
        self._order: list[tuple[Found, Key | None, str]] = []
        self._outcomes: dict[Key, Extraction] = {}
        self._lost: dict[Key, str] = {}
        self._begun: set[Key] = set()
        self._in_flight: dict[asyncio.Task[NewExtraction], _Read] = {}
        self._fresh: list[NewExtraction] = []
        self._kept_at = asyncio.get_running_loop().time()

    async def take(self, batch: Sequence[_Read]) -> None:
        """Begin to extract what of a batch is new; waits while enough is in flight."""
        asked = {read.key for read in batch if read.key} - self._outcomes.keys() - self._begun
        self._outcomes |= await self._store.known(sorted(asked))
        for read in batch:
            self._order.append((read.found, read.key, read.reason))
            if read.key is None or read.key in self._outcomes or read.key in self._begun:
                self._settled(read)
                continue
            while self._is_full(len(read.content)):
                await self._wait()
            self._begun.add(read.key)
            self._in_flight[asyncio.create_task(self._extracted(read))] = read

    async def finish(self) -> None:
        """Wait for what is in flight and keep the rest."""
        while self._in_flight:
            await self._wait()
        await self._keep()

    async def abandon(self) -> None:
        """Stop what is still in flight."""
        for task in self._in_flight:
            task.cancel()
        await asyncio.gather(*self._in_flight, return_exceptions=True)

    def manifest(self, skipped: Sequence[Skipped]) -> Manifest:
        """Return the corpus in the order in which it was found, after what was skipped in finding it."""
        documents: list[Document] = []
        refused: list[Skipped] = []
        for found, key, reason in self._order:
            match self._outcomes.get(key) if key else None:
                case Extraction(text_artifact=str(text_artifact)) as kept:
                    title = kept.title or found.name
                    documents.append(
                        Document(
                            found.uri, title, kept.content_artifact, text_artifact, kept.extractor
                        )
                    )
                case Extraction(reason=why):
                    refused.append(Skipped(found.uri, why or ""))
                case None:
                    refused.append(Skipped(found.uri, self._lost[key] if key else reason))
        return Manifest(tuple(documents), (*skipped, *refused))

    def _is_full(self, size: int) -> bool:
        in_flight = sum(len(read.content) for read in self._in_flight.values())
        return len(self._in_flight) >= self._in_flight_max or (
            in_flight > 0 and in_flight + size > IN_FLIGHT_BYTES_MAX
        )

    async def _wait(self) -> None:
        """Wait until something was extracted or it is time to keep what was."""
        done, _ = await asyncio.wait(
            self._in_flight, timeout=KEEP_SECONDS_MAX, return_when=asyncio.FIRST_COMPLETED
        )
        for task in done:
            read = self._in_flight.pop(task)
            try:
                self._fresh.append(task.result())
            except ExtractorLost as lost:
                assert read.key is not None
                self._lost[read.key] = lost.reason
            self._settled(read)
        if self._is_time_to_keep():
            await self._keep()

    async def _extracted(self, read: _Read) -> NewExtraction:
        extractor = extractor_of(read.media_type)
        try:
            extracted = await self._extractors.extract(read.content, read.media_type)
        except ExtractorLost:
            raise
        except Unreadable as refusal:
            return NewExtraction(
                read.content, read.media_type, extractor, title="", text=None, reason=refusal.reason
            )
        return NewExtraction(
            read.content,
            read.media_type,
            extractor,
            title=extracted.title,
            text=extracted.text,
            reason=None,
        )

    def _is_time_to_keep(self) -> bool:
        waited = asyncio.get_running_loop().time() - self._kept_at
        return (
            len(self._fresh) >= KEEP_DOCUMENTS_MAX
            or waited >= KEEP_SECONDS_MAX
            or sum(len(new.content) for new in self._fresh) >= KEEP_BYTES_MAX
        )

    async def _keep(self) -> None:
        if self._fresh:
            for kept in await self._store.keep(self._fresh):
                self._outcomes[kept.content_artifact, kept.extractor] = kept
            self._fresh.clear()
        self._kept_at = asyncio.get_running_loop().time()

    def _settled(self, read: _Read) -> None:
        self._done += 1
        self._progress(self._done, self._total, read.found.uri)


def _batches(found: Sequence[Found]) -> Iterator[list[Found]]:
    batch: list[Found] = []
    size = 0
    for each in found:
        size += each.bytes_expected
        if batch and (len(batch) >= READ_DOCUMENTS_MAX or size > READ_BYTES_MAX):
            yield batch
            batch, size = [], each.bytes_expected
        batch.append(each)
    if batch:
        yield batch


def _read_all(batch: Sequence[Found]) -> list[_Read]:
    return [_read(found) for found in batch]


def _read(found: Found) -> _Read:
    try:
        content, media_type = found.read()
        return _Read(found, content, media_type, (artifact_of(content), extractor_of(media_type)))
    except Unreadable as refusal:
        return _Read(found, reason=refusal.reason)
