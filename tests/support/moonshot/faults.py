"""How an answer can go wrong, and the schedule that says which call goes wrong in which way."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from tests.support.moonshot import refusals
from tests.support.moonshot.chat import ChatRequest
from tests.support.moonshot.refusals import Refusal


class FaultKind(StrEnum):
    """What goes wrong. What needs a stream does to a plain answer what comes nearest to it."""

    #: 429 `engine_overloaded_error` at once; `retry_after_seconds` says whether with Retry-After.
    OVERLOADED = "overloaded"
    #: `chunks` of the stream, then the same error as an event, and the end without [DONE]. Plain: as OVERLOADED.
    OVERLOADED_IN_STREAM = "overloaded_in_stream"
    #: 429 `rate_limit_reached_error`: one type for four limits, which only the text tells apart.
    CONCURRENCY = "concurrency"
    REQUESTS_PER_MINUTE = "requests_per_minute"
    TOKENS_PER_MINUTE = "tokens_per_minute"
    TOKENS_PER_DAY = "tokens_per_day"
    #: `exceeded_current_quota_error` with 429, and with 403.
    QUOTA = "quota"
    QUOTA_FORBIDDEN = "quota_forbidden"
    #: 401 `invalid_authentication_error` and `incorrect_api_key_error`, though the key is good; 403; 500.
    UNAUTHENTICATED = "unauthenticated"
    INCORRECT_KEY = "incorrect_key"
    FORBIDDEN = "forbidden"
    SERVER_ERROR = "server_error"
    #: 400 `content_filter`: K3 never says it in `finish_reason`.
    CONTENT_FILTERED = "content_filtered"
    #: 400 "exceeded model token limit", and "Input token length too long", whatever was asked.
    CONTEXT_OVERFLOW = "context_overflow"
    INPUT_TOO_LONG = "input_too_long"
    #: The connection closes before a byte of the answer.
    CUT_BEFORE_ANSWER = "cut_before_answer"
    #: The connection closes after `chunks` of the stream. Plain: in the middle of the body.
    CUT_IN_STREAM = "cut_in_stream"
    #: The stream ends well-formed after `chunks`: no `finish_reason`, no usage, no [DONE]. Plain: an empty body.
    ENDED_IN_STREAM = "ended_in_stream"
    #: Nothing more after `chunks` of the stream, until the client leaves or the server closes. Plain: nothing at all.
    SILENT = "silent"
    #: `finish_reason` is "length": in the middle of the content, and before any of it.
    LENGTH = "length"
    LENGTH_IN_REASONING = "length_in_reasoning"
    #: `finish_reason` is "stop" and the content "".
    EMPTY_CONTENT = "empty_content"
    #: Content that is not JSON; JSON that does not fit the schema; another answer that fits it.
    MALFORMED_CONTENT = "malformed_content"
    SCHEMA_BROKEN = "schema_broken"
    OTHER_ANSWER = "other_answer"
    #: 200 with a body that is not JSON (a gateway's page), for a stream too.
    BODY_NOT_JSON = "body_not_json"
    #: After `chunks` one event that is not JSON, then the rest of the stream. Plain: as BODY_NOT_JSON.
    LINE_NOT_JSON = "line_not_json"
    #: A whole answer, and the same request arrives once more on its way: counted and billed twice.
    LATE_DUPLICATE = "late_duplicate"


@dataclass(frozen=True)
class Fault:
    """One thing that goes wrong with one call.

    `retry_after_seconds` adds the header Retry-After to an error; `chunks` is how many chunks of a stream come before,
    never the last one, which says how it finished.
    """

    kind: FaultKind
    retry_after_seconds: int | None = None
    chunks: int = 3


#: By number of the call (from 0, in order of arrival) and request; a sequence ends with calls that go well.
Schedule: TypeAlias = Callable[[int, ChatRequest], Fault | None] | Sequence[Fault | None]

REFUSALS: dict[FaultKind, Refusal] = {
    FaultKind.OVERLOADED: refusals.OVERLOADED,
    FaultKind.CONCURRENCY: refusals.CONCURRENCY,
    FaultKind.REQUESTS_PER_MINUTE: refusals.REQUESTS_PER_MINUTE,
    FaultKind.TOKENS_PER_MINUTE: refusals.TOKENS_PER_MINUTE,
    FaultKind.TOKENS_PER_DAY: refusals.TOKENS_PER_DAY,
    FaultKind.QUOTA: refusals.QUOTA_EXCEEDED,
    FaultKind.QUOTA_FORBIDDEN: refusals.QUOTA_FORBIDDEN,
    FaultKind.UNAUTHENTICATED: refusals.UNAUTHENTICATED,
    FaultKind.INCORRECT_KEY: refusals.INCORRECT_KEY,
    FaultKind.FORBIDDEN: refusals.FORBIDDEN,
    FaultKind.SERVER_ERROR: refusals.SERVER_ERROR,
    FaultKind.CONTENT_FILTERED: refusals.CONTENT_FILTERED,
    FaultKind.INPUT_TOO_LONG: refusals.INPUT_TOO_LONG,
}


def scheduled(schedule: Schedule, call: int, request: ChatRequest) -> Fault | None:
    """Return what goes wrong with a call."""
    if callable(schedule):
        return schedule(call, request)
    return schedule[call] if call < len(schedule) else None
