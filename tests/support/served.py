"""An ASGI application served over real HTTP, in a thread of its own on a free port of the loopback interface.

It can be away for a while and come back on the same port, and an application can hang up on its client, which ASGI itself
has no word for.
"""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import cast

import uvicorn
from starlette.types import ASGIApp, Scope
from typing_extensions import override
from uvicorn.protocols.http.h11_impl import H11Protocol

# Loop rounds after which whatever a dead client had sent has been read: reading a socket takes one, starting the
# application another.
SETTLING_ROUNDS = 6
_TRANSPORT = "transport"


class _Protocol(H11Protocol):
    """uvicorn's protocol, which lets the application reach the connection."""

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.app_state = {**self.app_state, _TRANSPORT: transport}
        # asyncio does it by itself, but not for a socket that says of its protocol only "the usual one", as ours does:
        # without it the second write of an answer waits for the client's delayed acknowledgement, 40 ms.
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        super().connection_made(transport)


def hang_up(scope: Scope) -> None:
    """Close the connection of a request at once; whatever was sent before has left."""
    cast("asyncio.Transport", scope["state"][_TRANSPORT]).abort()


class Served:
    """The application behind `address`. `closing` is set in its loop when serving ends, for whoever waits there."""

    def __init__(self, application: ASGIApp) -> None:
        self._application = application
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=256)
        self._port: int = self._socket.getsockname()[1]
        self.address = f"http://127.0.0.1:{self._port}"
        self.closing = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    @contextmanager
    def running(self) -> Iterator["Served"]:
        """Serve until the block ends."""
        self._start()
        try:
            yield self
        finally:
            self._stop()

    @contextmanager
    def away(self) -> Iterator[None]:
        """Refuse connections until the block ends, then serve on the same port again."""
        self._stop()
        try:
            yield
        finally:
            self._socket = socket.create_server(("127.0.0.1", self._port), backlog=256)
            self._start()

    def settle(self) -> None:
        """Return once everything that dead clients had sent has reached the application."""
        assert self._loop is not None

        async def rounds() -> None:
            for _ in range(SETTLING_ROUNDS):
                await asyncio.sleep(0)

        asyncio.run_coroutine_threadsafe(rounds(), self._loop).result()

    def _start(self) -> None:
        config = uvicorn.Config(
            self._application,
            interface="asgi3",
            loop="asyncio",
            http=_Protocol,
            ws="none",
            lifespan="off",
            log_level="critical",
        )
        self._server, ready = uvicorn.Server(config), Event()

        async def serve() -> None:
            self._loop, self.closing = asyncio.get_running_loop(), asyncio.Event()
            ready.set()
            await self._server.serve(sockets=[self._socket])

        self._thread = Thread(target=lambda: asyncio.run(serve()), daemon=True)
        self._thread.start()
        ready.wait()

    def _stop(self) -> None:
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self.closing.set)
        self._server.force_exit = self._server.should_exit = True
        self._thread.join()
        self._socket.close()
