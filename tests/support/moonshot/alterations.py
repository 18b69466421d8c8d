"""Whole answers that say the wrong thing: what a fault makes of the answer that was meant."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from tests.support.moonshot.answers import Answer
from tests.support.moonshot.brain import other_instance
from tests.support.moonshot.faults import FaultKind

Alteration: TypeAlias = Callable[[Answer], Answer]


def _broken(answer: Answer) -> Answer:
    """Leave the first required property out; without one the answer is a list, which no schema in MFJS allows."""
    required: list[str] = (answer.request.schema or {}).get("required", [])
    if not required:
        return replace(answer, content="[]")
    told = json.loads(answer.content)
    told.pop(required[0], None)
    return replace(answer, content=json.dumps(told))


def _other(answer: Answer) -> Answer:
    schema = answer.request.schema
    if schema is None:
        return replace(answer, content=f"{answer.content} Or so.")
    return replace(answer, content=json.dumps(other_instance(schema)))


def _shortened(answer: Answer) -> Answer:
    half = answer.content[: len(answer.content) // 2]
    return replace(answer, content=half, finish_reason="length")


#: By kind of fault; other faults let the answer as it is.
ALTERATIONS: dict[FaultKind, Alteration] = {
    FaultKind.LENGTH: _shortened,
    FaultKind.LENGTH_IN_REASONING: lambda answer: replace(
        answer, content="", tool_calls=(), finish_reason="length"
    ),
    FaultKind.EMPTY_CONTENT: lambda answer: replace(
        answer, content="", tool_calls=(), finish_reason="stop"
    ),
    FaultKind.MALFORMED_CONTENT: lambda answer: replace(answer, content="{" + answer.content),
    FaultKind.SCHEMA_BROKEN: _broken,
    FaultKind.OTHER_ANSWER: _other,
}
