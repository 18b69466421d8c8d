"""Verifies what is known of an endpoint by asking it, each question by itself.

What documents say of an endpoint is no knowledge of it. A question that fails does not hide the others, unless what failed
it would fail them all.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeAlias, TypeVar

from ledger.canonical import Json
from nodes.models import probes
from nodes.models.base import Model
from nodes.models.errors import (
    BadRequest,
    EndpointDown,
    KeyRefused,
    ModelError,
    QuotaExhausted,
    StreamSilent,
    UnknownModel,
)
from nodes.models.listing import listed, listing_outcomes
from nodes.models.outcomes import Outcome, Question, refuted, unverified, verified

T = TypeVar("T")
_Probe: TypeAlias = Callable[[Model], Awaitable[Outcome]]

# What one call meets and every other would meet, too.
_OF_ALL = (KeyRefused, QuotaExhausted, UnknownModel, StreamSilent)
_EVERYWHERE: tuple[tuple[Question, _Probe], ...] = (
    ("tool calls", probes.tool_calls),
    ("unknown model", probes.unknown_model),
)


async def examine(model: Model) -> tuple[Outcome, ...]:
    """Ask the endpoint of a model all questions; what each came to."""
    found = await _tried(listed(model))
    outcomes: list[Outcome] = [*await listing_outcomes(model, found)]
    answer = await _tried(probes.asked(model))
    if isinstance(answer, ModelError):
        outcomes += probes.unanswered(answer)
    else:
        outcomes += answer.outcomes(model)
        outcomes.append(await _told("cached tokens", probes.cached_tokens(model)))
    stopped = _stopped(found, answer)
    for question, probe in _others(model):
        outcomes.append(
            await _told(question, probe(model))
            if stopped is None
            else unverified(question, stopped)
        )
    return tuple(outcomes)


async def _tried(call: Awaitable[T]) -> T | ModelError:
    try:
        return await call
    except ModelError as error:
        return error


async def _told(question: Question, call: Awaitable[Outcome]) -> Outcome:
    told = await _tried(call)
    return told if isinstance(told, Outcome) else unverified(question, told)


def _stopped(found: object, answer: object) -> ModelError | None:
    """Return what would fail every other question, too: an endpoint that is away was asked twice by then."""
    if isinstance(answer, _OF_ALL):
        return answer
    if isinstance(answer, EndpointDown) and isinstance(found, EndpointDown):
        return answer
    return None


def _others(model: Model) -> Sequence[tuple[Question, _Probe]]:
    """Return the questions that calls of their own answer: what only Moonshot has is asked of its models."""
    if model.profile.family != "kimi":
        return _EVERYWHERE
    return (
        *_EVERYWHERE,
        ("sampling values", probes.sampling_values),
        ("token estimate", _token_estimate),
        ("balance", _balance),
    )


async def _token_estimate(model: Model) -> Outcome:
    """Have the endpoint count the tokens of a prompt, for free. Raises ModelError."""
    ask = probes.question()
    messages: list[Json] = [message.body for message in ask.messages]
    told = await _asked_of_moonshot(
        model,
        "/tokenizers/estimate-token-count",
        {"model": model.profile.model, "messages": messages},
    )
    count = _number(told, "total_tokens")
    if count is None:
        return unverified("token estimate", "the endpoint has none")
    return verified(
        "token estimate", f"{count} tokens, where we estimate {await model.tokens(ask)}"
    )


async def _balance(model: Model) -> Outcome:
    """Ask whether there is money left; how much is nobody's business here. Raises ModelError."""
    left = _number(await _asked_of_moonshot(model, "/users/me/balance"), "available_balance")
    if left is None:
        return unverified("balance", "the endpoint tells none")
    if left <= 0:
        return refuted("balance", "the account's balance is used up: top it up")
    return verified("balance", "there is money left")


async def _asked_of_moonshot(
    model: Model, path: str, body: Mapping[str, Json] | None = None
) -> Mapping[str, Json]:
    """Return the `data` of an answer; nothing where there is no such address. Raises ModelError."""
    try:
        told = await model.look_up(path, body)
    except (BadRequest, UnknownModel):
        return {}
    data = told.get("data") if isinstance(told, Mapping) else None
    return data if isinstance(data, Mapping) else {}


def _number(data: Mapping[str, Json], name: str) -> float | None:
    value = data.get(name)
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None
