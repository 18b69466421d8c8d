"""The corpus as a tool: searches an index of passages, reads documents that the ledger holds already.

The index is derived data: it is made from the manifest and the stored texts when it is not found in the cache, so that a
run resumes on a machine that never saw the files.
"""

import asyncio
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Self

from ledger import artifacts
from ledger.canonical import Json
from ledger.db import Ledger
from ledger.errors import OperationFailed
from ledger.sources import NewSource
from nodes.material import Document, SearchResult
from nodes.resources import Local, Reading
from nodes.tools.index import INDEX_VERSION, CorpusIndex
from nodes.tools.manifest import Manifest


@dataclass(frozen=True, slots=True)
class Corpus:
    """One corpus, open for searching and reading."""

    manifest: Manifest
    documents: Mapping[str, Document]
    index: CorpusIndex
    identity: Mapping[str, Json]
    name: str = "corpus"

    @classmethod
    async def open(cls, ledger: Ledger, corpus_artifact: str, cache: Path) -> Self:
        """Open the corpus of a manifest, with its index from the cache or made now."""
        async with ledger.transaction() as tx:
            manifest = Manifest.from_json(await artifacts.get(tx, corpus_artifact))
        folder = cache / f"{corpus_artifact.removeprefix('sha256:')}-{INDEX_VERSION}"
        index = await _index(ledger, manifest, folder)
        documents = {document.uri: document for document in manifest.documents}
        return cls(manifest, documents, index, identity_of(corpus_artifact))

    def search(self, query: str, limit: int) -> Local[SearchResult]:
        """Return the call that finds the best passages for a query."""
        return Local(partial(self._search, query, limit))

    def read(self, uri: str) -> Local[Reading]:
        """Return the call that reads a document of this corpus; it raises OperationFailed for another."""
        return Local(partial(self._read, uri))

    async def _search(self, query: str, limit: int) -> SearchResult:
        return await asyncio.to_thread(self.index.search, query, limit)

    async def _read(self, uri: str) -> Reading:
        document = self.documents.get(uri)
        if document is None:
            raise OperationFailed(f"{uri} is no document of this corpus", transient=False)
        return Reading(
            NewSource(
                uri=document.uri,
                canonical_uri=document.uri,
                title=document.title,
                content_artifact=document.content_artifact,
                text_artifact=document.text_artifact,
                extractor=document.extractor,
            )
        )


def identity_of(corpus_artifact: str) -> dict[str, Json]:
    """Return what identifies a corpus as a tool: its documents, and how they are searched."""
    return {"name": "corpus", "corpus": corpus_artifact, "index": INDEX_VERSION}


async def _index(ledger: Ledger, manifest: Manifest, folder: Path) -> CorpusIndex:
    try:
        return await asyncio.to_thread(CorpusIndex.load, folder)
    except FileNotFoundError:
        pass
    except (ValueError, KeyError, OSError):
        # Derived data that was cut short or damaged is made anew.
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
    loop = asyncio.get_running_loop()

    def texts() -> Iterator[tuple[Document, str]]:
        # The index is built in a thread and takes one text at a time from the loop: a corpus need not fit into memory.
        for document in manifest.documents:
            text = asyncio.run_coroutine_threadsafe(_text(ledger, document), loop).result()
            yield document, text

    index = await asyncio.to_thread(lambda: CorpusIndex.build(texts()))
    await asyncio.to_thread(index.save, folder)
    return index


async def _text(ledger: Ledger, document: Document) -> str:
    async with ledger.transaction() as tx:
        return await artifacts.get_text(tx, document.text_artifact)
