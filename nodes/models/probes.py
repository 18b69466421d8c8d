"""The calls that verify an endpoint: a few, short, each with a limit to what it can cost.

A call that is answered costs its prompt and at most ROOM_TOKENS; one that is refused costs nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from ledger.canonical import Json
from ledger.journal import Received
from nodes.models.answers import understood
from nodes.models.base import Ask, Message, Model, Streamed
from nodes.models.chat import response_format
from nodes.models.errors import (
    BadRequest,
    EmptyAnswer,
    KeyRefused,
    Malformed,
    ModelError,
    UnknownModel,
)
from nodes.models.outcomes import Outcome, Question, refuted, unverified, verified

#: For reasoning and answer together: K3 thinks little about so little.
ROOM_TOKENS = 4_096
# What a refusal was expected of, and comes after all.
_ROOM_OF_REFUSED = 16
# Endpoints cache beginnings of prompts from 1,024 tokens on (OpenAI's documents; others from less).
_LINES = 75
_LINE = "Line {}: this text is the same at every check, so that a cache can hold its beginning."
_NO_MODEL = "perdure-asks-for-no-such-model"
# Every value but 1 is refused by a Kimi model.
_TEMPERATURE = 0.5
_WORDS: Json = {
    "type": "object",
    "properties": {"word": {"type": "string", "enum": ["seven", "river", "apple"]}},
    "required": ["word"],
    "additionalProperties": False,
}
_TOOL: Json = {
    "type": "function",
    "function": {"name": "note", "description": "Notes a word.", "parameters": _WORDS},
}
_SHORT = (Message("user", "Say yes."),)


def question() -> Ask:
    """Return the ask that is put twice: the same bytes at every check."""
    assert isinstance(_WORDS, Mapping)
    lines = "\n".join(_LINE.format(number) for number in range(1, _LINES + 1))
    asked = "Which of these words is a number: seven, river, apple? Answer as JSON."
    return Ask((Message("system", lines), Message("user", asked)), "word", _WORDS, ROOM_TOKENS)


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of that ask, whatever it says."""

    ask: Ask
    whole: Streamed
    place: str

    def outcomes(self, model: Model) -> tuple[Outcome, ...]:
        """Return what one answer shows."""
        return (
            verified("answer", "a call was answered whole, in a stream"),
            verified("key", "calls are accepted with what is set"),
            self._structured(),
            self._reasoning(model),
            self._usage(),
        )

    def _structured(self) -> Outcome:
        received = Received(self.whole.content, "application/json", {"endpoint": self.place})
        try:
            understood(self.ask, received)
        except (Malformed, EmptyAnswer) as error:
            return refuted("structured output", error.reason)
        except ModelError as error:
            return unverified("structured output", error)
        return verified("structured output", "an answer fits its JSON schema")

    def _reasoning(self, model: Model) -> Outcome:
        if self.whole.reasoned:
            return verified("reasoning", "it comes in the stream and is kept")
        if model.profile.family == "kimi" and model.profile.efforts:
            return refuted("reasoning", "none came, though this model always reasons")
        return unverified("reasoning", "none came; a model may have none")

    def _usage(self) -> Outcome:
        if self.whole.usage.prompt_tokens > 0:
            return verified("usage", "it is told in the stream")
        return refuted("usage", "none is told, so that no budget of tokens can be kept")


async def asked(model: Model) -> Answer:
    """Put the ask once. Raises ModelError."""
    ask = question()
    members = {"max_tokens": ROOM_TOKENS, "response_format": response_format(ask)}
    return Answer(ask, await model.streamed(ask.messages, **members), model.profile.place)


def unanswered(error: ModelError) -> tuple[Outcome, ...]:
    """Return what an ask without an answer shows: a refusal of the request is one of its schema, as far as is known."""
    lasting = not error.transient or isinstance(error, Malformed)
    answer = refuted("answer", error.reason) if lasting else unverified("answer", error)
    structured = unverified("structured output", error)
    if isinstance(error, BadRequest):
        structured = refuted("structured output", error.reason)
    key = (
        refuted("key", error.reason) if isinstance(error, KeyRefused) else unverified("key", error)
    )
    left: tuple[Question, ...] = ("reasoning", "usage", "cached tokens")
    return answer, structured, key, *(unverified(each, error) for each in left)


async def cached_tokens(model: Model) -> Outcome:
    """Put the ask once more. Raises ModelError."""
    cached = (await asked(model)).whole.usage.cached_tokens
    if cached > 0:
        return verified("cached tokens", f"{cached} of a prompt that was sent twice")
    return unverified("cached tokens", "none are told of a prompt that was sent twice")


async def tool_calls(model: Model) -> Outcome:
    """Offer a tool. Perdure uses none, so that an endpoint without them is no worse for it. Raises ModelError."""
    choice = model.profile.tool_choice
    message = Message("user", "Call the tool `note` with the word seven.")
    try:
        answer = await model.streamed(
            (message,), max_tokens=ROOM_TOKENS, tools=[_TOOL], tool_choice=choice
        )
    except BadRequest as error:
        return unverified("tool calls", f"{error.reason}; Perdure uses none")
    how = "calls the tool" if answer.tools else "does not call the tool"
    return verified(
        "tool calls", f"tools with tool_choice {choice} are answered; it {how}; Perdure uses none"
    )


async def unknown_model(model: Model) -> Outcome:
    """Ask a model that nobody has. Raises ModelError where that says nothing of names."""
    name: Question = "unknown model"
    try:
        await model.streamed(_SHORT, max_tokens=_ROOM_OF_REFUSED, model=_NO_MODEL)
    except UnknownModel:
        return verified(name, "it is refused as one")
    except BadRequest as error:
        return refuted(name, f"it is refused as something else: {error.reason}")
    return unverified(name, "the endpoint answers to any name")


async def sampling_values(model: Model) -> Outcome:
    """Send a temperature that a Kimi model is said to refuse, and that is never sent otherwise. Raises ModelError."""
    name: Question = "sampling values"
    try:
        await model.streamed(_SHORT, max_tokens=_ROOM_OF_REFUSED, temperature=_TEMPERATURE)
    except BadRequest:
        return verified(name, f"a temperature of {_TEMPERATURE} is refused, as is documented")
    return unverified(name, f"a temperature of {_TEMPERATURE} was taken; none is ever sent")
