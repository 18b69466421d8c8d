"""The scripted Moonshot server; `moonshot_server` starts it. Brain, schedule, keys and models can be changed at any time.

Limits of what it stands for: a token is four characters (`chat.tokens_of`), the cache knows whole messages only, and nothing
is limited by time. Files, web search and the Anthropic surface are not there.
"""

import asyncio
import secrets
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tests.support.moonshot import refusals
from tests.support.moonshot.alterations import ALTERATIONS
from tests.support.moonshot.answers import Answer, compose
from tests.support.moonshot.brain import Brain, default_brain
from tests.support.moonshot.chat import ChatRequest, shared_tokens
from tests.support.moonshot.delivery import (
    BREAKING,
    broken,
    broken_outcome,
    refused,
    until_left,
    whole,
)
from tests.support.moonshot.endpoints import free_answer, json_body
from tests.support.moonshot.faults import REFUSALS, Fault, FaultKind, Schedule, scheduled
from tests.support.moonshot.refusals import Refusal
from tests.support.moonshot.rules import check
from tests.support.moonshot.seen import Log, Outcome, Seen
from tests.support.served import Served

KEY = "sk-moonshot-test"
MODEL = "kimi-k3"
# K3's context window.
WINDOW_TOKENS = 1_048_576
# Brains that wait each hold a thread; more than any test asks at once.
_THREADS_MAX = 64
_Result = TypeVar("_Result")


class MoonshotServer:
    """One server at `url`, with the `keys` and the `models` that it knows and the `log` of all that reached it."""

    def __init__(
        self,
        brain: Brain = default_brain,
        schedule: Schedule = (),
        *,
        keys: Iterable[str] = (KEY,),
        models: Iterable[str] = (MODEL,),
        window_tokens: int = WINDOW_TOKENS,
        concurrency_max: int | None = None,
    ) -> None:
        self.brain = brain
        self.schedule = schedule
        self.keys = set(keys)
        self.models = list(models)
        self.window_tokens = window_tokens
        self.concurrency_max = concurrency_max
        self.log = Log()
        self._served = Served(self._serve)
        self.url = f"{self._served.address}/v1"
        self._threads = ThreadPoolExecutor(_THREADS_MAX)
        self._errors: list[BaseException] = []

    @property
    def requests(self) -> list[Seen]:
        """Every request that came, in order."""
        return self.log.requests

    @property
    def calls(self) -> list[Seen]:
        """The chat completions among them, duplicates too."""
        return self.log.calls

    @property
    def most_at_once(self) -> int:
        """How many chat completions were at work at once, at most."""
        return self.log.most_at_once

    @contextmanager
    def running(self) -> Iterator["MoonshotServer"]:
        """Serve until the block ends, and raise there what a brain or a schedule has raised."""
        with self._served.running():
            try:
                yield self
            finally:
                self._threads.shutdown(wait=False, cancel_futures=True)
        if self._errors:
            raise self._errors[0]

    @contextmanager
    def away(self) -> Iterator[None]:
        """Refuse connections until the block ends; then be there again at the same address."""
        with self._served.away():
            yield

    def settle(self) -> None:
        """Return once everything that dead clients had sent is counted."""
        self._served.settle()

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        seen = await _arrived(Request(scope, receive))
        self.log.add(seen)
        try:
            answer = await self._answer(seen)
            await answer(scope, receive, _traced(send, seen))
        finally:
            self.log.end(seen)

    async def _answer(self, seen: Seen) -> ASGIApp:
        try:
            if seen.key not in self.keys:
                raise refusals.UNAUTHENTICATED
            if seen.call is not None:
                return await self._chat(seen, seen.call)
            response = free_answer(seen, self.models, self.window_tokens)
        except Refusal as refusal:
            return _refuse(seen, refusal)
        seen.outcome = Outcome(response.status_code)
        return response

    async def _chat(self, seen: Seen, call: int) -> ASGIApp:
        request = ChatRequest(json_body(seen))
        check(request, models=self.models, window_tokens=self.window_tokens)
        if self.concurrency_max is not None and self.log.at_once > self.concurrency_max:
            raise refusals.CONCURRENCY
        fault = await self._ask(scheduled, self.schedule, call, request)
        if fault and (refusal := self._refusal(fault, request)):
            return _refuse(seen, refusal, fault)
        said = await self._ask(self.brain, request)
        answer = compose(request, said, cached_tokens=shared_tokens(request, self.log.answered()))
        return self._deliver(seen, answer, fault)

    def _refusal(self, fault: Fault, request: ChatRequest) -> Refusal | None:
        if fault.kind is FaultKind.CONTEXT_OVERFLOW:
            requested = self.window_tokens + request.prompt_tokens
            return refusals.token_limit_exceeded(limit=self.window_tokens, requested=requested)
        return REFUSALS.get(fault.kind)

    def _deliver(self, seen: Seen, answer: Answer, fault: Fault | None) -> ASGIApp:
        if fault and fault.kind in BREAKING:
            seen.outcome = broken_outcome(answer, fault)
            return broken(answer, fault, partial(self._stall, seen))
        if fault and (alter := ALTERATIONS.get(fault.kind)):
            answer = alter(answer)
        kind = fault.kind if fault else None
        seen.outcome = Outcome(200, None, kind, answer, answer.usage.total)
        if kind is FaultKind.LATE_DUPLICATE:
            # Before the answer leaves, so that whoever has it finds the repetition counted.
            self.log.add_duplicate(seen)
        return whole(answer)

    async def _stall(self, seen: Seen, receive: Receive) -> None:
        seen.left = await until_left(receive, self._served.closing)

    async def _ask(self, function: Callable[..., _Result], *arguments: object) -> _Result:
        """Call what the test gave in a thread of its own, and keep what it raises for the end of the block."""
        loop = asyncio.get_running_loop()
        asked = loop.run_in_executor(self._threads, function, *arguments)
        await asyncio.wait({asked})
        if error := asked.exception():
            self._errors.append(error)
        return asked.result()


@contextmanager
def moonshot_server(
    brain: Brain = default_brain,
    schedule: Schedule = (),
    *,
    keys: Iterable[str] = (KEY,),
    models: Iterable[str] = (MODEL,),
    window_tokens: int = WINDOW_TOKENS,
    concurrency_max: int | None = None,
) -> Iterator[MoonshotServer]:
    """Serve until the block ends.

    `schedule` says which call fails how (`faults`), `window_tokens` is the context window, and more than
    `concurrency_max` chat completions at once get a 429. Raises at the end what the brain or the schedule raised.
    """
    server = MoonshotServer(
        brain,
        schedule,
        keys=keys,
        models=models,
        window_tokens=window_tokens,
        concurrency_max=concurrency_max,
    )
    with server.running():
        yield server


async def _arrived(request: Request) -> Seen:
    headers = dict(request.headers)
    scheme, _, key = headers.pop("authorization", "").partition(" ")
    return Seen(
        method=request.method,
        path=request.url.path,
        headers=headers,
        key=key if scheme == "Bearer" else None,
        raw=await request.body(),
        trace_id=secrets.token_hex(8),
    )


def _refuse(seen: Seen, refusal: Refusal, fault: Fault | None = None) -> ASGIApp:
    seen.outcome = Outcome(refusal.status, refusal.type, fault.kind if fault else None)
    return refused(refusal, fault.retry_after_seconds if fault else None)


def _traced(send: Send, seen: Seen) -> Send:
    async def traced(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(raw=message["headers"])["x-trace-id"] = seen.trace_id
        await send(message)

    return traced
