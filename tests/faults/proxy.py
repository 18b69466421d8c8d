"""A proxy before PostgreSQL: it holds each group of messages until it is whole, and stands still where a trap is.

It listens on a Unix socket, which tells whose process a connection is.
"""

import asyncio
import socket
import struct
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

from typing_extensions import override

from tests.faults.gate import Gate, Trap
from tests.faults.wire import ClientStream, Group, ServerStream

SOCKET_NAME = ".s.PGSQL.5432"
_PEER = struct.Struct("3i")


class Server(asyncio.Protocol):
    """The side of a link that faces PostgreSQL."""

    def __init__(self, link: "Link") -> None:
        self._link = link

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._link.server = transport

    @override
    def data_received(self, data: bytes) -> None:
        self._link.answered(data)

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._link.server_left()


class Link(asyncio.Protocol):
    """One connection of a worker, and its own to the server. It is what stands still at a boundary."""

    def __init__(self, proxy: "Proxy") -> None:
        self.proxy = proxy
        self.pid = 0
        self.client: asyncio.Transport | None = None
        self.server: asyncio.Transport | None = None
        #: Set when the server has ended its session, and with it whatever locks it held.
        self.left = asyncio.Event()
        self.stream = ClientStream()
        self._answers = ServerStream()
        self._groups: deque[Group] = deque()
        self._held: Group | None = None
        self._trap: Trap | None = None
        self._leaving = False
        self._begun: str | None = None
        #: Answers that were asked for and that came; logging in is one.
        self._asked, self._came = 1, 0
        #: The number of the answer that is not passed on, and what came of it.
        self._kept_from: int | None = None
        self._kept = b""
        self._connecting: asyncio.Task[None] | None = None

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.client = transport
        peer = transport.get_extra_info("socket")
        self.pid = _PEER.unpack(peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size))[
            0
        ]
        self.proxy.links.add(self)
        self._connecting = asyncio.create_task(self._connect())

    async def _connect(self) -> None:
        loop = asyncio.get_running_loop()
        await self.proxy.up.wait()
        try:
            await loop.create_unix_connection(lambda: Server(self), self.proxy.server_socket)
        except OSError:
            self.server_left()
        else:
            self._advance()

    @override
    def data_received(self, data: bytes) -> None:
        self._groups.extend(self.stream.feed(data))
        self._advance()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        """Let the server finish what it was told; it ends the session then, and says so by hanging up."""
        self.client = None
        if self.server is None:
            self._give_up()
        else:
            self.end_session()

    def _give_up(self) -> None:
        if self._connecting is not None:
            self._connecting.cancel()
        self.server_left()

    def server_left(self) -> None:
        """Hang up on the worker, as the server did."""
        self.left.set()
        self.proxy.links.discard(self)
        if self.client is not None:
            self.client.close()

    def _advance(self) -> None:
        while self._groups and self._trap is None:
            group = self._groups.popleft()
            if group.ends == "encryption":
                if self.client is not None:
                    self.client.write(b"N")
                continue
            if self.server is None:
                self._groups.appendleft(group)
                return
            trap = self._trap_of(group)
            if trap is not None:
                self._stand_still(trap, group)
            else:
                self._send(group)

    def _trap_of(self, group: Group) -> Trap | None:
        gate, trap = self.proxy.gate, None
        if group.begins:
            self._begun, trap = gate.begin(self.stream.role)
        if group.label:
            trap = gate.arrive(group.label, self._begun) or trap
        return trap

    def _stand_still(self, trap: Trap, group: Group) -> None:
        self._trap = trap
        if trap.when == "before":
            self._held = group
            self.proxy.gate.spring(trap, self)
        else:
            self._kept_from = self._asked
            self._send(group)

    def _send(self, group: Group) -> None:
        assert self.server is not None
        if not self._leaving and not self.server.is_closing():
            self.server.write(group.content)
        if group.ends == "sync":
            self._asked += 1

    def answered(self, data: bytes) -> None:
        """Pass on what the server says, but for the answer that is kept."""
        for end in self._answers.feed(data) if data else ():
            self._came += 1
            if self._kept_from is None:
                continue
            if self._came == self._kept_from:
                self._pass_on(data[:end])
                data = data[end:]
            elif self._came == self._kept_from + 1 and self._trap is not None:
                self.proxy.gate.spring(self._trap, self)
        if self._kept_from is not None and self._came >= self._kept_from:
            self._kept += data
        else:
            self._pass_on(data)

    def _pass_on(self, data: bytes) -> None:
        if self.client is not None:
            self.client.write(data)

    def let_go(self) -> None:
        """Go on."""
        held, self._held, self._trap, self._kept_from = self._held, None, None, None
        if held is not None and self.server is not None:
            self._send(held)
        if kept := self._kept:
            self._kept = b""
            self._pass_on(kept)
        self._advance()

    def drop(self) -> None:
        """End the connection; what was held is forgotten."""
        self._groups.clear()
        self._held, self._kept = None, b""
        if self.client is not None:
            self.client.abort()

    def end_session(self) -> None:
        """End the server's side only, as the server does with a client that it gave up."""
        if self.server is not None and not self._leaving:
            self._leaving = True
            self.server.write_eof()


@dataclass
class Proxy:
    """Listens in `folder`; `up` is cleared while the server is down, so that connections wait as in its backlog."""

    folder: Path
    server_socket: str
    gate: Gate
    links: set[Link] = field(default_factory=set[Link])
    up: asyncio.Event = field(default_factory=asyncio.Event)
    _listener: asyncio.Server | None = None

    @property
    def url(self) -> str:
        """What a worker connects to."""
        return f"postgresql://postgres:{CANARY}@/postgres?host={self.folder}&port=5432"

    async def open(self) -> None:
        """Listen."""
        loop = asyncio.get_running_loop()
        self._listener = await loop.create_unix_server(
            lambda: Link(self), str(self.folder / SOCKET_NAME), backlog=256
        )
        self.up.set()

    def close(self) -> None:
        """Stop listening."""
        if self._listener is not None:
            self._listener.close()

    def of(self, pid: int) -> list[Link]:
        """Return the links of a process."""
        return [link for link in self.links if link.pid == pid]

    async def ended(self, pid: int) -> None:
        """Return once the server has ended every session of a process, and has let go of its locks."""
        for link in self.of(pid):
            await link.left.wait()


#: Stands in the database's address and must never stand in the database.
CANARY = "canary-1f6b0e9c"
