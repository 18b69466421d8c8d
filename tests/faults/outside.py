"""The outside world of the campaign: a web search, its pages, webhooks, a mail server. Requests are boundaries like the database's.

The counts say what was processed: a request that is held or dropped before that was never there. One that is held for longer
than its contract gives it is over, but for those whose key makes it harmless: they come as late as they like.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from urllib.parse import parse_qs, urlsplit

from tests.faults.gate import Gate, Trap
from tests.faults.places import REQUEST_SECONDS, hook_of
from tests.faults.postbox import Postbox
from tests.faults.taking import HONOURING, Answer, Recorded, Taken
from tests.support.pages import Pages, html, matching


@dataclass(frozen=True)
class Request:
    """One request to a world; `key` is its idempotency key."""

    method: str
    path: str
    query: str | None
    key: str
    body: bytes

    @property
    def label(self) -> str:
        """What its boundary is called."""
        first, *rest = self.path.split("/")
        name = " ".join([first, *(rest if first == "hooks" else [])])
        return f"http {name}{' look-up' if first == 'hooks' and self.method == 'GET' else ''}"


@dataclass
class World:
    """What one run finds outside; `failing` says how often a search answers that it is out of order, and so a webhook."""

    address: str
    pages: Pages
    failing: int = 0
    hooks_failing: int = 0
    #: After so long a request is over.
    request_seconds: float = REQUEST_SECONDS
    #: How often what was processed, as `tests.support.observed.asked` names it.
    counts: Counter[str] = field(default_factory=Counter[str])
    taken: Taken = field(default_factory=Taken)

    @property
    def search_url(self) -> str:
        """What PERDURE_SEARCH_URL is for this world."""
        return f"{self.address}/search"

    def answer(self, request: Request) -> Answer:
        """Process a request."""
        path = request.path
        if (hook := hook_of(path)) is not None:
            if request.method == "GET":
                return self.taken.look_up(hook, request.key)
            failing, self.hooks_failing = self.hooks_failing > 0, max(0, self.hooks_failing - 1)
            return self.taken.post(hook, request.key, request.body, failing=failing)
        if path == "search":
            self.counts[f"search?{request.query}"] += 1
            if self.failing:
                self.failing -= 1
                return HTTPStatus.SERVICE_UNAVAILABLE, "text/plain", b"out of order"
            return HTTPStatus.OK, "application/json", self._found(request.query or "")
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


KNOWN = b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"
ROBOTS = "robots.txt"
NO_RULES = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


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
    """The servers; they hold a world for each run, told apart by the first part of the path, or by a mail's recipient."""

    gate: Gate
    whose: Callable[[], int]
    recorded: Recorded
    worlds: dict[str, World] = field(default_factory=dict[str, World])
    address: str = ""
    _server: asyncio.Server | None = None
    #: When the last request that is held is over.
    _over_at: float = 0.0

    def __post_init__(self) -> None:
        self.postbox = Postbox(self.gate, self._mail_came, self._mail_is_taken, self.in_time)

    async def open(self) -> None:
        """Listen on free ports of the loopback interface."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=64)
        port = self._server.sockets[0].getsockname()[1]
        self.address = f"http://127.0.0.1:{port}"
        await self.postbox.open()

    def close(self) -> None:
        """Stop listening."""
        self.postbox.close()
        if self._server is not None:
            self._server.close()

    def world(self, name: str, world: World) -> World:
        """Make the world of a run; the one before it is over."""
        self.worlds = {name: world}
        return world

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            name, request = await _read(reader)
            # A HEAD asks whether the key is known, robots.txt for leave: nothing that anybody counts.
            answer: bytes | None
            if request.method == "HEAD":
                answer = KNOWN
            elif name == ROBOTS:
                answer = NO_RULES
            else:
                answer = await self._processed(name, request)
            if answer is not None:
                writer.write(answer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _processed(self, name: str, request: Request) -> bytes | None:
        """Answer a request, or return None for one that is cut off, before or after it was processed."""
        world, hook = self.worlds[name], hook_of(request.path)
        if request.method == "POST":
            await world.taken.arrive(request.key, request.body, self.recorded)
        stand_still = self._stand_still if hook is None or hook in HONOURING else self.in_time
        trap = self.gate.arrive(request.label)
        if trap is not None and trap.when == "before" and not await stand_still(trap):
            return None
        status, media_type, body = world.answer(request)
        if trap is not None and trap.when == "after" and not await self._stand_still(trap):
            return None
        head = f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: {media_type}\r\nContent-Length: {len(body)}\r\n"
        return f"{head}Connection: close\r\n\r\n".encode() + body

    async def _mail_came(self, run_id: str, name: str, content: bytes) -> None:
        await self.worlds[run_id].taken.arrive(name, content, self.recorded)

    def _mail_is_taken(self, run_id: str, name: str) -> None:
        self.worlds[run_id].taken.processed[name] += 1
        self.worlds[run_id].taken.carried[name] += 1

    async def _stand_still(self, trap: Trap) -> bool:
        asked = Asked(self.whose(), asyncio.get_running_loop().create_future())
        self.gate.spring(trap, asked)
        return await asked.going

    async def in_time(self, trap: Trap) -> bool:
        """Stand still; returns False for what was dropped, or was held until it was over."""
        loop = asyncio.get_running_loop()
        longest = max(world.request_seconds for world in self.worlds.values())
        over = self._over_at = loop.time() + longest
        return await self._stand_still(trap) and loop.time() < over

    async def over(self) -> None:
        """Wait until no request is held that may still be carried out: sooner nobody can say what did not happen."""
        await asyncio.sleep(max(0.0, self._over_at - asyncio.get_running_loop().time()))


async def _read(reader: asyncio.StreamReader) -> tuple[str, Request]:
    """Read a request; returns the name of its world, too."""
    first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    headers = {
        name.lower(): value.strip() for name, _, value in (one.partition(":") for one in lines)
    }
    method, target, _ = first.split(" ")
    address = urlsplit(target)
    name, _, path = address.path.removeprefix("/").partition("/")
    query = parse_qs(address.query).get("q", [None])[0]
    key = headers.get("idempotency-key", "").strip('"')
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return name, Request(method, path, query, key, body)
