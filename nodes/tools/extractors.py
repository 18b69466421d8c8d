"""Reads documents in worker processes, so that a hostile document costs one worker and not the run.

Not `multiprocessing`: its spawn and forkserver import the parent's `__main__`, here the whole graph, into every worker,
and fork beside asyncio and psycopg's threads deadlocks. A worker is a plain subprocess that imports the formats only; it
ends when its pipe does (see `nodes.tools.extraction_worker`), and killing it ends the parse at once.
"""

import asyncio
import json
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from types import TracebackType
from typing import Any, Self

from nodes.tools.documents import Extracted, Unreadable, extractor_of

# The slowest page of the manuals that we measured takes 0.3 s, a PDF of 2,000 pages 40 s. What takes longer is made to.
EXTRACTION_SECONDS_MAX = 120


# -P: a file called html.py in the user's folder is not ours to run.
WORKER = (sys.executable, "-P", "-m", "nodes.tools.extraction_worker")


class ExtractorLost(Unreadable):
    """The worker died or ran out of time over a document: nothing is known about it, and the next run tries again."""


class ReadersDoNotStart(Exception):
    """The worker processes end before they have read anything: something is wrong with the installation."""

    def __init__(self) -> None:
        super().__init__(
            "The processes that read documents do not start. "
            f"`{' '.join(WORKER)}` says why; installing perdure again usually helps."
        )


class Extractors:
    """A pool of up to `workers` processes, each started when it is first needed.

    Use it as an async context manager: leaving it, also by cancellation, kills the workers.
    """

    def __init__(self, workers: int) -> None:
        self._slots: asyncio.LifoQueue[Process | None] = asyncio.LifoQueue()
        # An idle process lies on top of the slots that have none yet.
        for _ in range(workers):
            self._slots.put_nowait(None)
        self._processes: set[Process] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # All are killed before the first is waited for, and each once: a second kill may take a dead one's status away
        # from asyncio, which then warns of an unknown process.
        await asyncio.gather(*(self._end(process) for process in list(self._processes)))

    async def extract(self, content: bytes, media_type: str) -> Extracted:
        """Return the text of a document; raises `Unreadable`, or `ExtractorLost` which must not be remembered."""
        extractor = extractor_of(media_type)
        async with self._worker() as process:
            header, text = await _asked(process, content, media_type)
        if "reason" in header:
            raise Unreadable(header["reason"])
        return Extracted(text.decode(), header["title"], media_type, extractor)

    @asynccontextmanager
    async def _worker(self) -> AsyncGenerator[Process]:
        """Lend a worker; one that was not left in order is killed, because half an answer may be in its pipe."""
        process = await self._slots.get()
        try:
            # One that died since it was last used, out of memory perhaps, is not this document's fault.
            if process is None or process.returncode is not None:
                process = await self._started()
            yield process
        except BaseException:
            if process is not None:
                await self._end(process)
            process = None
            raise
        finally:
            self._slots.put_nowait(process)

    async def _started(self) -> Process:
        process = await asyncio.create_subprocess_exec(
            *WORKER,
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
            # Ctrl-C is for the parent, which then ends its workers without their tracebacks.
            start_new_session=True,
        )
        self._processes.add(process)
        assert process.stdout is not None
        # The end of the pipe, if it is not there to say that it is ready.
        if not await process.stdout.readline():
            await self._end(process)
            raise ReadersDoNotStart
        return process

    async def _end(self, process: Process) -> None:
        self._processes.discard(process)
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def _asked(process: Process, content: bytes, media_type: str) -> tuple[dict[str, Any], bytes]:
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        async with asyncio.timeout(EXTRACTION_SECONDS_MAX):
            request = {"media_type": media_type, "size": len(content)}
            process.stdin.write(json.dumps(request).encode() + b"\n" + content)
            await process.stdin.drain()
            header = json.loads(await process.stdout.readuntil(b"\n"))
            return header, await process.stdout.readexactly(header.get("size", 0))
    except TimeoutError as error:
        raise ExtractorLost(f"reading it took longer than {EXTRACTION_SECONDS_MAX} s") from error
    except (asyncio.IncompleteReadError, ConnectionError) as error:
        raise ExtractorLost("the reader crashed over it") from error
