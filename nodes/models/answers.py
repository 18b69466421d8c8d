"""From the answer that was received to a value of its schema; nobody is called, so that the same bytes mean the same."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

from pydantic import BaseModel, ConfigDict

from ledger.canonical import Json, canonical
from ledger.errors import NotText
from ledger.journal import Received
from nodes.models.base import Ask, Reply, Usage
from nodes.models.dialect import validated
from nodes.models.errors import ContentFiltered, EmptyAnswer, Malformed, Told, Truncated

# Of many problems, enough for whoever asks again.
PROBLEMS_MAX = 5
# What no text has between its words, and a database or a terminal cannot be given: controls other than white space.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f]")


class _Kept(BaseModel):
    """The answer as the client assembles it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    content: str
    reasoning: str | None
    finish_reason: str
    usage: Usage
    response_id: str | None
    model: str | None
    fingerprint: str | None


def usage_in(received: Received) -> Usage:
    """Return what an answer used, whatever it says."""
    return _Kept.model_validate_json(received.content).usage


def understood(ask: Ask, received: Received) -> Reply:
    """Return what was received as a value of the schema of its ask.

    Raises Truncated, ContentFiltered (where an endpoint says it as the reason why the answer ended), EmptyAnswer and
    Malformed.
    """
    kept = _Kept.model_validate_json(received.content)
    told: Told = {"usage": kept.usage, "response_id": kept.response_id}
    if kept.finish_reason == "length":
        raise Truncated(kept.content, **told)
    if kept.finish_reason == "content_filter":
        raise ContentFiltered(str(received.detail.get("endpoint", "the endpoint")), **told)
    if not kept.content.strip():
        raise EmptyAnswer(**told)
    return Reply(
        value=_value(ask, kept.content, told),
        content=kept.content,
        reasoning=kept.reasoning,
        usage=kept.usage,
        response_id=kept.response_id,
        model=kept.model or "",
        finish_reason=kept.finish_reason,
        fingerprint=kept.fingerprint,
    )


def _value(ask: Ask, content: str, told: Told) -> Json:
    """Return the JSON of an answer. Raises Malformed."""
    problem = None
    value: Any = None
    try:
        value = json.loads(content, parse_constant=_refuse)
    except (ValueError, RecursionError):
        problem = "it is no JSON"
    if problem is None:
        problems = validated(ask.schema, value) or list(dict.fromkeys(_unusable(value)))
        problem = "; ".join(problems[:PROBLEMS_MAX])
    if problem:
        raise Malformed(problem, content, **told)
    return value  # type: ignore[no-any-return]


def _unusable(value: Json) -> Iterator[str]:
    """Yield why a value of its schema can be neither kept nor read; no schema of the dialect can say it."""
    try:
        canonical(value)
    except NotText:
        yield "it has characters that are no valid Unicode, or a number that is too large"
        return
    for text in _texts(value):
        if _CONTROL.search(text):
            yield "a text has control characters"
        if not any(each.isprintable() and not each.isspace() for each in text):
            yield "a text says nothing"


def _texts(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, Sequence):
        for each in value:
            yield from _texts(each)


def _refuse(constant: str) -> NoReturn:
    """Python reads NaN and Infinity, which are no JSON."""
    raise ValueError(constant)
