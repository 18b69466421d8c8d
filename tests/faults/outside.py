"""The outside world of the campaign: a web search and its pages, whose requests are boundaries like the database's.

The counts say what was processed: a request that is held or dropped before that was never there.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from urllib.parse import parse_qs, urlsplit

from tests.faults.gate import Gate, Trap
from tests.support.pages import Pages, html, matching


@dataclass
class World:
    """What one run finds outside; `failing` says how often a search answers that it is out of order."""

    address: str
    pages: Pages
    failing: int = 0
    #: How often what was processed, as `tests.support.observed.asked` names it.
    counts: Counter[str] = field(default_factory=Counter[str])

    @property
    def search_url(self) -> str:
        """What PERDURE_SEARCH_URL is for this world."""
        return f"{self.address}/search"

    def answer(self, path: str, query: str | None) -> tuple[HTTPStatus, str, bytes]:
        """Process a request."""
        if path == "search" and query is None:
            # Whoever resumes a run looks whether the service is there; that asks nothing.
            return HTTPStatus.BAD_REQUEST, "text/plain", b"no query"
        if path == "search":
            self.counts[f"search?{query}"] += 1
            if self.failing:
                self.failing -= 1
                return HTTPStatus.SERVICE_UNAVAILABLE, "text/plain", b"out of order"
            return HTTPStatus.OK, "application/json", self._found(query or "")
        self.counts[path] += 1
        page = self.pages[path.removeprefix("pages/")]
        return HTTPStatus.OK, "text/html; charset=utf-8", html(page).encode()

    def _found(self, query: str) -> bytes:
        results = [
            {
                "url": f"{self.address}/pages/{name}",
                "title": self.pages[name][0],
                "content": self.pages[name][1][0],
            }
            for name in matching(query, self.pages)
        ]
        return json.dumps({"query": query, "results": results}).encode()


@dataclass
class Asked:
    """A request that stands still. Over TCP nobody says whose it is: it is of the process that is at work."""

    pid: int
    going: "asyncio.Future[bool]"

    def let_go(self) -> None:
        """Go on."""
        if not self.going.done():
            self.going.set_result(True)

    def drop(self) -> None:
        """Hang up."""
        if not self.going.done():
            self.going.set_result(False)


@dataclass
class Outside:
    """The server; it holds a world for each run, told apart by the first part of the path."""

    gate: Gate
    whose: Callable[[], int]
    worlds: dict[str, World] = field(default_factory=dict[str, World])
    address: str = ""
    _server: asyncio.Server | None = None

    async def open(self) -> None:
        """Listen on a free port of the loopback interface."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=64)
        port = self._server.sockets[0].getsockname()[1]
        self.address = f"http://127.0.0.1:{port}"

    def close(self) -> None:
        """Stop listening."""
        if self._server is not None:
            self._server.close()

    def world(self, name: str, pages: Pages, failing: int) -> World:
        """Make the world of a run; the one before it is over."""
        self.worlds = {name: World(f"{self.address}/{name}", pages, failing)}
        return self.worlds[name]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            _, name, path = (target := urlsplit(head.split(" ")[1])).path.split("/", 2)
            query = parse_qs(target.query).get("q", [None])[0]
            answer = await self._processed(name, path, query)
            if answer is not None:
                writer.write(answer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _processed(self, name: str, path: str, query: str | None) -> bytes | None:
        """Answer a request, or return None for one that is cut off, before or after it was processed."""
        trap = self.gate.arrive(f"http {path.split('/', maxsplit=1)[0]}")
        if trap is not None and trap.when == "before" and not await self._stand_still(trap):
            return None
        status, media_type, body = self.worlds[name].answer(path, query)
        if trap is not None and trap.when == "after" and not await self._stand_still(trap):
            return None
        head = f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: {media_type}\r\nContent-Length: {len(body)}\r\n"
        return f"{head}Connection: close\r\n\r\n".encode() + body

    async def _stand_still(self, trap: Trap) -> bool:
        asked = Asked(self.whose(), asyncio.get_running_loop().create_future())
        self.gate.spring(trap, asked)
        return await asked.going
