"""File writes as boundaries: what a process does to files below a folder, it asks leave for at a door.

Within the process an audit hook of Python asks before a file is created, linked into place, its folder synced, and a name
removed: so a kill before the sync is one after the link. There is no "after" of its own.
"""

import asyncio
import os
import socket
import struct
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.faults.gate import Gate

_PEER = struct.Struct("3i")
_FLAGS = 2


@dataclass
class AtDoor:
    """A process that waits for leave."""

    pid: int
    writer: asyncio.StreamWriter

    def let_go(self) -> None:
        """Give leave."""
        if not self.writer.is_closing():
            self.writer.write(b".")
            self.writer.close()

    def drop(self) -> None:
        """Give leave: a file is no connection that could be cut."""
        self.let_go()


@dataclass
class Door:
    """Where processes ask for leave, at a socket of this path."""

    path: Path
    gate: Gate
    _server: asyncio.Server | None = None

    async def open(self) -> None:
        """Listen."""
        self._server = await asyncio.start_unix_server(self._asked, self.path)

    def close(self) -> None:
        """Stop listening."""
        if self._server is not None:
            self._server.close()

    async def _asked(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        what = (await reader.readline()).decode().strip()
        peer = writer.get_extra_info("socket")
        pid = _PEER.unpack(peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size))[0]
        held, trap = AtDoor(pid, writer), self.gate.arrive(f"file {what}")
        if trap is None:
            held.let_go()
        else:
            self.gate.spring(trap, held)


def ask_at(door: str, folder: str) -> None:
    """Let this process ask at a door before it changes anything below a folder, for as long as it lives."""

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if (what := _what(event, arguments, folder)) is not None:
            with socket.socket(socket.AF_UNIX) as asking:
                asking.connect(door)
                asking.sendall(what.encode() + b"\n")
                asking.recv(1)

    sys.addaudithook(hook)


def _what(event: str, arguments: tuple[Any, ...], folder: str) -> str | None:
    if event not in {"open", "os.link", "os.remove"} or not isinstance(
        arguments[0], str | os.PathLike
    ):
        return None
    if not str(os.fspath(arguments[0])).startswith(folder):
        return None
    match event:
        case "os.link":
            return "link"
        case "os.remove":
            return "remove"
        case _:
            return _opening(arguments[_FLAGS])


def _opening(flags: int) -> str | None:
    if flags & os.O_CREAT:
        return "create"
    # With its own bit only: on Linux it is part of O_TMPFILE.
    return "sync" if flags & os.O_DIRECTORY else None
