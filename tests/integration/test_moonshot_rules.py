"""The scripted Moonshot server refuses what Kimi K3 is documented to refuse, in the vendor's words, and nothing else."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.moonshot.chat import JsonObject
from tests.support.moonshot.plain_client import (
    PlainClient,
    object_of,
    plain_client,
    refusal,
    user,
)
from tests.support.moonshot.server import MoonshotServer, moonshot_server

TEXT: JsonObject = {"type": "string"}
FUNCTION = {"name": "search", "parameters": object_of("q", q=TEXT)}
SEARCH = {"type": "function", "function": FUNCTION}


@pytest.fixture(scope="module")
def server() -> Iterator[MoonshotServer]:
    with moonshot_server() as running:
        yield running


@pytest.fixture(scope="module")
def client(server: MoonshotServer) -> Iterator[PlainClient]:
    with plain_client(server) as open_client:
        yield open_client


@pytest.mark.parametrize(
    ("name", "fixed", "others"),
    [
        ("temperature", "1", (0, 0.7, 2)),
        ("top_p", "0.95", (1, 0.9)),
        ("n", "1", (0, 2)),
        ("presence_penalty", "0", (1, -0.5)),
        ("frequency_penalty", "0", (1, -0.5)),
        ("logprobs", "false", (True,)),
    ],
)
def test_only_the_fixed_value_of_a_sampling_parameter_is_taken(
    client: PlainClient, name: str, fixed: str, others: tuple[float, ...]
) -> None:
    for other in others:
        said = refusal(client, **{name: other})
        assert said == f"invalid {name}: only {fixed} is allowed for this model"
    for taken in (1, 0.95, 0, False, None):
        if taken is None or str(taken).lower() == fixed:
            assert client.chat(**{name: taken}).status_code == 200


def test_another_model_is_not_found(client: PlainClient) -> None:
    refused = client.chat(model="gpt-4")
    assert refused.status_code == 404
    error = refused.json()["error"]
    assert error["type"] == "resource_not_found_error"
    assert "gpt-4" in error["message"]


@pytest.mark.parametrize("content", ["", "{", "[]", "null"])
def test_a_body_that_is_no_object_is_refused(client: PlainClient, content: str) -> None:
    assert client.http.post("/chat/completions", content=content).status_code == 400


@pytest.mark.parametrize("messages", [[], None, "Which lock?", ["Which lock?"]])
def test_a_request_without_messages_is_refused(client: PlainClient, messages: Any) -> None:
    assert "messages must not be empty" in refusal(client, messages=messages)


def test_a_schema_needs_its_name_and_to_be_there(client: PlainClient) -> None:
    schema = object_of("a", a=TEXT)
    for kind in ({"schema": schema}, {"name": "", "schema": schema}, {}):
        asked = {"type": "json_schema", "json_schema": kind}
        assert "json_schema.name is required" in refusal(client, response_format=asked)
    without = {"type": "json_schema", "json_schema": {"name": "answer"}}
    assert "json_schema.schema is required" in refusal(client, response_format=without)
    assert "not supported" in refusal(client, response_format={"type": "xml"})


def test_tools_are_held_to_the_same_schemas_and_to_names(client: PlainClient) -> None:
    bad = {**FUNCTION, "parameters": object_of(q={**TEXT, "pattern": "a"})}
    said = refusal(client, tools=[{"type": "function", "function": bad}])
    assert "tools.function.parameters is not a valid moonshot flavored json schema" in said
    misnamed = {**FUNCTION, "name": "1search"}
    said = refusal(client, tools=[{"type": "function", "function": misnamed}])
    assert "must start with a letter" in said


def test_a_message_has_one_of_four_roles(client: PlainClient) -> None:
    for message in ({"role": "developer", "content": "Be brief."}, {"content": "Which lock?"}):
        assert "position 0 is unknown" in refusal(client, messages=[message])


def test_a_tool_call_can_only_be_required_where_there_are_tools(client: PlainClient) -> None:
    refusal(client, tool_choice="required")
    refusal(client, tool_choice="required", tools=[])
    refusal(client, tool_choice="any", tools=[SEARCH])
    brought = [{"role": "system", "tools": [SEARCH]}, user("Which lock?")]
    for taken in ({"tools": [SEARCH]}, {"messages": brought}):
        assert client.chat(tool_choice="required", **taken).status_code == 200


def call(*ids: str, **others: object) -> JsonObject:
    """Return an assistant's message that calls tools, as K3 wants it back."""
    function = {"name": "search", "arguments": "{}"}
    calls = [{"id": one, "type": "function", "function": function} for one in ids]
    message = {"role": "assistant", "tool_calls": calls, "reasoning_content": "I search."}
    return {**message, **others}


def result(of: str) -> JsonObject:
    return {"role": "tool", "tool_call_id": of, "content": "Lock Seven."}


def test_a_tool_loop_that_is_sent_back_whole_is_taken_though_its_ids_repeat(
    client: PlainClient,
) -> None:
    loop = [call("search:0", "search:1"), result("search:1"), result("search:0")]
    messages = [
        user("Which lock?"),
        *loop,
        *loop,
        call("search:0", content=None),
        result("search:0"),
    ]
    assert client.chat(messages=messages).status_code == 200


def test_reasoning_has_to_come_back_with_a_tool_call(client: PlainClient) -> None:
    forgotten = call("search:0")
    del forgotten["reasoning_content"]
    messages = [user("?"), call("search:0"), result("search:0"), forgotten, result("search:0")]
    assert refusal(client, messages=messages) == (
        "thinking is enabled but reasoning_content is missing in assistant tool call message at index 3"
    )
    plain = [user("?"), {"role": "assistant", "content": "Seven."}, user("Sure?")]
    assert client.chat(messages=plain).status_code == 200


def test_an_assistant_cannot_have_said_nothing(client: PlainClient) -> None:
    with_calls = [user("?"), call("search:0", content=""), result("search:0")]
    assert "text content is empty" in refusal(client, messages=with_calls)
    for message in ({"content": ""}, {"content": None, "reasoning_content": "I think."}, {}):
        silent = [user("?"), {"role": "assistant", **message}, user("Well?")]
        said = refusal(client, messages=silent)
        assert "the message at position 1 with role 'assistant' must not be empty" in said


@pytest.mark.parametrize(
    "messages",
    [
        [call("search:0"), user("Never mind.")],
        [call("search:0")],
        [call("search:0", "search:1"), result("search:0"), user("And?")],
        [call("search:0"), {"role": "system", "content": "Be brief."}, result("search:0")],
        [call("search:0", "search:1"), result("search:0"), user("?"), result("search:1")],
        [call("search:0"), result("search:1")],
        [call("search:0"), result("search:0"), result("search:0")],
        [result("search:0")],
    ],
)
def test_tool_results_directly_follow_their_calls(
    client: PlainClient, messages: list[JsonObject]
) -> None:
    said = refusal(client, messages=[user("Which lock?"), *messages])
    assert "must be followed by tool messages" in said or "is not found" in said


def test_a_request_has_to_fit_the_window_with_what_it_may_be_answered() -> None:
    with moonshot_server(window_tokens=1000) as server, plain_client(server) as client:
        long = [user("word " * 600)]
        prompt = client.chat(messages=long).json()["usage"]["prompt_tokens"]
        assert client.chat(messages=long, max_completion_tokens=1000 - prompt).status_code == 200
        said = refusal(client, messages=long, max_completion_tokens=1001 - prompt)
        assert "Your request exceeded model token limit: 1000 (requested: 1001)" in said
        assert "(requested: " in refusal(client, messages=[user("word " * 1000)])


def test_what_is_refused_is_counted_and_costs_nothing(
    server: MoonshotServer, client: PlainClient
) -> None:
    billed = server.log.billed_tokens
    refusal(client, temperature=0)
    outcome = server.calls[-1].outcome
    assert outcome is not None
    assert (outcome.status, outcome.error_type) == (400, "invalid_request_error")
    assert server.log.billed_tokens == billed
