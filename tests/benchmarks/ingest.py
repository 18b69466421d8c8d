"""Ingesting HTML pages against calling trafilatura alone on the same pages, and a second run against the first.

`python -m tests.benchmarks.ingest PATH [ROUNDS]` prints both ratios and the peak memory of all processes together.
"""

import asyncio
import multiprocessing
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from threading import Event, Thread

import psutil
import trafilatura
from typing_extensions import override

from nodes.tools.document_store import DocumentStore
from nodes.tools.ingest import ingest
from tests.support.memory_store import MemoryStore

WORKERS = 2
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


def measure(path: str, new_store: Callable[[], DocumentStore]) -> Figures:
    """Measure one round."""
    pages = [str(page) for page in sorted(Path(path).rglob("*.html")) if page.is_file()]
    start = time.perf_counter()
    # Forked, the cheapest start there is: what is compared with gets every advantage.
    with multiprocessing.get_context("fork").Pool(WORKERS) as pool:
        pool.map(trafilatura_alone, pages, chunksize=16)
    alone = time.perf_counter() - start
    store = new_store()
    with peak_memory() as peak:
        first = ingested_seconds(pages, store)
        second = ingested_seconds(pages, store)
    return Figures(len(pages), alone, first, second, peak())


def ingested_seconds(pages: list[str], store: DocumentStore) -> float:
    """Ingest the pages and return the seconds that it took."""
    start = time.perf_counter()
    manifest = asyncio.run(ingest(pages, store, lambda *_: None, workers=WORKERS))
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


if __name__ == "__main__":
    rounds = [measure(sys.argv[1], MemoryStore) for _ in range(int((sys.argv[2:] or ["3"])[0]))]
    for figures in rounds:
        print(figures)
    print("median", f"{median(f.first_seconds / f.alone_seconds for f in rounds):.2f} times")
