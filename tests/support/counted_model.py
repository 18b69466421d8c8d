"""A counter before a model's endpoint: it passes every call on as it is, remembers it, and can stand still in the middle.

What reached the endpoint is what this saw, whatever the process that asked lived to write down.
"""

import json
from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field
from threading import Event

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from tests.support.served import Served

# So much of an answer is passed on before it stands still.
_PIECES_BEFORE = 3
_DATA = b"data: "


@dataclass
class Call:
    """One call: what was asked, the id of the answer, and whether all of it left, or it stood still."""

    body: bytes
    response_id: str | None = None
    status: int | None = None
    whole: bool = False
    stopped: bool = False

    @property
    def asked(self) -> str:
        """The name of the schema of its answer."""
        return str(json.loads(self.body)["response_format"]["json_schema"]["name"])


@dataclass
class Counted:
    """The calls in their order. One whose answer is `stop_at` stands still in its middle and sets `stopped`."""

    address: str
    calls: list[Call] = field(default_factory=list[Call])
    stop_at: str | None = None
    stopped: Event = field(default_factory=Event)

    @property
    def base_url(self) -> str:
        """What PERDURE_MODEL_BASE_URL is for this endpoint."""
        return f"{self.address}/v1"

    def asked_after(self, response_ids: Collection[str | None]) -> list[str]:
        """Return what was asked again, word for word, after the answers with these ids had come."""
        answered: set[bytes] = set()
        again: list[str] = []
        for call in self.calls:
            if call.body in answered:
                again.append(call.asked)
            if call.response_id in response_ids:
                answered.add(call.body)
        return again


@contextmanager
def counted_model(upstream: str) -> Iterator[Counted]:
    """Count the calls to the endpoint at `upstream` until the block ends."""
    counter = _Counter(upstream)
    with counter.served.running():
        yield counter.counted


class _Counter:
    """Passes calls on."""

    def __init__(self, upstream: str) -> None:
        self._upstream = upstream
        path = "/v1/chat/completions"
        self.served = Served(Starlette(routes=[Route(path, self._passed_on, methods=["POST"])]))
        self.counted = Counted(self.served.address)

    async def _passed_on(self, request: Request) -> Response:
        call = Call(await request.body())
        self.counted.calls.append(call)
        client = httpx.AsyncClient(timeout=None)
        sent = client.build_request(
            "POST",
            f"{self._upstream}{request.url.path}",
            content=call.body,
            headers={"content-type": "application/json"},
        )
        answer = await client.send(sent, stream=True)
        call.status = answer.status_code
        return StreamingResponse(
            self._pieces(client, answer, call),
            answer.status_code,
            {"content-type": answer.headers["content-type"]},
        )

    async def _pieces(
        self, client: httpx.AsyncClient, answer: httpx.Response, call: Call
    ) -> AsyncIterator[bytes]:
        number = 0
        async with aclosing(client), aclosing(answer):
            async for piece in answer.aiter_raw():
                call.response_id = call.response_id or _id_in(piece)
                yield piece
                number += 1
                if number == _PIECES_BEFORE and call.asked == self.counted.stop_at:
                    await self._stand_still(call)
            call.whole = True

    async def _stand_still(self, call: Call) -> None:
        """Say no more until whoever asked has gone, or serving ends."""
        self.counted.stop_at, call.stopped = None, True
        self.counted.stopped.set()
        await self.served.closing.wait()


def _id_in(piece: bytes) -> str | None:
    """Return the id that an event of a stream says, if this is one whole."""
    first, _, _ = piece.removeprefix(_DATA).partition(b"\n")
    try:
        return str(json.loads(first)["id"])
    except (ValueError, KeyError):
        return None
