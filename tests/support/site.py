"""A web site on the loopback interface that answers as a test says, and remembers what reached it."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import TypeAlias

import uvicorn
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import Receive, Scope, Send

Answer: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]


class Site:
    """Answers 404 to what is not among `answers`, by path; `release` lets go what waits."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        #: Paths in the order in which they were asked, and the headers of each request.
        self.asked: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.release = Event()
        self.port = 0

    @property
    def url(self) -> str:
        """Its address without a path."""
        return f"http://127.0.0.1:{self.port}"

    def page(self, path: str, *paragraphs: str, **headers: str) -> str:
        """Serve a page and return its address."""
        text = "".join(f"<p>{each}</p>" for each in paragraphs)
        content = f"<html><head><title>A page</title></head><body>{text}</body></html>"
        self.answers[path] = HTMLResponse(content, headers=headers)
        return self.url + path

    def answer(self, path: str, response: Answer) -> str:
        """Serve an answer and return its address."""
        self.answers[path] = response
        return self.url + path

    def redirect(self, path: str, target: str, status: int = 302) -> str:
        """Serve a redirect, to whatever it says, and return its address."""
        response = RedirectResponse("/", status_code=status)
        response.headers["location"] = target
        return self.answer(path, response)

    def text(self, path: str, status: int) -> str:
        """Serve a full page with a status, and return its address."""
        content = (
            "<html><body><p>Everything about the harbour is told on this page.</p></body></html>"
        )
        return self.answer(path, HTMLResponse(content, status_code=status))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Remember a request and answer it."""
        query = scope["query_string"].decode()
        self.asked.append(scope["path"] + (f"?{query}" if query else ""))
        self.headers.append({name.decode(): value.decode() for name, value in scope["headers"]})
        missing: Response = PlainTextResponse("not found", status_code=404)
        await self.answers.get(scope["path"], missing)(scope, receive, send)

    async def stalling(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Begin a page, and send the rest when the test lets it."""
        await send(
            {
                "type": "http.response.start",
                "status": 200,
                "headers": [(b"content-type", b"text/html")],
            }
        )
        await send(
            {"type": "http.response.body", "body": b"<p>The beginning of", "more_body": True}
        )
        await asyncio.to_thread(self.release.wait)
        await send({"type": "http.response.body", "body": b" a page.</p>"})


@contextmanager
def site() -> Iterator[Site]:
    """Serve until the block ends."""
    served = Site()
    listening = socket.create_server(("127.0.0.1", 0), backlog=64)
    served.port = listening.getsockname()[1]
    config = uvicorn.Config(
        served, interface="asgi3", loop="asyncio", http="h11", ws="none", lifespan="off", log_level="critical"
    )  # fmt: skip
    server, ready = uvicorn.Server(config), Event()

    async def serve() -> None:
        ready.set()
        await server.serve(sockets=[listening])

    thread = Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    ready.wait()
    try:
        yield served
    finally:
        served.release.set()
        server.force_exit = server.should_exit = True
        thread.join()
        listening.close()
