"""Opens the tools of a run: its corpus, and the web search where one is set up. A corpus is opened once per process."""

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ledger import artifacts, documents
from ledger.db import Ledger
from ledger.documents import Extraction, NewExtraction
from ledger.runs import Run
from nodes.material import Skipped
from nodes.options import BadInput, RunOptions, ToolMissing
from nodes.resources import Progress, Tool
from nodes.tools.corpus import Corpus
from nodes.tools.ingest import ingest
from nodes.tools.manifest import Manifest
from nodes.tools.web import WebSearch


@dataclass(frozen=True, slots=True)
class LedgerStore:
    """Keeps what extractors make of documents in the ledger."""

    ledger: Ledger

    async def known(self, keys: Sequence[tuple[str, str]]) -> dict[tuple[str, str], Extraction]:
        """Return what is known of these (content digest, extractor) pairs."""
        return await documents.known(self.ledger, keys)

    async def keep(self, batch: Sequence[NewExtraction]) -> list[Extraction]:
        """Store a batch in one transaction."""
        return await documents.keep(self.ledger, batch)


@dataclass(frozen=True, slots=True)
class RunToolbox:
    """The tools that runs of this process use; `default_corpus` serves runs that name none."""

    ledger: Ledger
    cache: Path
    web: WebSearch | None = None
    default_corpus: tuple[str, ...] = ()
    _open: dict[str, Corpus] = field(default_factory=dict[str, Corpus])
    _opening: asyncio.Lock = field(default_factory=asyncio.Lock)

    def check(self, options: RunOptions) -> None:
        """Raise BadInput where there is neither a document nor a web to search."""
        if not (options.corpus or self.default_corpus or self.web):
            raise BadInput(
                "there is nothing to research: give --corpus PATH (a file or a folder; more than one may be given),"
                " for a first try --corpus pydoc:topics, or set PERDURE_SEARCH_URL, or PERDURE_SEARCH and"
                " PERDURE_SEARCH_KEY"
            )

    async def check_credentials(self) -> str:
        """Ask the web search whether it still knows us; raises CredentialRefused."""
        if self.web is None:
            return "none are needed: no web search is set up"
        return await self.web.check_credentials()

    async def prepare(self, options: RunOptions, progress: Progress) -> str:
        """Read the documents of a run and return the artifact of their manifest."""
        self.check(options)
        paths = options.corpus or self.default_corpus
        manifest = await self._ingested(paths, progress) if paths else Manifest((), ())
        async with self.ledger.transaction() as tx:
            return await artifacts.put(tx, manifest.to_json(), "application/json")

    async def _ingested(self, paths: Sequence[str], progress: Progress) -> Manifest:
        workers = os.cpu_count() or 1
        return await ingest(paths, LedgerStore(self.ledger), progress.ingesting, workers=workers)

    async def tools(self, run: Run) -> tuple[Tool, ...]:
        """Return the tools of a prepared run; raises ToolMissing when none is set up any more."""
        corpus = await self._corpus(run)
        web: tuple[Tool, ...] = (self.web,) if self.web else ()
        tools = (corpus, *web) if corpus.documents else web
        if not tools:
            raise ToolMissing
        return tools

    async def skipped(self, run: Run) -> tuple[Skipped, ...]:
        """Return the documents of a run's corpus that could not be read."""
        if run.corpus_artifact is None:
            return ()
        async with self.ledger.transaction() as tx:
            return Manifest.from_json(await artifacts.get(tx, run.corpus_artifact)).skipped

    async def _corpus(self, run: Run) -> Corpus:
        assert run.corpus_artifact is not None
        async with self._opening:
            if run.corpus_artifact not in self._open:
                corpus = await Corpus.open(self.ledger, run.corpus_artifact, self.cache)
                self._open[run.corpus_artifact] = corpus
        return self._open[run.corpus_artifact]
