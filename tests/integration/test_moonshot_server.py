"""The scripted Moonshot server answers and counts as documented: shown to a client that adds nothing."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event

import httpx
import jsonschema_rs
import pytest

from tests.support.moonshot.brain import instance, other_instance
from tests.support.moonshot.chat import ChatRequest, JsonObject
from tests.support.moonshot.plain_client import (
    PlainClient,
    asking,
    by_schema,
    chunks,
    object_of,
    plain_client,
    user,
)
from tests.support.moonshot.schemas import violation
from tests.support.moonshot.server import KEY, MoonshotServer, moonshot_server

TEXT: JsonObject = {"type": "string"}
SEARCH = {"type": "function", "function": {"name": "search", "parameters": object_of("q", q=TEXT)}}


@pytest.fixture
def server() -> Iterator[MoonshotServer]:
    with moonshot_server() as running:
        yield running


@pytest.fixture
def client(server: MoonshotServer) -> Iterator[PlainClient]:
    with plain_client(server) as open_client:
        yield open_client


def test_the_model_with_its_context_window_and_the_balance_are_told(client: PlainClient) -> None:
    listed = client.http.get("/models").json()["data"]
    assert [(one["id"], one["context_length"]) for one in listed] == [("kimi-k3", 1_048_576)]
    balance = client.http.get("/users/me/balance").json()["data"]
    assert balance.keys() == {"available_balance", "voucher_balance", "cash_balance"}


def test_a_model_can_be_retired(server: MoonshotServer, client: PlainClient) -> None:
    server.models[:] = ["kimi-k3.1-pro"]
    assert client.chat().status_code == 404
    assert client.chat(model="kimi-k3.1-pro").json()["model"] == "kimi-k3.1-pro"


ENDPOINTS = [
    ("GET", "/models"),
    ("POST", "/chat/completions"),
    ("POST", "/tokenizers/estimate-token-count"),
    ("GET", "/users/me/balance"),
]


@pytest.mark.parametrize(("method", "path"), ENDPOINTS)
def test_nothing_is_answered_without_a_key_that_is_known(
    server: MoonshotServer, method: str, path: str
) -> None:
    for headers in ({}, {"authorization": "Bearer sk-another"}):
        refused = httpx.request(method, server.url + path, headers=headers, trust_env=False)
        assert refused.status_code == 401
        error = {"type": "invalid_authentication_error", "message": "Invalid Authentication"}
        assert refused.json() == {"error": error}


def test_keys_can_be_exchanged_while_it_runs(server: MoonshotServer, client: PlainClient) -> None:
    assert client.chat().status_code == 200
    server.keys.clear()
    server.keys.add("sk-new")
    assert client.chat().status_code == 401
    with plain_client(server, "sk-new") as renewed:
        assert renewed.chat().status_code == 200
    assert [one.key for one in server.calls] == [KEY, KEY, "sk-new"]
    assert all("sk-" not in str(one.headers) for one in server.requests)


def test_an_answer_has_its_reasoning_and_says_what_it_took(client: PlainClient) -> None:
    answer = client.chat().json()
    message, usage = answer["choices"][0]["message"], answer["usage"]
    assert message["reasoning_content"]
    assert message["content"]
    assert answer["choices"][0]["finish_reason"] == "stop"
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    assert usage["cached_tokens"] == 0
    assert answer["system_fingerprint"]


def test_no_two_answers_have_one_id(client: PlainClient) -> None:
    assert len({client.chat().json()["id"] for _ in range(5)}) == 5


def test_a_stream_says_the_same_with_its_usage_in_the_last_choice(client: PlainClient) -> None:
    plain = client.chat().json()
    streamed = chunks(client.chat(stream=True).text)
    choices = [one["choices"][0] for one in streamed]
    for part in ("content", "reasoning_content"):
        said = "".join(one["delta"].get(part) or "" for one in choices)
        assert said == plain["choices"][0]["message"][part]
    assert len({one["id"] for one in streamed}) == 1
    assert [one["finish_reason"] for one in choices if one["finish_reason"]] == ["stop"]
    assert [one["usage"]["total_tokens"] for one in choices if "usage" in one] == [
        plain["usage"]["total_tokens"]
    ]
    assert "usage" in choices[-1]
    assert not any("usage" in one for one in streamed)


def test_usage_that_is_asked_for_comes_a_second_time_in_a_chunk_of_its_own(
    client: PlainClient,
) -> None:
    *_, last, extra = chunks(client.chat(stream=True, stream_options={"include_usage": True}).text)
    assert extra["choices"] == []
    assert extra["usage"] == last["choices"][0]["usage"]


SCHEMAS = [
    object_of("a", a=TEXT),
    object_of("verdict", verdict={"type": "string", "enum": ["supports", "contradicts"]}),
    object_of("n", "x", n={"type": "integer", "minimum": 3}, x={"type": "number", "maximum": -0.5}),
    object_of("all", all={"type": "array", "minItems": 2, "items": object_of("t", t=TEXT)}),
    object_of("t", t={"type": "string", "minLength": 5, "maxLength": 9}, yes={"type": "boolean"}),
    object_of("maybe", "t", maybe={"anyOf": [{"type": "null"}, TEXT]}, t=TEXT),
    {
        **object_of("node", node={"$ref": "#/$defs/node"}),
        "$defs": {
            "node": object_of(
                "name",
                name=TEXT,
                next={"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]},
                children={"type": "array", "items": {"$ref": "#/$defs/node"}},
            )
        },
    },
]


@pytest.mark.parametrize("schema", SCHEMAS)
def test_without_a_brain_the_answer_is_always_the_same_instance_of_the_schema(
    client: PlainClient, schema: JsonObject
) -> None:
    assert violation(schema) is None
    content = client.content(response_format=by_schema(schema))
    assert content == client.content(response_format=by_schema(schema))
    jsonschema_rs.validate(schema, json.loads(content))
    jsonschema_rs.validate(schema, other_instance(schema))
    assert instance(schema) != other_instance(schema)


@pytest.mark.parametrize("said", ['{"a": "Lock Seven"}', '{"a": ', "I would rather not.", ""])
def test_what_the_brain_says_is_sent_as_it_is(server: MoonshotServer, said: str) -> None:
    server.brain = lambda _: said
    with plain_client(server) as client:
        assert client.content(response_format=by_schema(object_of("a", a=TEXT))) == said


def test_the_brain_is_told_what_was_asked(server: MoonshotServer, client: PlainClient) -> None:
    told: list[ChatRequest] = []

    def brain(request: ChatRequest) -> str:
        told.append(request)
        return "Yes."

    server.brain = brain
    schema = object_of("a", a=TEXT)
    client.chat(
        messages=[{"role": "system", "content": "Be brief."}, user("Which lock?")],
        response_format=by_schema(schema, "plan"),
        reasoning_effort="low",
        thinking={"type": "enabled", "effort": "high"},
    )
    client.chat(reasoning_effort="low")
    client.chat(reasoning_effort="unheard of")
    client.chat()
    assert (told[0].schema_name, told[0].schema, told[0].model) == ("plan", schema, "kimi-k3")
    assert (told[0].text, told[0].last) == ("Be brief.\nWhich lock?", "Which lock?")
    assert [one.reasoning_effort for one in told] == ["high", "low", "unheard of", "max"]


def test_what_the_brain_raises_is_raised_where_the_server_ends() -> None:
    def brain(request: ChatRequest) -> str:
        raise LookupError(request.last)

    with (
        pytest.raises(LookupError, match="Which lock"),
        moonshot_server(brain) as server,
        plain_client(server) as client,
    ):
        assert client.chat().status_code == 500


def test_the_ids_of_tool_calls_repeat_from_message_to_message(client: PlainClient) -> None:
    asked = {"tools": [SEARCH], "tool_choice": "required"}
    first, second = (client.chat(**asked).json()["choices"][0] for _ in range(2))
    assert first["finish_reason"] == "tool_calls"
    (call,) = first["message"]["tool_calls"]
    assert call["function"] == {"name": "search", "arguments": '{"q":"x"}'}
    assert call["id"] == second["message"]["tool_calls"][0]["id"] == "search:0"


def test_a_streamed_tool_call_is_the_same(client: PlainClient) -> None:
    streamed = chunks(client.chat(tools=[SEARCH], tool_choice="required", stream=True).text)
    deltas = [one["choices"][0]["delta"] for one in streamed]
    parts = [call for one in deltas for call in one.get("tool_calls", [])]
    assert parts[0]["id"] == "search:0"
    assert "".join(one["function"]["arguments"] for one in parts) == '{"q":"x"}'


def test_a_tool_choice_that_names_a_function_is_ignored(client: PlainClient) -> None:
    named = {"type": "function", "function": {"name": "search"}}
    message = client.chat(tools=[SEARCH], tool_choice=named).json()["choices"][0]["message"]
    assert "tool_calls" not in message


def cached(client: PlainClient, **body: object) -> int:
    tokens: int = client.chat(**body).json()["usage"]["cached_tokens"]
    return tokens


def test_leading_messages_that_an_earlier_request_had_are_cached(client: PlainClient) -> None:
    system = {"role": "system", "content": "You weigh evidence. " * 40}
    assert cached(client, messages=[system, user("One?")]) == 0
    shared = cached(client, messages=[system, user("Two?")])
    assert 200 < shared < 250
    assert cached(client, messages=[system, user("One?"), user("More?")]) > shared
    changed = {**system, "content": "Today is Tuesday. " + str(system["content"])}
    assert cached(client, messages=[changed, user("One?")]) == 0
    assert cached(client, messages=[system, user("One?")], tools=[SEARCH]) == 0


def test_an_answer_that_needs_more_than_it_may_is_cut_off(
    server: MoonshotServer, client: PlainClient
) -> None:
    server.brain = lambda _: "long " * 100
    choice = client.chat(max_completion_tokens=50).json()["choices"][0]
    assert choice["finish_reason"] == "length"
    assert 0 < len(choice["message"]["content"]) < 500
    assert client.chat(max_completion_tokens=50).json()["usage"]["completion_tokens"] <= 50
    reasoning = client.chat(max_completion_tokens=2).json()["choices"][0]
    assert (reasoning["finish_reason"], reasoning["message"]["content"]) == ("length", "")


def test_the_estimate_is_what_the_prompt_takes_and_costs_nothing(
    server: MoonshotServer, client: PlainClient
) -> None:
    estimated = client.http.post("/tokenizers/estimate-token-count", json=asking()).json()["data"]
    assert server.log.billed_tokens == 0
    usage = client.chat().json()["usage"]
    assert estimated == {"total_tokens": usage["prompt_tokens"]}
    assert server.log.billed_tokens == usage["total_tokens"]


def test_it_counts_how_many_are_at_work_at_once(server: MoonshotServer) -> None:
    together = Barrier(3)

    def brain(_: ChatRequest) -> str:
        together.wait()
        return "Yes."

    server.brain = brain
    with plain_client(server) as client, ThreadPoolExecutor(3) as threads:
        answered = list(threads.map(lambda _: client.chat().status_code, range(3)))
    assert (answered, server.most_at_once) == ([200] * 3, 3)


def test_more_at_once_than_the_account_may_is_refused() -> None:
    asked, answer = Event(), Event()

    def brain(_: ChatRequest) -> str:
        asked.set()
        answer.wait()
        return "Yes."

    with (
        moonshot_server(brain, concurrency_max=1) as server,
        plain_client(server) as client,
        ThreadPoolExecutor(1) as threads,
    ):
        first = threads.submit(client.chat)
        asked.wait()
        refused = client.chat()
        answer.set()
        assert first.result().status_code == 200
        assert client.chat().status_code == 200
    assert refused.status_code == 429
    assert "max organization concurrency: 1" in refused.json()["error"]["message"]


def test_it_can_be_away_and_come_back(server: MoonshotServer, client: PlainClient) -> None:
    with server.away(), pytest.raises(httpx.ConnectError):
        client.chat()
    assert client.chat().status_code == 200
    assert len(server.calls) == 1
