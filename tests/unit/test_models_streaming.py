"""What the client makes of streams as servers other than Moonshot's send them; httpx's own mock transport plays them."""

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from typing_extensions import override

from ledger.canonical import Json
from nodes.models.base import Ask, Message, Reply, Usage
from nodes.models.chat import ChatModel
from nodes.models.errors import (
    ContextOverflow,
    EndpointDown,
    Malformed,
    ModelError,
    StreamCut,
    StreamSilent,
)
from nodes.models.profile import profile_of

SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {"a": {"type": "integer"}},
    "required": ["a"],
}
ASK = Ask((Message("user", "How many?"),), "answer", SCHEMA, 100)
PROFILE = profile_of("openai:model", "http://127.0.0.1:8000/v1")
USAGE = {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13}


def chunk(delta: dict[str, Any] | None, **choice: Any) -> str:
    choices = [{"index": 0, "delta": delta, "finish_reason": None, **choice}]
    return json.dumps(
        {"id": "c-1", "object": "chat.completion.chunk", "model": "m", "choices": choices}
    )


SAID = chunk({"role": "assistant", "content": '{"a": 1}'})
FINISHED = chunk({}, finish_reason="stop")
USED = json.dumps({"id": "c-1", "object": "chat.completion.chunk", "choices": [], "usage": USAGE})


class Events(httpx.AsyncByteStream):
    """A body of events that ends well or with an error of the connection."""

    def __init__(self, events: tuple[str, ...], failure: httpx.HTTPError | None) -> None:
        self._events = events
        self._failure = failure

    @override
    async def __aiter__(self) -> AsyncIterator[bytes]:
        for event in self._events:
            yield f"data: {event}\n\n".encode()
        if self._failure is not None:
            raise self._failure


async def answered(
    *events: str, failure: httpx.HTTPError | None = None, status: int = 200
) -> Reply:
    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(status, stream=Events(events, failure))

    model = ChatModel(
        PROFILE,
        lambda: None,
        http=lambda: httpx.AsyncClient(transport=httpx.MockTransport(answer)),
    )
    try:
        return model.understand(ASK, await model.receive(ASK))
    finally:
        await model.aclose()


async def test_usage_is_that_of_the_whole_call_however_often_it_comes() -> None:
    """vLLM can be told to send the usage so far with every chunk."""
    so_far = json.loads(SAID) | {"usage": {**USAGE, "completion_tokens": 3}}
    got = await answered(json.dumps(so_far), FINISHED, USED, "[DONE]")
    assert got.usage == Usage(9, 4, 0)


@pytest.mark.parametrize(
    "usage",
    [
        {**USAGE, "cached_tokens": 5},
        {**USAGE, "prompt_tokens_details": {"cached_tokens": 5}},
        {**USAGE, "cached_tokens": 5, "prompt_tokens_details": {"cached_tokens": None}},
    ],
)
async def test_cached_tokens_are_found_where_either_protocol_has_them(
    usage: dict[str, Any],
) -> None:
    in_choice = chunk({}, finish_reason="stop", usage=usage)
    got = await answered(SAID, in_choice, "[DONE]")
    assert got.usage == Usage(9, 4, 5)


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
async def test_reasoning_is_kept_under_either_name(name: str) -> None:
    thoughts = (chunk({name: "one "}), chunk({name: "two"}))
    assert (await answered(*thoughts, SAID, FINISHED, "[DONE]")).reasoning == "one two"


async def test_reasoning_that_comes_under_both_names_is_kept_once() -> None:
    both = chunk({"reasoning": "once", "reasoning_content": "once"})
    assert (await answered(both, SAID, FINISHED, "[DONE]")).reasoning == "once"


async def test_a_character_that_was_cut_in_two_is_one_again() -> None:
    halves = (chunk({"reasoning_content": "\ud83d"}), chunk({"reasoning_content": "\ude00"}))
    assert (await answered(*halves, SAID, FINISHED, "[DONE]")).reasoning == "😀"


async def test_half_a_character_is_malformed() -> None:
    with pytest.raises(Malformed, match="Unicode"):
        await answered(chunk({"reasoning_content": "\ud83d"}), SAID, FINISHED, "[DONE]")


async def test_why_it_finished_may_come_without_a_delta() -> None:
    assert (await answered(SAID, chunk(None, finish_reason="stop"))).finish_reason == "stop"


async def test_an_answer_that_had_finished_is_complete_whatever_came_after() -> None:
    got = await answered(SAID, FINISHED, failure=httpx.ReadError("reset"))
    assert got.value == {"a": 1}


@pytest.mark.parametrize(
    ("failure", "expected"),
    [(httpx.ReadError("reset"), StreamCut), (httpx.ReadTimeout("silent"), StreamSilent)],
)
async def test_an_answer_that_had_not_finished_is_not(
    failure: httpx.HTTPError, expected: type[ModelError]
) -> None:
    with pytest.raises(expected) as failed:
        await answered(SAID, failure=failure)
    assert failed.value.response_id == "c-1"


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ({"error": {"code": 500, "message": "the engine died", "type": "server_error"}}, EndpointDown),
        ({"error": {"code": 400, "message": "exceeds the available context size", "type": "x"}}, ContextOverflow),
        ({"error": "out of order"}, EndpointDown),
    ],
)  # fmt: skip
async def test_an_error_in_the_middle_of_a_stream_has_its_name(
    event: dict[str, Any], expected: type[ModelError]
) -> None:
    with pytest.raises(expected):
        await answered(SAID, json.dumps(event))


@pytest.mark.parametrize(
    "event", ["42", "null", '"text"', "[]", '{"choices": [1]}', '{"choices": [{}]}', '{"choices": 7}', "{"]
)  # fmt: skip
async def test_a_stream_that_is_none_of_the_protocol_is_an_error_of_ours(event: str) -> None:
    with pytest.raises((Malformed, StreamCut)):
        await answered(event)


async def test_an_error_whose_body_cannot_be_read_is_an_error_of_the_connection() -> None:
    with pytest.raises(EndpointDown):
        await answered(status=503, failure=httpx.ReadError("reset"))
