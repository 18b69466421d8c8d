"""Worker processes that read documents: what they answer, and how they end."""

import asyncio
import subprocess
import sys

import psutil
import pytest

from nodes.tools.documents import PDF, PLAIN, Extracted, Unreadable
from nodes.tools.extractors import ExtractorLost, Extractors
from tests.support.readers import readers
from tests.support.sample_documents import pdf

HOLDS_A_WORKER = """
import asyncio, psutil, sys
from nodes.tools.extractors import Extractors

async def main():
    async with Extractors(1) as extractors:
        await extractors.extract(b"words", "text/plain")
        print(psutil.Process().children()[0].pid, flush=True)
        await extractors.extract(b"<p>" + b"<b>w</b> " * 100_000 + b"</p>", "text/html")

asyncio.run(main())
"""


async def test_a_document_comes_back_as_text_or_refused() -> None:
    async with Extractors(2) as extractors:
        first, second = await asyncio.gather(
            extractors.extract("Grüße, \U0001f600".encode(), PLAIN),
            extractors.extract(pdf("A page.", title="T"), PDF),
        )
        assert (first.text, second.title, second.text) == ("Grüße, \U0001f600", "T", "A page.")
        with pytest.raises(Unreadable, match="encrypted"):
            await extractors.extract(pdf("x", password="x"), PDF)
        assert len(readers()) == 2
    assert readers() == []


async def test_no_worker_is_started_before_it_is_needed() -> None:
    async with Extractors(4) as extractors:
        with pytest.raises(Unreadable, match="image/png"):
            await extractors.extract(b"x", "image/png")
        assert readers() == []
        await extractors.extract(b"x", PLAIN)
        await extractors.extract(b"y", PLAIN)
        assert len(readers()) == 1


async def begun(extractors: Extractors) -> tuple[psutil.Process, asyncio.Task[Extracted]]:
    """Return a worker, and the task of a document that is with it and will not be answered."""
    await extractors.extract(b"first", PLAIN)
    (worker,) = readers()
    worker.suspend()
    task = asyncio.create_task(extractors.extract(b"second", PLAIN))
    await asyncio.wait({task}, timeout=0)
    return worker, task


async def test_a_document_that_kills_its_worker_is_lost_and_the_next_one_is_read() -> None:
    async with Extractors(1) as extractors:
        worker, task = await begun(extractors)
        worker.kill()
        with pytest.raises(ExtractorLost, match="crashed"):
            await task
        assert (await extractors.extract(b"after", PLAIN)).text == "after"


async def test_a_worker_that_died_idle_costs_no_document() -> None:
    async with Extractors(1) as extractors:
        await extractors.extract(b"first", PLAIN)
        (worker,) = extractors._processes
        worker.kill()
        await worker.wait()
        assert (await extractors.extract(b"after", PLAIN)).text == "after"


async def test_a_cancelled_document_ends_its_worker_at_once() -> None:
    async with Extractors(1) as extractors:
        worker, task = await begun(extractors)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not worker.is_running()
        assert (await extractors.extract(b"after", PLAIN)).text == "after"


async def test_leaving_the_pool_ends_a_worker_that_is_busy() -> None:
    async with Extractors(1) as extractors:
        worker, task = await begun(extractors)
    assert not worker.is_running()
    with pytest.raises(ExtractorLost):
        await task


def test_a_busy_worker_dies_with_a_parent_that_is_killed() -> None:
    parent = subprocess.Popen([sys.executable, "-c", HOLDS_A_WORKER], stdout=subprocess.PIPE)
    assert parent.stdout is not None
    worker = psutil.Process(int(parent.stdout.readline()))
    while worker.cpu_percent(interval=0.1) < 10:
        assert worker.is_running()
    parent.kill()
    parent.wait()
    parent.stdout.close()
    worker.wait(timeout=20)
