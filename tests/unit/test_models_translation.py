"""From what endpoints answer to typed errors; the texts are those of documents, of their source, or of users' reports."""

from collections.abc import Mapping
from typing import Any

import httpx
import openai
import pytest

from ledger.errors import CredentialRefused
from nodes.models.base import Usage
from nodes.models.errors import (
    BadRequest,
    ContentFiltered,
    ContextOverflow,
    EndpointDown,
    KeyRefused,
    Limit,
    Malformed,
    ModelError,
    Overloaded,
    PermissionDenied,
    QuotaExhausted,
    RateLimited,
    StreamCut,
    StreamSilent,
    UnknownModel,
)
from nodes.models.profile import profile_of
from nodes.models.refusals import Refusal
from nodes.models.translating import failure_of, translated

K3 = profile_of("kimi-k3")
ACCOUNT = "Your account org-2f7c<ak-f94z> request reached organization"


def said(
    status: int | None, kind: str, message: str = "", headers: Mapping[str, str] | None = None
) -> ModelError:
    return translated(K3, Refusal(status, {"type": kind, "message": message}, headers or {}), {})


@pytest.mark.parametrize(
    ("status", "kind", "expected", "transient"),
    [
        (429, "engine_overloaded_error", Overloaded, True),
        (429, "rate_limit_reached_error", RateLimited, True),
        (429, "exceeded_current_quota_error", QuotaExhausted, False),
        (403, "exceeded_current_quota_error", QuotaExhausted, False),
        (401, "invalid_authentication_error", KeyRefused, False),
        (401, "incorrect_api_key_error", KeyRefused, False),
        (403, "permission_denied_error", PermissionDenied, False),
        (400, "content_filter", ContentFiltered, False),
        (400, "invalid_request_error", BadRequest, False),
        (500, "server_error", EndpointDown, True),
        (408, "", EndpointDown, True),
        (503, "unavailable_error", EndpointDown, True),
        (402, "", QuotaExhausted, False),
        (418, "", BadRequest, False),
        (308, "", BadRequest, False),
    ],
)
def test_each_type_of_error_has_its_name(
    status: int, kind: str, expected: type[ModelError], transient: bool
) -> None:
    error = said(status, kind)
    assert type(error) is expected
    assert error.transient is transient


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        (f"{ACCOUNT} max organization concurrency: 1, please try again after 1 seconds", "concurrency"),
        (f"{ACCOUNT} max RPM: 3, please try again after 1 seconds", "rpm"),
        (f"{ACCOUNT} TPM rate limit, current: 500317, limit: 500000", "tpm"),
        (f"{ACCOUNT} TPD rate limit, current: 1500434, limit: 1500000", "tpd"),
        ("Rate limit reached for model on tokens per min (TPM): Limit 30000", "tpm"),
        ("slow down", "rpm"),
    ],
)  # fmt: skip
def test_only_the_text_tells_the_four_limits_apart(message: str, kind: Limit) -> None:
    error = said(429, "rate_limit_reached_error", message)
    assert isinstance(error, RateLimited)
    assert error.kind == kind


@pytest.mark.parametrize(
    ("body", "limit", "requested"),
    [
        ({"message": "Invalid request: Your request exceeded model token limit: 1048576 (requested: 1048600)"}, 1_048_576, 1_048_600),
        ({"message": "Input token length too long"}, None, None),
        # llama.cpp
        (
            {
                "type": "exceed_context_size_error", "n_prompt_tokens": 5000, "n_ctx": 4096, "code": 400,
                "message": "the request exceeds the available context size. try increasing it",
            },
            4096, 5000,
        ),
        ({"message": "request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it"}, 4096, 5000),
        # vLLM, older and newer
        (
            {"message": "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4900 in the messages)."},
            4096, 5000,
        ),
        (
            {"message": "'max_tokens' is too large: 100. This model's maximum context length is 4096 tokens and your request has 4090 input tokens"},
            4096, 4090,
        ),
        ({"message": "The decoder prompt (length 5000) is longer than the maximum model length of 4096."}, 4096, 5000),
        # SGLang
        ({"message": "The input (5000 tokens) is longer than the model's context length (4096 tokens)."}, 4096, 5000),
        # OpenAI and LM Studio
        ({"code": "context_length_exceeded", "message": "Your input exceeds the context window of this model."}, None, None),
        ({"message": "the first 9 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens"}, 4096, None),
    ],
)  # fmt: skip
def test_an_overflow_is_known_by_the_text_of_every_server(
    body: dict[str, Any], limit: int | None, requested: int | None
) -> None:
    error = translated(K3, Refusal(400, body, {}), {})
    assert isinstance(error, ContextOverflow)
    assert (error.limit, error.requested) == (limit, requested)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Not found the model kimi-k3 or Permission denied", UnknownModel),
        ("The model `kimi-k3` does not exist.", UnknownModel),
        ("The requested resource was not found", BadRequest),
    ],
)
def test_a_model_and_an_address_that_are_not_there_are_told_apart(
    message: str, expected: type[ModelError]
) -> None:
    assert type(said(404, "resource_not_found_error", message)) is expected


@pytest.mark.parametrize(
    ("message", "cause"),
    [
        ("invalid temperature: only 1 is allowed for this model", "sampling"),
        ("thinking is enabled but reasoning_content is missing in assistant tool call message at index 2", "reasoning of an earlier"),
        ("Invalid request: text content is empty", "without content"),
        ("Invalid request: response_format.json_schema.schema is not a valid moonshot flavored json schema", "schema"),
        ("something else", "it says invalid_request_error"),
    ],
)  # fmt: skip
def test_a_refused_request_says_why_in_our_words(message: str, cause: str) -> None:
    error = said(400, "invalid_request_error", message)
    assert isinstance(error, BadRequest)
    assert cause in error.what


@pytest.mark.parametrize(
    ("headers", "message", "seconds"),
    [
        ({"retry-after": "7"}, "please try again after 1 seconds", 7.0),
        ({}, "please try again after 1 seconds", 1.0),
        ({}, "Please try again in 250ms.", 0.25),
        ({}, "Please try again in 2 minutes.", 120.0),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT", "date": "Wed, 21 Oct 2026 07:28:00 GMT"}, "", 30.0),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT"}, "", None),
        ({"retry-after": "soon"}, "", None),
        ({}, "please try again later", None),
    ],
)  # fmt: skip
def test_how_long_to_wait_is_read_from_the_header_or_the_text(
    headers: dict[str, str], message: str, seconds: float | None
) -> None:
    assert said(429, "engine_overloaded_error", message, headers).retry_after == seconds


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 429, 500, None])
@pytest.mark.parametrize("body", [None, "sk-secret", {"message": "sk-secret"}, ["sk-secret"]])
def test_no_error_repeats_what_the_endpoint_said(status: int | None, body: object) -> None:
    error = translated(K3, Refusal(status, body, {"x": "sk-secret"}), {})
    assert "secret" not in f"{error!s} {error!r} {error.reason} {vars(error)}"
    odd = translated(K3, Refusal(status, {"type": "sk-secret", "code": "a secret"}, {}), {})
    assert "secret" not in f"{odd!s} {odd!r} {vars(odd)}"


def test_a_refused_key_is_what_makes_a_run_wait_for_another() -> None:
    error = said(401, "incorrect_api_key_error")
    assert isinstance(error, CredentialRefused)
    assert "MOONSHOT_API_KEY or KIMI_API_KEY" in error.reason


def test_what_a_call_may_have_cost_stays_with_its_error() -> None:
    usage = Usage(10, 2, 4)
    error = translated(K3, Refusal(429, None, {}), {"usage": usage, "response_id": "r-1"})
    assert (error.usage, error.response_id) == (usage, "r-1")
    assert error.usage.as_counts() == {
        "prompt_tokens": 10, "completion_tokens": 2, "cached_tokens": 4,
    }  # fmt: skip


REQUEST = httpx.Request("POST", "https://api.moonshot.ai/v1/chat/completions")


def wrapped(cause: Exception) -> openai.APIConnectionError:
    """As the SDK wraps what the connection raises, and LangChain the SDK's error once more."""
    inner = openai.APIConnectionError(request=REQUEST)  # type: ignore[arg-type]
    inner.__cause__ = cause
    outer = openai.APIConnectionError(request=REQUEST)  # type: ignore[arg-type]
    outer.__cause__ = inner
    return outer


@pytest.mark.parametrize(
    ("cause", "begun", "expected"),
    [
        (httpx.ConnectError("refused"), False, EndpointDown),
        (httpx.ConnectTimeout("slow"), False, EndpointDown),
        (httpx.RemoteProtocolError("Server disconnected without sending a response."), False, EndpointDown),
        (httpx.RemoteProtocolError("peer closed connection without sending complete message body"), False, StreamCut),
        (httpx.ReadError("reset"), True, StreamCut),
        (httpx.ReadTimeout("silent"), False, StreamSilent),
        (httpx.ReadTimeout("silent"), True, StreamSilent),
    ],
)  # fmt: skip
def test_what_the_connection_does_is_told_apart(
    cause: Exception, begun: bool, expected: type[ModelError]
) -> None:
    for error in (cause, wrapped(cause)):
        found = failure_of(K3, error, 5.0, begun=begun, told={})
        assert type(found) is expected
        assert found.transient


def test_an_error_in_the_middle_of_a_stream_is_read_like_any_other() -> None:
    def event(body: dict[str, Any]) -> ModelError:
        error = openai.APIError("sk-secret", REQUEST, body=body)  # type: ignore[arg-type]
        return failure_of(K3, error, 5.0, begun=True, told={})

    assert type(event({"type": "engine_overloaded_error", "message": "busy"})) is Overloaded
    assert type(event({"type": "BadRequestError", "code": 400, "message": "no"})) is BadRequest
    assert type(event({"message": "the engine died"})) is EndpointDown
    assert (
        type(event({"code": 500, "message": "exceeds the available context size"}))
        is ContextOverflow
    )


def test_a_stream_that_is_none_is_malformed() -> None:
    error = failure_of(K3, ValueError("sk-secret"), 5.0, begun=True, told={})
    assert isinstance(error, Malformed)
    assert "secret" not in str(error)


@pytest.mark.parametrize("header", ["9" * 400, "1e30", "100000", f"{10**30}"])
def test_no_endpoint_is_waited_for_longer_than_a_day(header: str) -> None:
    waited = said(429, "rate_limit_reached_error", "TPD", {"retry-after": header}).retry_after
    assert waited is None or waited <= 86_400
    told = f"TPD, try again after {header} hours"
    waited = said(429, "rate_limit_reached_error", told, {}).retry_after
    assert waited is None or waited <= 86_400


def test_a_number_that_no_context_has_is_none() -> None:
    told = said(400, "invalid_request_error", f"exceeded model token limit: {'9' * 5_000}", {})
    assert isinstance(told, ContextOverflow)
    assert told.limit is None
