"""The client against the scripted Moonshot server, which enforces the rules of the API and counts what reached it."""

import json
from collections.abc import Iterator
from dataclasses import replace

import httpx
import pytest

from ledger.canonical import canonical
from nodes.models.base import Message
from nodes.models.chat import ChatModel, UnknownEffort
from nodes.models.errors import (
    ContextOverflow,
    KeyRefused,
)
from nodes.models.profile import profile_of
from tests.support.model_asks import ASK, Findings, client, reply
from tests.support.moonshot.server import KEY, MoonshotServer, moonshot_server


@pytest.fixture
def server() -> Iterator[MoonshotServer]:
    with moonshot_server() as running:
        yield running


async def test_an_answer_is_one_call_and_a_value_of_its_schema(server: MoonshotServer) -> None:
    async with client(server) as model:
        got = await reply(model)
    (call,) = server.log.calls
    assert Findings.model_validate(got.value).findings
    assert got.content == json.dumps(got.value)
    assert call.outcome is not None
    answer = call.outcome.answer
    assert answer is not None
    assert (got.response_id, got.model, got.finish_reason) == (answer.id, "kimi-k3", "stop")
    assert got.fingerprint
    assert got.reasoning == answer.reasoning


async def test_what_was_received_is_canonical_and_understood_by_another_process_alike(
    server: MoonshotServer,
) -> None:
    async with client(server) as model:
        received = await model.receive(ASK)
        first = model.understand(ASK, received)
    assert received.media_type == "application/json"
    assert canonical(json.loads(received.content)) == received.content
    async with client(server) as other:
        assert other.understand(ASK, received) == first
    assert len(server.log.calls) == 1


async def test_reasoning_goes_back_byte_equal_in_the_next_call(server: MoonshotServer) -> None:
    server.brain = lambda request: json.dumps(
        {"findings": [{"claim": "Ünï – 😀", "stance": "for"}]}, ensure_ascii=False
    )
    ask = replace(ASK, messages=(Message("user", "Wörter, 詞, 😀, \u2028 and \\u0000?"),))
    async with client(server) as model:
        got = await reply(model, ask)
        turns = (Message("assistant", got.content, got.reasoning), Message("user", "And then?"))
        await reply(model, replace(ask, messages=(*ask.messages, *turns)))
    first, second = server.log.calls
    assert first.outcome is not None
    assert first.outcome.answer is not None
    sent = second.chat.messages[1]
    assert sent["reasoning_content"] == first.outcome.answer.reasoning
    assert "😀" in sent["reasoning_content"]
    assert sent["content"] == first.outcome.answer.content


async def test_usage_that_comes_twice_is_counted_once(server: MoonshotServer) -> None:
    async with client(server) as model:
        got = await reply(model)
    (call,) = server.log.calls
    assert call.chat.include_usage
    assert call.outcome is not None
    assert call.outcome.answer is not None
    usage = call.outcome.answer.usage
    assert got.usage.as_counts() == {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.completion,
        "cached_tokens": usage.cached,
    }


async def test_equal_asks_are_byte_equal_requests_whoever_makes_them(
    server: MoonshotServer,
) -> None:
    async with client(server) as model, client(server) as other:
        for one in (model, other, model):
            await reply(one)
    assert list(server.log.repeats.values()) == [3]


async def test_what_asks_share_at_their_beginning_is_read_from_the_cache(
    server: MoonshotServer,
) -> None:
    cached: list[int] = []
    messages = ASK.messages
    async with client(server) as model:
        for question in ("first", "second", "third"):
            messages = (*messages, Message("user", question))
            cached.append((await reply(model, replace(ASK, messages=messages))).usage.cached_tokens)
    assert cached[0] == 0
    assert cached[0] < cached[1] < cached[2]


async def test_kimi_is_sent_no_sampling_and_room_for_reasoning_and_answer(
    server: MoonshotServer,
) -> None:
    async with client(server, effort="low") as model:
        await reply(model)
        room = model.profile.reasoning_room("low") + ASK.answer_tokens_max
    (call,) = server.log.calls
    assert call.chat.body.keys() == {
        "model", "messages", "stream", "stream_options", "reasoning_effort", "max_completion_tokens",
        "response_format",
    }  # fmt: skip
    assert call.chat.body["max_completion_tokens"] == room
    assert call.chat.reasoning_effort == "low"
    assert call.chat.body["response_format"]["json_schema"] == {
        "name": "findings", "schema": ASK.schema, "strict": True,
    }  # fmt: skip
    assert "openai-organization" not in call.headers


async def test_the_room_is_what_the_prompt_leaves_of_the_context(server: MoonshotServer) -> None:
    async with client(server, context_tokens=20_000) as small:
        await reply(small)
        estimated = await small.tokens(ASK)
    (call,) = server.log.calls
    assert call.chat.completion_tokens_max == 20_000 - estimated
    assert estimated >= call.chat.prompt_tokens


async def test_another_endpoint_is_sent_sampling_and_the_older_name_of_the_room(
    server: MoonshotServer,
) -> None:
    # What this server makes of it is another matter: it knows K3 only.
    async with client(server, lambda: None, "openai:org/model", effort="medium") as model:
        with pytest.raises(KeyRefused):
            await model.receive(ASK)
        assert model.settings == {
            "model": "openai:org/model",
            "endpoint": server.url.removeprefix("http://").removesuffix("/v1"),
            "effort": "medium",
            "client": model.settings["client"],
            "temperature": 0,
            "seed": 0,
        }
    (call,) = server.log.calls
    assert call.chat.body["model"] == "org/model"
    assert (call.chat.body["temperature"], call.chat.body["seed"]) == (0, 0)
    assert call.chat.body["reasoning_effort"] == "medium"
    assert "max_completion_tokens" not in call.chat.body
    assert call.chat.body["max_tokens"] > ASK.answer_tokens_max


async def test_a_key_is_asked_for_at_each_call(server: MoonshotServer) -> None:
    keys = iter([KEY, "sk-old", f" {'sk-new'}\n"])
    async with client(server, lambda: next(keys)) as model:
        await reply(model)
        server.keys = {"sk-new"}
        with pytest.raises(KeyRefused) as refused:
            await model.receive(ASK)
        await reply(model)
        assert not any("sk-" in str(value) for value in model.settings.values())
    assert [call.key for call in server.log.calls] == [KEY, "sk-old", "sk-new"]
    assert "sk-" not in str(refused.value)


@pytest.mark.parametrize("key", [None, "", "sk-ö", "sk\nsecret"])
async def test_without_a_usable_key_nothing_is_sent(
    server: MoonshotServer, key: str | None
) -> None:
    async with client(server, lambda: key) as model:
        with pytest.raises(KeyRefused, match="MOONSHOT_API_KEY or KIMI_API_KEY") as refused:
            await model.receive(ASK)
    assert not server.log.requests
    assert "secret" not in str(refused.value)


async def test_what_the_environment_says_of_openai_is_not_told_to_others(
    server: MoonshotServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-openai")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-mine")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-mine")
    monkeypatch.setenv("OPENAI_API_BASE", "http://127.0.0.1:1/v1")
    monkeypatch.setenv("OPENAI_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("LANGSMITH_GATEWAY", "http://127.0.0.1:1")
    async with client(server) as model:
        await reply(model)
    (call,) = server.log.calls
    assert call.key == KEY
    assert not {"openai-organization", "openai-project"} & call.headers.keys()


def test_an_effort_that_the_model_does_not_have_is_refused_here() -> None:
    with pytest.raises(UnknownEffort, match="low, high, max"):
        ChatModel(profile_of("kimi-k3"), lambda: KEY, effort="medium")
    with pytest.raises(UnknownEffort, match="none that can be set"):
        ChatModel(profile_of("kimi-k2.6"), lambda: KEY, effort="max")


async def test_an_http_client_of_ones_own_is_used_and_closed(server: MoonshotServer) -> None:
    made: list[httpx.AsyncClient] = []

    def make() -> httpx.AsyncClient:
        made.append(httpx.AsyncClient(headers={"x-mine": "yes"}))
        return made[0]

    async with client(server, http=make) as model:
        await reply(model)
        assert not made[0].is_closed
    assert made[0].is_closed
    assert server.log.calls[0].headers["x-mine"] == "yes"


def test_an_ask_is_canonical_with_all_that_is_asked() -> None:
    assert canonical(ASK.body) == canonical(replace(ASK).body)
    others = [
        replace(ASK, schema_name="other"),
        replace(ASK, answer_tokens_max=1),
        replace(ASK, messages=ASK.messages[:1]),
        replace(ASK, messages=(*ASK.messages[:1], replace(ASK.messages[1], reasoning=""))),
    ]
    assert len({canonical(ask.body) for ask in [ASK, *others]}) == 5


async def test_the_estimate_counts_bytes_so_that_no_script_is_underrated(
    server: MoonshotServer,
) -> None:
    async with client(server) as model:
        bare = await model.tokens(replace(ASK, messages=()))
        chinese = await model.tokens(replace(ASK, messages=(Message("user", "詞" * 3_000),)))
        english = await model.tokens(replace(ASK, messages=(Message("user", "w" * 3_000),)))
    assert chinese - bare > 3_000
    assert 1_000 < english - bare < 1_100
    assert not server.log.requests


async def test_a_context_into_which_nothing_fits_is_not_believed() -> None:
    with moonshot_server(window_tokens=10) as server:
        async with client(server) as model:
            with pytest.raises(ContextOverflow):
                await model.receive(ASK)
            assert model.profile.context_tokens > 10
