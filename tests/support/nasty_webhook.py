"""A webhook that counts what it carries out, and that can answer in every way that makes a client believe something else.

It keeps the rules of the IETF's draft for Idempotency-Key: a key that it remembers is replayed, with another payload it is
422, while it is at work 409. Its counts, not what a client believes, say how often something was carried out. One
server holds many places, told apart by the first part of the path, and outlives the clients that are killed.
"""

import asyncio
import json
import socket
import ssl
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from email.utils import format_datetime, parsedate_to_datetime
from threading import Event, Lock, Thread
from typing import Any, Literal, TypeAlias

import trustme

Way: TypeAlias = Literal[
    "well", "cut_before", "cut_after", "error_after", "in_progress", "other_payload", "late", "late_unprocessed",
    "wrong_content", "redirect", "slow_body", "too_many", "too_many_until", "unavailable", "error", "unauthorized",
    "huge", "cut_answer", "echo",
]  # fmt: skip
LookUpWay: TypeAlias = Literal[
    "well", "lagging", "lying", "silent", "not_offered", "in_progress", "cut", "error"
]

RETRY_AFTER_SECONDS = 7
_DATE = "Tue, 01 Dec 2026 06:00:00 GMT"
_REASONS = {200: "OK", 302: "Found", 404: "Not Found", 409: "Conflict", 422: "Unprocessable"}
# Between two bytes of a slow body: far less than any timeout for one read.
DRIP_SECONDS = 0.02


@dataclass(frozen=True)
class Asked:
    """One request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def key(self) -> str:
        """The key without the quotes of a structured string."""
        value = self.headers.get("idempotency-key", "")
        assert value[:1] == value[-1:] == '"', "the draft asks for a string"
        return value[1:-1].replace('\\"', '"').replace("\\\\", "\\")


@dataclass
class Place:
    """One receiver: what came, what was carried out how often, and how the next requests are answered."""

    address: str
    asked: list[Asked] = field(default_factory=list[Asked])
    #: How often something was carried out, by key.
    effects: Counter[str] = field(default_factory=Counter[str])
    #: What is remembered: the payload and the id of its effect, by key.
    kept: dict[str, tuple[bytes, str]] = field(default_factory=dict[str, tuple[bytes, str]])
    #: How the next POSTs and GETs are answered, in turn; then well.
    ways: list[Way] = field(default_factory=list[Way])
    look_ups: list[LookUpWay] = field(default_factory=list[LookUpWay])
    #: How much patience is asked for, where some is; and whether each key is forgotten as soon as it was used.
    retry_after_seconds: int = RETRY_AFTER_SECONDS
    forgets: bool = False
    #: How often a request is sent on by what stands in front of the server.
    deliveries: int = 1

    def forget(self) -> None:
        """Let the window of all keys pass."""
        self.kept.clear()

    def carry_out(self, asked: Asked) -> tuple[int, dict[str, Any]]:
        """Do what a POST asks for as often as it is delivered; returns the last answer."""
        for _ in range(self.deliveries - 1):
            self._once(asked)
        return self._once(asked)

    def _once(self, asked: Asked) -> tuple[int, dict[str, Any]]:
        if asked.key in self.kept:
            payload, name = self.kept[asked.key]
            if payload != asked.body:
                return 422, {"title": "this key was used with another payload"}
            return 200, {"id": name}
        self.effects[asked.key] += 1
        name = f"ticket-{sum(self.effects.values())}"
        if not self.forgets:
            self.kept[asked.key] = (asked.body, name)
        return 201, {"id": name}


class NastyWebhook:
    """The server, in a thread of its own on a free port of the loopback interface; with TLS, `authority` signed it."""

    def __init__(self, *, tls: bool = False) -> None:
        self.authority = trustme.CA()
        self._context: ssl.SSLContext | None = None
        if tls:
            self._context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            self.authority.issue_cert("127.0.0.1", "localhost").configure_cert(self._context)
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port: int = self._socket.getsockname()[1]
        self.address = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"
        self._places: dict[str, Place] = {}
        self._lock = Lock()
        self._ready = Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._thread = Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    def place(self, name: str) -> Place:
        """Return the place of this name."""
        with self._lock:
            return self._places.setdefault(name, Place(f"{self.address}/{name}"))

    def trusting(self) -> ssl.SSLContext:
        """Return a client's context that believes in the server's certificate."""
        context = ssl.create_default_context()
        self.authority.configure_trust(context)
        return context

    @contextmanager
    def running(self) -> Iterator["NastyWebhook"]:
        """Serve until the block ends."""
        self._thread.start()
        self._ready.wait()
        try:
            yield self
        finally:
            assert self._loop is not None
            assert self._stop is not None
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join()
            self._socket.close()

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        at_work: set[asyncio.Task[None]] = set()

        def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.create_task(self._connection(reader, writer))
            at_work.add(task)
            task.add_done_callback(at_work.discard)

        server = await asyncio.start_server(take, sock=self._socket, ssl=self._context)
        self._ready.set()
        await self._stop.wait()
        server.close()
        for task in at_work:
            task.cancel()
        await asyncio.gather(*at_work, return_exceptions=True)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            asked = await _read(reader)
            place = self.place(asked.path.split("/")[1].partition("?")[0])
            place.asked.append(asked)
            answer = _Answer(reader, writer)
            if asked.method == "GET":
                await _look_up(place, asked, answer)
            else:
                await _post(place, asked, answer)
        except (ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
            pass
        finally:
            writer.close()


async def _read(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, path, _ = head[0].split(" ")
    headers = {
        name.lower(): value.strip()
        for name, _, value in (line.partition(":") for line in head[1:] if line)
    }
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Asked(method, path, headers, body)


@dataclass
class _Answer:
    """What a client gets."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def give(
        self, status: int, content: bytes | dict[str, Any] = b"", **headers: str
    ) -> None:
        """Answer whole."""
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.writer.write(_head(status, len(body), headers) + body)
        await self.writer.drain()

    def cut(self) -> None:
        """Hang up without a word."""
        self.writer.transport.abort()

    async def gone(self) -> None:
        """Return when the client has hung up."""
        with suppress(ConnectionError):
            await self.reader.read()


def _head(status: int, length: int, headers: dict[str, str]) -> bytes:
    lines = [
        f"HTTP/1.1 {status} {_REASONS.get(status, 'Status')}",
        f"Content-Length: {length}",
        "Content-Type: application/json",
        f"Date: {_DATE}",
        "Connection: close",
        *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items()),
    ]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


async def _post(place: Place, asked: Asked, answer: _Answer) -> None:
    way = place.ways.pop(0) if place.ways else "well"
    before: dict[Way, tuple[int, dict[str, Any], dict[str, str]]] = {
        "in_progress": (409, {}, {"Retry_After": str(place.retry_after_seconds)}),
        "other_payload": (422, {}, {}),
        "redirect": (307, {}, {"Location": f"{place.address}-elsewhere?token=canary"}),
        "too_many": (429, {}, {"Retry_After": str(place.retry_after_seconds)}),
        "too_many_until": (429, {}, {"Retry_After": _later(place.retry_after_seconds)}),
        "unavailable": (503, {}, {"Retry_After": str(place.retry_after_seconds)}),
        "error": (500, {}, {}),
        "unauthorized": (401, {"you_sent": asked.headers.get("authorization", "")}, {}),
    }
    if way in before:
        status, content, headers = before[way]
        await answer.give(status, content, **headers)
    elif way == "cut_before":
        answer.cut()
    elif way == "late_unprocessed":
        await answer.gone()
    else:
        await _carried_out(place, asked, answer, way)


async def _carried_out(place: Place, asked: Asked, answer: _Answer, way: Way) -> None:
    status, content = place.carry_out(asked)
    match way:
        case "cut_after":
            answer.cut()
        case "error_after":
            await answer.give(500, {"title": "lost my mind after the commit"})
        case "late":
            await answer.gone()
        case "wrong_content":
            await answer.give(200, b"<html>\xff thank you \x00</html>")
        case "huge":
            await answer.give(200, b'{"id": "' + b"x" * 1_000_000 + b'"}')
        case "cut_answer":
            answer.writer.write(_head(200, 1000, {}) + b'{"id": ')
            await answer.writer.drain()
        case "slow_body":
            answer.writer.write(_head(200, 100_000, {}))
            for _ in range(100_000):
                answer.writer.write(b" ")
                await answer.writer.drain()
                await asyncio.sleep(DRIP_SECONDS)
        case "echo":
            await answer.give(200, {"id": asked.headers.get("authorization", "")})
        case _:
            await answer.give(status, content)


async def _look_up(place: Place, asked: Asked, answer: _Answer) -> None:
    way = place.look_ups.pop(0) if place.look_ups else "well"
    found = place.kept.get(asked.key)
    if way == "lagging" or (found is None and way == "well"):
        await answer.give(404)
        return
    told = json.loads(found[0])["request_digest"] if found else ""
    name = found[1] if found else ""
    match way:
        case "lying":
            await answer.give(200, {"id": name, "request_digest": f"sha256:{'0' * 64}"})
        case "silent":
            await answer.give(200, {"id": name})
        case "not_offered":
            await answer.give(405)
        case "in_progress":
            await answer.give(202, {}, Retry_After="1")
        case "cut":
            answer.cut()
        case "error":
            await answer.give(500)
        case _:
            await answer.give(200, {"id": name, "request_digest": told})


def _later(seconds: int) -> str:
    return format_datetime(parsedate_to_datetime(_DATE) + timedelta(seconds=seconds), usegmt=True)
