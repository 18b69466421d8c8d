"""A web search as SearXNG serves it, over pages that it serves too, which counts whatever reaches it.

It stands for the outside world in the tests of durability: it outlives the clients that are killed, and its counts, not
what a client believes, say how often something was asked. One server holds many worlds, one for each run, told apart by
the first part of the path; a world can be told to fail. SearXNG's interface: docs.searxng.org, Search API.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event, Lock
from typing import Literal, TypeAlias

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from tests.support.pages import PAGES, Pages, html, matching
from tests.support.served import Served

Kind: TypeAlias = Literal["error", "gone", "cut", "malformed", "empty", "wait", "expired"]
Asked: TypeAlias = str


@dataclass
class Failure:
    """What happens to a request: `kind`, while `times` are left (None is for ever) and `where` is in its path or query.

    `wait` holds the answer until `release` is set; `reached` says that a request has come.
    """

    kind: Kind
    where: str = ""
    times: int | None = None
    reached: Event = field(default_factory=Event)
    release: Event = field(default_factory=Event)


@dataclass
class World:
    """One run's share of the outside world."""

    address: str
    pages: Pages = field(default_factory=lambda: PAGES)
    asked: list[Asked] = field(default_factory=list[Asked])
    answered: list[Asked] = field(default_factory=list[Asked])
    failures: list[Failure] = field(default_factory=list[Failure])
    #: Called with the number of answers so far, in the server's thread, when an answer has left.
    on_answer: Callable[[int], None] = lambda _: None
    #: Seconds that the answer to a request takes.
    latency_seconds: Callable[[Asked], float] = lambda _: 0.0
    #: After so many answers the others wait.
    answers_max: int | None = None

    @property
    def search_url(self) -> str:
        """What PERDURE_SEARCH_URL is for this world."""
        return f"{self.address}/search"

    @property
    def counts(self) -> Counter[Asked]:
        """How often each path (a search with its query) was asked."""
        return Counter(self.asked)

    @property
    def key_expired(self) -> bool:
        """Whether the search knows its client no more."""
        return any(failure.kind == "expired" and failure.times != 0 for failure in self.failures)

    def failing(self, asked: Asked) -> Failure | None:
        """Return the failure that this request meets, and use it up."""
        for failure in self.failures:
            if failure.where in asked and failure.times != 0:
                if failure.times is not None:
                    failure.times -= 1
                failure.reached.set()
                return failure
        return None


class SearchServer:
    """The server, in a thread of its own on a free port of the loopback interface."""

    def __init__(self) -> None:
        self._worlds: dict[str, World] = {}
        self._lock = Lock()
        self._served = Served(self._counted)
        self.address = self._served.address
        self._routes = Starlette(
            routes=[
                Route("/counts", self._counts),
                Route("/{world}/search", self._search),
                Route("/{world}/pages/{name}", self._page),
            ]
        )

    def world(self, name: str) -> World:
        """Return the world of this name."""
        with self._lock:
            return self._worlds.setdefault(name, World(f"{self.address}/{name}"))

    def settle(self) -> None:
        """Return once everything that dead clients had sent is counted."""
        self._served.settle()

    @contextmanager
    def running(self) -> Iterator["SearchServer"]:
        """Serve until the block ends; requests that wait are let go."""
        with self._served.running():
            try:
                yield self
            finally:
                for world in self._worlds.values():
                    for failure in world.failures:
                        failure.release.set()

    async def _counted(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Count a request, let it fail as its world says, else answer it."""
        name = scope["path"].split("/")[1]
        if scope["path"] in {"/counts", "/robots.txt"}:
            await self._routes(scope, receive, send)
            return
        world = self.world(name)
        if (
            scope["method"] == "HEAD"
        ):  # whether the key is known: this asks for nothing that is counted
            await Response(status_code=401 if world.key_expired else 204)(scope, receive, send)
            return
        asked = _asked(scope)
        world.asked.append(asked)
        if seconds := world.latency_seconds(asked):
            await asyncio.sleep(seconds)
        if world.answers_max is not None and len(world.answered) >= world.answers_max:
            await asyncio.Event().wait()
        failure = world.failing(asked)
        if failure is not None and failure.kind != "wait":
            await _FAILING[failure.kind](scope, receive, send)
            return
        if failure is not None:
            await asyncio.to_thread(failure.release.wait)
        await self._routes(scope, receive, send)
        world.answered.append(asked)
        world.on_answer(len(world.answered))

    async def _counts(self, request: Request) -> Response:
        return JSONResponse({name: world.counts for name, world in self._worlds.items()})

    async def _search(self, request: Request) -> Response:
        if request.query_params.get("format") != "json":
            return PlainTextResponse("only format=json is served", status_code=403)
        world, query = self.world(request.path_params["world"]), request.query_params["q"]
        results = [
            {
                "url": f"{world.address}/pages/{name}",
                "title": world.pages[name][0],
                "content": world.pages[name][1][0],
            }
            for name in matching(query, world.pages)
        ]
        return JSONResponse({"query": query, "results": results})

    async def _page(self, request: Request) -> Response:
        page = self.world(request.path_params["world"]).pages.get(request.path_params["name"])
        if page is None:
            return PlainTextResponse("no such page", status_code=404)
        return HTMLResponse(html(page))


def _asked(scope: Scope) -> Asked:
    """Return the path below the world, with the query of a search."""
    path = scope["path"].split("/", 2)[2]
    query = Request(scope).query_params.get("q")
    return path if query is None else f"{path}?{query}"


async def _cut(scope: Scope, receive: Receive, send: Send) -> None:
    """Promise more than is sent, and hang up: uvicorn closes the connection of a response that came short."""
    kind = b"text/html" if "/pages/" in scope["path"] else b"application/json"
    headers = [(b"content-type", kind), (b"content-length", b"1000")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b'{"results": [', "more_body": False})


_FAILING: dict[Kind, Callable[[Scope, Receive, Send], Awaitable[None]]] = {
    "error": PlainTextResponse("out of order", status_code=500),
    "gone": PlainTextResponse("gone", status_code=410),
    "expired": PlainTextResponse("who are you?", status_code=401),
    "malformed": Response('{"results": [{"url": ', media_type="application/json"),
    "empty": JSONResponse({"results": []}),
    "cut": _cut,
}
