"""Ingesting HTML pages against calling trafilatura alone on the same pages, and a second run against the first.

The pages are the 1,169 of Debian's postgresql-doc-15, the store is the ledger, on a database that waits for its disk. The
peak is the memory of all processes together, the database's left out.
"""

import multiprocessing
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from threading import Event, Thread

import psutil
import pytest
import trafilatura
from typing_extensions import override

from graph.migrate import migrate
from nodes.tools.document_store import DocumentStore
from nodes.tools.ingest import ingest
from nodes.tools.toolbox import LedgerStore
from tests.support.debian_docs import POSTGRESQL_DOC, debian_docs
from tests.support.ledgers import open_ledger
from tests.support.postgres import temporary_database
from tests.support.targets import tell

WORKERS = 2
ROUNDS = 3
FIRST_TIMES_MAX = 1.3
SECOND_TIMES_MAX = 1 / 20
PEAK_MB_MAX = 400
SAMPLE_SECONDS = 0.02


@dataclass(frozen=True)
class Figures:
    """Seconds of each part, and the peak resident memory of the ingesting process and its children."""

    pages: int
    alone_seconds: float
    first_seconds: float
    second_seconds: float
    peak_bytes: int

    @override
    def __str__(self) -> str:
        return (
            f"{self.pages} pages: trafilatura alone {self.alone_seconds:.2f} s, first run {self.first_seconds:.2f} s "
            f"({self.first_seconds / self.alone_seconds:.2f} times), second run {self.second_seconds:.3f} s "
            f"(1/{self.first_seconds / self.second_seconds:.0f}), peak {self.peak_bytes / 1e6:.0f} MB"
        )


def trafilatura_alone(path: str) -> int:
    """Read one page with the options that we read it with; returns the length of its text."""
    text = trafilatura.extract(
        Path(path).read_bytes(),
        fast=True,
        output_format="markdown",
        include_comments=False,
        include_tables=True,
        include_formatting=True,
    )
    return len(text or "")


async def measure(pages: list[str], store: DocumentStore) -> Figures:
    """Measure one round with an empty store."""
    alone = trafilatura_seconds(pages)
    with peak_memory() as peak:
        first = await ingested_seconds(pages, store)
        second = await ingested_seconds(pages, store)
    return Figures(len(pages), alone, first, second, peak())


def trafilatura_seconds(pages: list[str]) -> float:
    """Read the pages with trafilatura alone in as many processes and return the seconds that it took."""
    start = time.perf_counter()
    # Forked, the cheapest start there is: what is compared with gets every advantage.
    with multiprocessing.get_context("fork").Pool(WORKERS) as pool:
        pool.map(trafilatura_alone, pages, chunksize=16)
    return time.perf_counter() - start


async def ingested_seconds(pages: list[str], store: DocumentStore) -> float:
    """Ingest the pages and return the seconds that it took."""
    start = time.perf_counter()
    manifest = await ingest(pages, store, lambda done, total, uri: None, workers=WORKERS)
    assert len(manifest.documents) + len(manifest.skipped) == len(pages)
    return time.perf_counter() - start


@contextmanager
def peak_memory() -> Iterator[Callable[[], int]]:
    """Sample the resident memory of this process and all its children."""
    peaks = [0]
    stop = Event()

    def sample() -> None:
        this = psutil.Process()
        while not stop.wait(SAMPLE_SECONDS):
            peaks.append(
                max(peaks.pop(), sum(map(resident, [this, *this.children(recursive=True)])))
            )

    thread = Thread(target=sample)
    thread.start()
    try:
        yield lambda: peaks[0]
    finally:
        stop.set()
        thread.join()


def resident(process: psutil.Process) -> int:
    """Return the resident memory of a process that may have ended."""
    try:
        return int(process.memory_info().rss)
    except psutil.NoSuchProcess:
        return 0


def pages_below(path: Path) -> list[str]:
    """Return the HTML pages below a folder."""
    return [str(page) for page in sorted(path.rglob("*.html")) if page.is_file()]


@asynccontextmanager
async def empty_ledger(server_url: str) -> AsyncGenerator[DocumentStore]:
    """Make an empty ledger on a database that waits for its disk."""
    with temporary_database(server_url) as url:
        await migrate(url)
        async with open_ledger(url) as ledger:
            yield LedgerStore(ledger)


async def test_ingesting_takes_little_more_than_reading(durable_url: str) -> None:
    manual = debian_docs(POSTGRESQL_DOC)
    if manual is None:
        pytest.skip("Debian's documentation packages cannot be had here")
    pages = pages_below(manual)
    measured: list[Figures] = []
    for _ in range(ROUNDS):
        async with empty_ledger(durable_url) as store:
            measured.append(await measure(pages, store))
        print(f"\n{measured[-1]}")
    first = median(figures.first_seconds / figures.alone_seconds for figures in measured)
    again = median(figures.second_seconds / figures.first_seconds for figures in measured)
    peak = max(figures.peak_bytes for figures in measured)
    print(
        f"median: first run {first:.2f} times, second run 1/{1 / again:.0f}, peak {peak / 1e6:.0f} MB"
    )
    tell("first run, times trafilatura alone", first, FIRST_TIMES_MAX)
    tell("second run, times the first", again, SECOND_TIMES_MAX)
    tell("peak memory, MB", peak / 1e6, PEAK_MB_MAX)
