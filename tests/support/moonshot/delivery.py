"""How an answer gets to a client, and every way in which it does not: ASGI applications that serve one response."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable

from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from tests.support.moonshot.answers import Answer
from tests.support.moonshot.faults import Fault, FaultKind
from tests.support.moonshot.refusals import OVERLOADED, Refusal
from tests.support.moonshot.seen import Outcome
from tests.support.served import hang_up

#: The faults of delivery.
BREAKING = frozenset(
    {
        FaultKind.OVERLOADED_IN_STREAM,
        FaultKind.CUT_BEFORE_ANSWER,
        FaultKind.CUT_IN_STREAM,
        FaultKind.ENDED_IN_STREAM,
        FaultKind.SILENT,
        FaultKind.BODY_NOT_JSON,
        FaultKind.LINE_NOT_JSON,
    }
)
NOT_JSON = "<html><body>502 Bad Gateway</body></html>"
LINE_NOT_JSON = '{"id":"chatcmpl-'
#: Returns when the client has left or the server closes.
Stall = Callable[[Receive], Awaitable[None]]


def refused(refusal: Refusal, retry_after_seconds: int | None = None) -> Response:
    """Return the error as a response."""
    headers = {} if retry_after_seconds is None else {"retry-after": str(retry_after_seconds)}
    return JSONResponse(refusal.body, refusal.status, headers)


def whole(answer: Answer) -> ASGIApp:
    """Return the answer as it should be."""
    if answer.request.stream:
        return _Stream([_event(one) for one in answer.events()])
    return JSONResponse(answer.body)


def broken(answer: Answer, fault: Fault, stall: Stall) -> ASGIApp:
    """Return the answer as a fault of delivery leaves it."""
    if fault.kind is FaultKind.CUT_BEFORE_ANSWER:
        return _cut
    if fault.kind is FaultKind.BODY_NOT_JSON:
        return Response(NOT_JSON, media_type="text/html")
    deliver = _streamed if answer.request.stream else _plain
    return deliver(answer, fault, stall)


def broken_outcome(answer: Answer, fault: Fault) -> Outcome:
    """Return what becomes of a call that a fault of delivery meets.

    Nothing is billed, but for a stream with one bad line: it arrives all the same.
    """
    stream = answer.request.stream
    match fault.kind:
        case FaultKind.CUT_BEFORE_ANSWER:
            return Outcome(None, fault=fault.kind)
        case FaultKind.SILENT if not stream:
            return Outcome(None, fault=fault.kind)
        case FaultKind.OVERLOADED_IN_STREAM:
            return Outcome(200 if stream else 429, OVERLOADED.type, fault.kind)
        case FaultKind.LINE_NOT_JSON if stream:
            return Outcome(200, None, fault.kind, answer, answer.usage.total)
        case _:
            return Outcome(200, fault=fault.kind)


def _streamed(answer: Answer, fault: Fault, stall: Stall) -> ASGIApp:
    events = [_event(one) for one in answer.events()]
    # The last chunk with a choice says how it finished; what breaks off does so before.
    extra = 3 if answer.request.include_usage else 2
    before = events[: min(fault.chunks, len(events) - extra)]
    match fault.kind:
        case FaultKind.OVERLOADED_IN_STREAM:
            return _Stream([*before, _event(json.dumps(OVERLOADED.body))])
        case FaultKind.CUT_IN_STREAM:
            return _Stream(before, then=_cut)
        case FaultKind.SILENT:
            return _Stream(before, then=_silence(stall))
        case FaultKind.LINE_NOT_JSON:
            return _Stream([*before, _event(LINE_NOT_JSON), *events[len(before) :]])
        case _:
            return _Stream(before)


def _plain(answer: Answer, fault: Fault, stall: Stall) -> ASGIApp:
    body = json.dumps(answer.body).encode()
    match fault.kind:
        case FaultKind.OVERLOADED_IN_STREAM:
            return refused(OVERLOADED, fault.retry_after_seconds)
        case FaultKind.CUT_IN_STREAM:
            headers = [(b"content-length", str(len(body)).encode())]
            return _Stream([body[: len(body) // 2]], "application/json", headers, then=_cut)
        case FaultKind.SILENT:
            return _silence(stall)
        case FaultKind.LINE_NOT_JSON:
            return Response(NOT_JSON, media_type="text/html")
        case _:
            return Response(b"", media_type="application/json")


class _Stream:
    """Sends parts one by one, and then ends well or goes on with something else."""

    def __init__(
        self,
        parts: Iterable[bytes],
        media_type: str = "text/event-stream",
        headers: list[tuple[bytes, bytes]] | None = None,
        then: ASGIApp | None = None,
    ) -> None:
        self._parts = list(parts)
        self._headers = [(b"content-type", media_type.encode()), *(headers or [])]
        self._then = then

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self._headers})
        for part in self._parts:
            await send({"type": "http.response.body", "body": part, "more_body": True})
        if self._then is not None:
            await self._then(scope, receive, send)
        else:
            await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _cut(scope: Scope, receive: Receive, send: Send) -> None:
    """Hang up, and return when the server knows it: it answers 500 for who returns without a word before."""
    hang_up(scope)
    await _left(receive)


def _silence(stall: Stall) -> ASGIApp:
    async def wait(scope: Scope, receive: Receive, send: Send) -> None:
        await stall(receive)
        await _cut(scope, receive, send)

    return wait


async def until_left(receive: Receive, closing: asyncio.Event) -> bool:
    """Return when the client has left (True) or the server closes (False), without a clock."""
    leaving = asyncio.ensure_future(_left(receive))
    ending = asyncio.create_task(closing.wait())
    await asyncio.wait({leaving, ending}, return_when=asyncio.FIRST_COMPLETED)
    left = leaving.done()
    for one in (leaving, ending):
        one.cancel()
    return left


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _event(data: str) -> bytes:
    return f"data: {data}\n\n".encode()
