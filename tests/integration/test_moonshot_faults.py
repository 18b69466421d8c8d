"""The scripted Moonshot server fails to order: every way looks on the wire as it was reported, and is counted."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import jsonschema_rs
import pytest

from tests.support.moonshot.chat import ChatRequest, JsonObject
from tests.support.moonshot.faults import REFUSALS, Fault, FaultKind
from tests.support.moonshot.plain_client import (
    PlainClient,
    by_schema,
    chunks,
    events,
    object_of,
    plain_client,
)
from tests.support.moonshot.server import MoonshotServer, moonshot_server
from tests.support.waiting import wait_until

SCHEMA = object_of("verdict", verdict={"type": "string", "enum": ["supports", "contradicts"]})
BY_SCHEMA = by_schema(SCHEMA)


@pytest.fixture
def server() -> Iterator[MoonshotServer]:
    with moonshot_server() as running:
        yield running


@pytest.fixture
def client(server: MoonshotServer) -> Iterator[PlainClient]:
    with plain_client(server) as open_client:
        yield open_client


TEXTS = {
    FaultKind.OVERLOADED: (429, "engine_overloaded_error", "currently overloaded"),
    FaultKind.CONCURRENCY: (429, "rate_limit_reached_error", "max organization concurrency: 1"),
    FaultKind.REQUESTS_PER_MINUTE: (
        429,
        "rate_limit_reached_error",
        "max RPM: 3, please try again after 1 seconds",
    ),
    FaultKind.TOKENS_PER_MINUTE: (429, "rate_limit_reached_error", "TPM rate limit, current: "),
    FaultKind.TOKENS_PER_DAY: (
        429,
        "rate_limit_reached_error",
        "TPD rate limit, current: 1500434, limit: 1500000",
    ),
    FaultKind.QUOTA: (429, "exceeded_current_quota_error", "check your plan and billing details"),
    FaultKind.QUOTA_FORBIDDEN: (403, "exceeded_current_quota_error", "current token quota"),
    FaultKind.UNAUTHENTICATED: (401, "invalid_authentication_error", "Invalid Authentication"),
    FaultKind.INCORRECT_KEY: (401, "incorrect_api_key_error", "Incorrect API key provided"),
    FaultKind.FORBIDDEN: (403, "permission_denied_error", "not open"),
    FaultKind.SERVER_ERROR: (500, "server_error", "error"),
    FaultKind.CONTENT_FILTERED: (400, "content_filter", "high risk"),
    FaultKind.CONTEXT_OVERFLOW: (
        400,
        "invalid_request_error",
        "Your request exceeded model token limit: 1048576 (requested: ",
    ),
    FaultKind.INPUT_TOO_LONG: (400, "invalid_request_error", "Input token length too long"),
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("kind", TEXTS)
def test_an_error_has_the_status_type_and_text_of_the_vendor(
    server: MoonshotServer, client: PlainClient, kind: FaultKind, stream: bool
) -> None:
    server.schedule = [Fault(kind)]
    status, error_type, text = TEXTS[kind]
    refused = client.chat(stream=stream)
    assert refused.status_code == status
    assert refused.json()["error"].keys() == {"type", "message"}
    assert refused.json()["error"]["type"] == error_type
    assert text in refused.json()["error"]["message"]
    assert "retry-after" not in refused.headers
    outcome = server.calls[0].outcome
    assert outcome is not None
    assert (outcome.status, outcome.error_type, outcome.fault) == (status, error_type, kind)
    assert server.log.billed_tokens == 0
    assert client.chat(stream=stream).status_code == 200


def test_every_error_is_among_them() -> None:
    assert set(TEXTS) == {*REFUSALS, FaultKind.CONTEXT_OVERFLOW}


def test_an_error_can_ask_for_patience(server: MoonshotServer, client: PlainClient) -> None:
    server.schedule = [Fault(FaultKind.OVERLOADED, retry_after_seconds=7)]
    assert client.chat().headers["retry-after"] == "7"


def test_a_schedule_can_also_judge_the_request(server: MoonshotServer, client: PlainClient) -> None:
    asked: list[int] = []

    def schedule(call: int, request: ChatRequest) -> Fault | None:
        asked.append(call)
        return Fault(FaultKind.SERVER_ERROR) if request.reasoning_effort == "low" else None

    server.schedule = schedule
    statuses = [client.chat(reasoning_effort=one).status_code for one in ("max", "low", "high")]
    assert (asked, statuses) == ([0, 1, 2], [200, 500, 200])


def test_a_broken_rule_is_told_before_a_fault_comes(
    server: MoonshotServer, client: PlainClient
) -> None:
    server.schedule = lambda _call, _request: Fault(FaultKind.OVERLOADED)
    assert client.chat(temperature=0).status_code == 400


def test_an_overload_can_come_after_much_of_the_stream(
    server: MoonshotServer, client: PlainClient
) -> None:
    server.schedule = [Fault(FaultKind.OVERLOADED_IN_STREAM, chunks=4)] * 2
    *before, last = [json.loads(one) for one in events(client.chat(stream=True).text)]
    assert len(before) == 4
    assert last["error"]["type"] == "engine_overloaded_error"
    assert client.chat().status_code == 429
    assert server.log.billed_tokens == 0


def test_a_connection_can_be_cut_before_the_answer(
    server: MoonshotServer, client: PlainClient
) -> None:
    server.schedule = [Fault(FaultKind.CUT_BEFORE_ANSWER)]
    with pytest.raises(httpx.RemoteProtocolError, match="without sending a response"):
        client.chat()
    assert len(server.calls) == 1
    assert client.chat().status_code == 200


def received(client: PlainClient, *, stream: bool) -> Iterator[bytes]:
    body = {"model": "kimi-k3", "messages": [{"role": "user", "content": "?"}], "stream": stream}
    with client.http.stream("POST", "/chat/completions", json=body) as response:
        yield from response.iter_raw()


@pytest.mark.parametrize("stream", [True, False])
def test_a_connection_can_be_cut_within_the_answer(
    server: MoonshotServer, client: PlainClient, stream: bool
) -> None:
    server.schedule = [Fault(FaultKind.CUT_IN_STREAM, chunks=2)]
    parts: list[bytes] = []
    with pytest.raises((httpx.RemoteProtocolError, httpx.ReadError)):
        parts.extend(received(client, stream=stream))
    got = b"".join(parts)
    assert got.startswith(b"data: " if stream else b'{"id"')
    assert got.count(b"data: ") == (2 if stream else 0)
    assert server.log.billed_tokens == 0


@pytest.mark.parametrize("chunks_before", [0, 2, 1000])
def test_a_stream_can_end_well_formed_without_saying_how_it_finished(
    server: MoonshotServer, client: PlainClient, chunks_before: int
) -> None:
    server.schedule = [Fault(FaultKind.ENDED_IN_STREAM, chunks=chunks_before)]
    parts = [json.loads(one) for one in events(client.chat(stream=True).text)]
    assert len(parts) == chunks_before or chunks_before == 1000
    assert not any(one["choices"][0]["finish_reason"] for one in parts)
    assert not any("usage" in one["choices"][0] for one in parts)


@pytest.mark.parametrize("chunks_before", [0, 2])
def test_silence_lasts_until_the_client_leaves(
    server: MoonshotServer, client: PlainClient, chunks_before: int
) -> None:
    server.schedule = [Fault(FaultKind.SILENT, chunks=chunks_before)]
    body = {"model": "kimi-k3", "messages": [{"role": "user", "content": "?"}], "stream": True}
    with client.http.stream("POST", "/chat/completions", json=body) as response:
        parts = response.iter_text()
        heard = "".join(next(parts) for _ in range(chunks_before))
        assert not server.calls[0].left
    assert len(events(heard)) == chunks_before
    wait_until(lambda: server.calls[0].left)
    assert server.log.billed_tokens == 0


def test_silence_ends_with_the_server() -> None:
    with ThreadPoolExecutor(1) as threads:
        with (
            moonshot_server(schedule=[Fault(FaultKind.SILENT)]) as server,
            plain_client(server) as client,
        ):
            asked = threads.submit(client.chat)
            wait_until(lambda: server.calls)
            with server.away(), pytest.raises(httpx.RemoteProtocolError):
                asked.result()
        assert not server.calls[0].left


def choice(client: PlainClient, *, stream: bool) -> JsonObject:
    """Return finish and content of an answer by schema, however it comes."""
    answered = client.chat(response_format=BY_SCHEMA, stream=stream)
    if not stream:
        (plain,) = answered.json()["choices"]
        return {"finish": plain["finish_reason"], "content": plain["message"]["content"]}
    parts = [one["choices"][0] for one in chunks(answered.text)]
    content = "".join(one["delta"].get("content") or "" for one in parts)
    return {"finish": parts[-1]["finish_reason"], "content": content}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("kind", "finish", "content"),
    [
        (FaultKind.LENGTH, "length", '{"verdict":'),
        (FaultKind.LENGTH_IN_REASONING, "length", ""),
        (FaultKind.EMPTY_CONTENT, "stop", ""),
        (FaultKind.MALFORMED_CONTENT, "stop", '{{"verdict": "supports"}'),
        (FaultKind.SCHEMA_BROKEN, "stop", "{}"),
        (FaultKind.OTHER_ANSWER, "stop", '{"verdict": "contradicts"}'),
    ],
)
def test_an_answer_can_say_the_wrong_thing_and_is_billed(
    server: MoonshotServer,
    client: PlainClient,
    kind: FaultKind,
    finish: str,
    content: str,
    stream: bool,
) -> None:
    server.schedule = [Fault(kind)]
    assert choice(client, stream=stream) == {"finish": finish, "content": content}
    assert server.log.billed_tokens > 0
    assert choice(client, stream=stream) == {"finish": "stop", "content": '{"verdict": "supports"}'}


def test_content_that_breaks_the_schema_is_json_and_the_other_answer_fits(
    server: MoonshotServer, client: PlainClient
) -> None:
    server.schedule = [Fault(FaultKind.SCHEMA_BROKEN), Fault(FaultKind.OTHER_ANSWER)]
    broken, other = (json.loads(choice(client, stream=False)["content"]) for _ in range(2))
    assert not jsonschema_rs.is_valid(SCHEMA, broken)
    assert jsonschema_rs.is_valid(SCHEMA, other)


@pytest.mark.parametrize("stream", [False, True])
def test_a_body_can_be_a_gateways_page(
    server: MoonshotServer, client: PlainClient, stream: bool
) -> None:
    server.schedule = [Fault(FaultKind.BODY_NOT_JSON)]
    answered = client.chat(stream=stream)
    assert (answered.status_code, answered.text[:6]) == (200, "<html>")


def test_one_line_of_a_stream_can_be_no_json(server: MoonshotServer, client: PlainClient) -> None:
    server.schedule = [Fault(FaultKind.LINE_NOT_JSON, chunks=2)]
    lines = events(client.chat(stream=True).text)
    with pytest.raises(ValueError, match="Unterminated"):
        json.loads(lines.pop(2))
    assert chunks("\n\n".join(lines))[-1]["choices"][0]["finish_reason"] == "stop"


def test_a_call_can_arrive_once_more_by_itself(server: MoonshotServer, client: PlainClient) -> None:
    server.schedule = [Fault(FaultKind.LATE_DUPLICATE), Fault(FaultKind.SERVER_ERROR)]
    total = client.chat().json()["usage"]["total_tokens"]
    assert [(one.call, one.duplicate_of) for one in server.calls] == [(0, None), (0, 0)]
    assert list(server.log.repeats.values()) == [2]
    assert server.log.billed_tokens == 2 * total
    assert client.chat().status_code == 500


def test_every_kind_of_fault_is_played_here(request: pytest.FixtureRequest) -> None:
    source = request.path.read_text()
    assert [kind for kind in FaultKind if f"FaultKind.{kind.name}" not in source] == []
