"""What a question put to an endpoint came to: verified, refuted with what was seen, or not verified with the reason why."""

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from nodes.models.errors import ModelError

#: `answer` is whether the model answers at all; `key` whether calls are accepted with ours.
Question: TypeAlias = Literal[
    "answer",
    "listing",
    "context",
    "key",
    "structured output",
    "reasoning",
    "usage",
    "cached tokens",
    "tool calls",
    "unknown model",
    "sampling values",
    "token estimate",
    "balance",
]
Verdict: TypeAlias = Literal["verified", "refuted", "not verified"]

QUESTIONS: tuple[Question, ...] = get_args(Question)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one question came to; `detail` holds nothing of what the endpoint wrote, and no key."""

    question: Question
    verdict: Verdict
    detail: str


def verified(question: Question, detail: str) -> Outcome:
    """Say that it is as we have it."""
    return Outcome(question, "verified", detail)


def refuted(question: Question, seen: str) -> Outcome:
    """Say that it is otherwise, and what was seen."""
    return Outcome(question, "refuted", seen)


def unverified(question: Question, why: str | ModelError) -> Outcome:
    """Say that nothing was found out, and why."""
    return Outcome(
        question, "not verified", why.reason if isinstance(why, ModelError) else str(why)
    )
