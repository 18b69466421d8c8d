"""What fails at the scripted Moonshot server is one call and one typed error, which repeats nothing of prompt, answer or key."""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from ledger.canonical import Json, canonical
from ledger.journal import Received
from nodes.models.answers import understood
from nodes.models.base import Message
from nodes.models.errors import (
    BadRequest,
    ContentFiltered,
    ContextOverflow,
    EmptyAnswer,
    EndpointDown,
    KeyRefused,
    Malformed,
    ModelError,
    Overloaded,
    PermissionDenied,
    QuotaExhausted,
    RateLimited,
    StreamCut,
    StreamSilent,
    Truncated,
    UnknownModel,
)
from tests.support.model_asks import ASK, Findings, client, reply
from tests.support.moonshot.faults import Fault, FaultKind
from tests.support.moonshot.server import MoonshotServer, moonshot_server
from tests.support.waiting import wait_until

# Long for a server on this machine, short for a test that waits for it once.
IDLE_SECONDS = 0.5


@pytest.fixture
def server() -> Iterator[MoonshotServer]:
    with moonshot_server() as running:
        yield running


@pytest.mark.parametrize(
    ("kind", "expected", "attributes"),
    [
        (FaultKind.OVERLOADED, Overloaded, {}),
        (FaultKind.OVERLOADED_IN_STREAM, Overloaded, {}),
        (FaultKind.CONCURRENCY, RateLimited, {"kind": "concurrency", "retry_after": 1.0}),
        (FaultKind.REQUESTS_PER_MINUTE, RateLimited, {"kind": "rpm", "retry_after": 1.0}),
        (FaultKind.TOKENS_PER_MINUTE, RateLimited, {"kind": "tpm"}),
        (FaultKind.TOKENS_PER_DAY, RateLimited, {"kind": "tpd"}),
        (FaultKind.QUOTA, QuotaExhausted, {}),
        (FaultKind.QUOTA_FORBIDDEN, QuotaExhausted, {}),
        (FaultKind.UNAUTHENTICATED, KeyRefused, {}),
        (FaultKind.INCORRECT_KEY, KeyRefused, {}),
        (FaultKind.FORBIDDEN, PermissionDenied, {}),
        (FaultKind.SERVER_ERROR, EndpointDown, {}),
        (FaultKind.CONTENT_FILTERED, ContentFiltered, {}),
        (FaultKind.CONTEXT_OVERFLOW, ContextOverflow, {"limit": 1_048_576}),
        (FaultKind.INPUT_TOO_LONG, ContextOverflow, {"limit": None}),
        (FaultKind.CUT_BEFORE_ANSWER, EndpointDown, {}),
        (FaultKind.CUT_IN_STREAM, StreamCut, {}),
        (FaultKind.ENDED_IN_STREAM, StreamCut, {}),
        (FaultKind.BODY_NOT_JSON, Malformed, {"text": ""}),
        (FaultKind.LINE_NOT_JSON, Malformed, {"text": ""}),
    ],
)
async def test_each_fault_is_one_call_and_its_own_error(
    server: MoonshotServer,
    kind: FaultKind,
    expected: type[ModelError],
    attributes: dict[str, object],
) -> None:
    server.schedule = [Fault(kind)]
    async with client(server) as model:
        with pytest.raises(ModelError) as failed:
            await model.receive(ASK)
        assert type(failed.value) is expected
        assert {name: getattr(failed.value, name) for name in attributes} == attributes
        assert len(server.log.calls) == 1
        # The client goes on as if nothing had been.
        await reply(model)


async def test_how_long_to_wait_comes_with_the_error(server: MoonshotServer) -> None:
    server.schedule = [Fault(FaultKind.OVERLOADED, retry_after_seconds=40)]
    async with client(server) as model:
        with pytest.raises(Overloaded) as failed:
            await model.receive(ASK)
    assert failed.value.retry_after == 40.0


@pytest.mark.parametrize("chunks", [0, 3])
async def test_a_silent_stream_is_left_after_the_idle_timeout(
    server: MoonshotServer, chunks: int
) -> None:
    server.schedule = [Fault(FaultKind.SILENT, chunks=chunks)]
    async with client(server, idle_seconds=IDLE_SECONDS) as model:
        with pytest.raises(StreamSilent) as failed:
            await model.receive(ASK)
    assert failed.value.idle_seconds == IDLE_SECONDS


async def test_a_call_that_is_given_up_leaves_the_endpoint_at_once(
    server: MoonshotServer,
) -> None:
    server.schedule = [Fault(FaultKind.SILENT)]
    async with client(server) as model:
        asked = asyncio.create_task(model.receive(ASK))
        await asyncio.to_thread(
            wait_until, lambda: server.log.calls and server.log.calls[0].outcome
        )
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        await asyncio.to_thread(wait_until, lambda: server.log.calls[0].left)
        await reply(model)


async def test_calls_at_once_are_told_apart(server: MoonshotServer) -> None:
    server.brain = lambda request: json.dumps(
        {"findings": [{"claim": request.last, "stance": "for"}]}
    )
    asks = [replace(ASK, messages=(Message("user", f"question {n}"),)) for n in range(8)]
    async with client(server) as model:
        replies = await asyncio.gather(*(reply(model, ask) for ask in asks))
    claims = [Findings.model_validate(got.value).findings[0].claim for got in replies]
    assert claims == [ask.messages[0].content for ask in asks]
    assert len({got.response_id for got in replies}) == len(asks)


async def test_a_cut_stream_says_whose_answer_it_was(server: MoonshotServer) -> None:
    server.schedule = [Fault(FaultKind.CUT_IN_STREAM, chunks=4)]
    async with client(server) as model:
        with pytest.raises(StreamCut) as failed:
            await model.receive(ASK)
    assert failed.value.response_id is not None
    assert failed.value.response_id.startswith("chatcmpl-")


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (FaultKind.LENGTH, Truncated),
        (FaultKind.LENGTH_IN_REASONING, Truncated),
        (FaultKind.EMPTY_CONTENT, EmptyAnswer),
        (FaultKind.MALFORMED_CONTENT, Malformed),
        (FaultKind.SCHEMA_BROKEN, Malformed),
    ],
)
async def test_an_answer_that_is_no_use_is_received_and_its_tokens_are_told(
    server: MoonshotServer, kind: FaultKind, expected: type[ModelError]
) -> None:
    server.schedule = [Fault(kind)]
    async with client(server) as model:
        received = await model.receive(ASK)
        with pytest.raises(expected) as failed:
            model.understand(ASK, received)
    (call,) = server.log.calls
    assert call.outcome is not None
    usage = failed.value.usage
    assert usage.prompt_tokens + usage.completion_tokens == call.outcome.billed_tokens
    assert failed.value.response_id is not None
    assert server.log.billed_tokens == call.outcome.billed_tokens


async def test_a_malformed_answer_keeps_its_text_and_does_not_say_it(
    server: MoonshotServer,
) -> None:
    said = '{"findings": [{"claim": "secret", "stance": "maybe", "secret": 1}]}'
    server.brain = lambda request: said
    async with client(server) as model:
        with pytest.raises(Malformed) as failed:
            await reply(model)
    assert failed.value.text == said
    assert "/findings/0/stance is none of for, against" in failed.value.problem
    assert "secret" not in str(failed.value)


@pytest.mark.parametrize(
    "said", ['{"findings": [{"claim": "c", "stance": "for", "weight": NaN}]}', "[" * 100_000, "nil"]
)
async def test_what_is_no_json_is_malformed(server: MoonshotServer, said: str) -> None:
    server.brain = lambda request: said
    async with client(server) as model:
        with pytest.raises(Malformed, match="no JSON"):
            await reply(model)


async def test_an_endpoint_that_is_away_is_down_and_there_again_afterwards(
    server: MoonshotServer,
) -> None:
    async with client(server) as model:
        await reply(model)
        with server.away(), pytest.raises(EndpointDown):
            await model.receive(ASK)
        await reply(model)
    assert len(server.log.calls) == 2


async def test_a_model_that_the_endpoint_does_not_have_is_named(server: MoonshotServer) -> None:
    async with client(server, model="kimi-k2.6") as model:
        with pytest.raises(UnknownModel, match=r"kimi-k2\.6"):
            await model.receive(ASK)


async def test_a_schema_outside_the_dialect_is_a_bad_request(server: MoonshotServer) -> None:
    wrong: dict[str, Json] = {
        "type": "object",
        "properties": {"a": {"type": "string", "pattern": "secret"}},
    }
    async with client(server) as model:
        with pytest.raises(BadRequest, match="schema of the answer") as failed:
            await model.receive(replace(ASK, schema=wrong))
    assert "secret" not in str(failed.value)


async def test_a_longer_prompt_than_fits_is_an_overflow_with_its_numbers() -> None:
    with moonshot_server(window_tokens=1_000) as server:
        ask = replace(ASK, messages=(Message("user", "word " * 2_000),))
        async with client(server) as model:
            with pytest.raises(ContextOverflow) as failed:
                await model.receive(ask)
    assert failed.value.limit == 1_000
    assert failed.value.requested is not None
    assert failed.value.requested > 1_000


def test_what_another_client_kept_is_understood_too() -> None:
    body = {
        "content": '{"findings": [{"claim": "c", "stance": "for"}]}', "reasoning": None, "finish_reason": "content_filter",
        "usage": {"prompt_tokens": 3, "completion_tokens": 2, "cached_tokens": 1},
        "response_id": None, "model": None, "fingerprint": None,
    }  # fmt: skip
    with pytest.raises(ContentFiltered) as failed:
        understood(ASK, Received(canonical(body), "application/json", {}))
    assert failed.value.usage.prompt_tokens == 3
    body["finish_reason"] = "stop"
    assert understood(ASK, Received(canonical(body), "application/json", {})).model == ""
