"""From what went wrong with a call to one of our errors: the one place that knows what endpoints answer."""

import re
import ssl

import httpx
import openai

from nodes.models.errors import (
    BadRequest,
    ContentFiltered,
    ContextOverflow,
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
    Told,
    UnknownModel,
)
from nodes.models.profile import Profile
from nodes.models.refusals import Refusal

_UNAUTHORIZED, _PAYMENT_REQUIRED, _FORBIDDEN, _NOT_FOUND, _TOO_MANY = 401, 402, 403, 404, 429
_REFUSED, _SERVER_ERROR, _OVERLOADED = 400, 500, 529
# Timeouts and conflicts on the endpoint's side (RFC 9110 and 8470): the same call may succeed.
_PASSING = frozenset({408, 409, 425})

# Moonshot's types first; the others are OpenAI's, Anthropic's and those of servers of open models.
_QUOTA = frozenset({"exceeded_current_quota_error", "insufficient_quota", "insufficient_balance"})
_KEY = frozenset({"invalid_authentication_error", "incorrect_api_key_error", "invalid_api_key"})
_FILTER = frozenset({"content_filter", "content_policy_violation"})
_OVERFLOW = frozenset({"context_length_exceeded", "exceed_context_size_error"})
_ENGINE = frozenset({"engine_overloaded_error", "overloaded_error"})
_LIMIT = frozenset({"rate_limit_reached_error", "rate_limit_exceeded", "rate_limit_error"})
_MODEL = frozenset({"model_not_found"})
_PERMISSION = frozenset({"permission_denied_error"})
_SERVER = frozenset({"server_error", "internal_server_error", "internalservererror"})

# How h11 says that an answer ended early, of which nothing else may have been read yet.
_BODY_CUT = "complete message body"
# What a request can have wrong at Moonshot, in words of our own.
_CAUSES = (
    (re.compile(r"invalid (temperature|top_p|n\b|presence|frequency)"), "it fixes a sampling value that was sent"),
    (re.compile(r"reasoning_content is missing"), "the reasoning of an earlier message is missing"),
    (re.compile(r"content is empty"), "a message without content was sent"),
    (re.compile(r"schema|response_format", re.IGNORECASE), "it refuses the schema of the answer"),
    (re.compile(r"reasoning_effort|thinking", re.IGNORECASE), "it refuses the effort of reasoning"),
    (re.compile(r"max_(completion_)?tokens"), "it refuses the room for the answer"),
)  # fmt: skip
_PLAIN_TYPE = re.compile(r"[a-z][a-z_]{2,59}")


def translated(profile: Profile, refusal: Refusal, told: Told) -> ModelError:
    """Return the error that a refusal stands for."""
    if refusal.retry_after is not None:
        told = {**told, "retry_after": refusal.retry_after}
    return _by_type(profile, refusal, told) or _by_status(profile, refusal, told)


def failure_of(
    profile: Profile, error: Exception, idle_seconds: float, *, begun: bool, told: Told
) -> ModelError:
    """Return the error that one of the SDK or of the connection stands for; `begun` says that the answer had begun."""
    cause = _root(error)
    if isinstance(error, openai.APIStatusError):
        headers = dict(error.response.headers)
        return translated(profile, Refusal(error.status_code, error.body, headers), told)
    if isinstance(error, openai.APIError) and not isinstance(error, openai.APIConnectionError):
        return translated(profile, Refusal(None, error.body, {}), told)
    if isinstance(cause, httpx.ReadTimeout):
        return StreamSilent(profile.place, idle_seconds, **told)
    if isinstance(cause, (httpx.HTTPError, ssl.SSLError, openai.APIConnectionError)):
        if begun or _BODY_CUT in str(cause):
            return StreamCut(profile.place, **told)
        return EndpointDown(profile.place, type(cause).__name__, **told)
    # What the SDK and LangChain raise over a stream that is not of the protocol.
    return Malformed(f"the stream is none of the protocol ({type(error).__name__})", "", **told)


def _root(error: BaseException) -> BaseException:
    """Return what lies under an error of the connection, which LangChain and the SDK each wrap."""
    while isinstance(error, openai.APIConnectionError) and error.__cause__ is not None:
        error = error.__cause__
    return error


def _by_type(profile: Profile, refusal: Refusal, told: Told) -> ModelError | None:
    place, types = profile.place, refusal.types
    # First, because Moonshot also says it with 403 and 429, and no try helps.
    if types & _QUOTA or refusal.code == _PAYMENT_REQUIRED:
        return QuotaExhausted(place, **told)
    if types & _FILTER:
        return ContentFiltered(place, **told)
    if types & _OVERFLOW or refusal.overflows:
        return ContextOverflow(place, *refusal.context, **told)
    if types & _ENGINE or refusal.code == _OVERLOADED:
        return Overloaded(place, **told)
    if types & _LIMIT or refusal.code == _TOO_MANY:
        return RateLimited(place, refusal.limit, **told)
    return _by_account(profile, refusal, told)


def _by_account(profile: Profile, refusal: Refusal, told: Told) -> ModelError | None:
    types, code = refusal.types, refusal.code
    if types & _KEY or code == _UNAUTHORIZED:
        return KeyRefused(profile.place, code or _UNAUTHORIZED, profile.key_variables, **told)
    # Moonshot has one type for a model and an address that are not there.
    if types & _MODEL or (code == _NOT_FOUND and "model" in refusal.text.lower()):
        return UnknownModel(profile.place, profile.model, **told)
    if types & _PERMISSION or code == _FORBIDDEN:
        return PermissionDenied(profile.place, **told)
    return None


def _by_status(profile: Profile, refusal: Refusal, told: Told) -> ModelError:
    place, code = profile.place, refusal.code
    if code is None or code >= _SERVER_ERROR or code in _PASSING or refusal.types & _SERVER:
        said = "an error in the middle of the answer" if refusal.status is None else f"HTTP {code}"
        return EndpointDown(place, said, **told)
    return BadRequest(place, code, _what(refusal), **told)


def _what(refusal: Refusal) -> str:
    """Return what is wrong with the request, in our words or by a type that can hold nothing else."""
    if refusal.code is not None and (refusal.code == _NOT_FOUND or refusal.code < _REFUSED):
        return "nothing is at this address, or no longer; see whether the base URL is right"
    for pattern, cause in _CAUSES:
        if pattern.search(refusal.text):
            return cause
    plain = sorted(said for said in refusal.types if _PLAIN_TYPE.fullmatch(said))
    return f"it says {plain[0]}" if plain else "it does not say why"
