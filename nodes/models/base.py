"""What is asked of a language model, and what it answers.

One ask is one HTTP call, in the two halves of the journal: `receive` calls and keeps what came, `understand` calls
nobody and makes a value of it. Nothing here tries again: that is for whoever holds the budget of a run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from ledger.canonical import Json
from ledger.journal import Received
from nodes.models.profile import Profile


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens of one HTTP call, as the endpoint counted them.

    `completion_tokens` includes reasoning; `cached_tokens` are those of the prompt that were read from its cache.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0

    def as_counts(self) -> dict[str, int]:
        """Return the three numbers under their names."""
        return {
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "cached_tokens": self.cached_tokens,
        }


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation; `reasoning` goes back byte-equal to what the model sent."""

    role: Literal["system", "user", "assistant"]
    content: str
    reasoning: str | None = None

    @property
    def body(self) -> dict[str, Json]:
        """Its JSON form; without reasoning the name is missing."""
        kept: dict[str, Json] = {} if self.reasoning is None else {"reasoning": self.reasoning}
        return {"role": self.role, "content": self.content, **kept}


@dataclass(frozen=True, slots=True)
class Ask:
    """One call: canonical, so that it can be part of a journal key.

    `schema` is the JSON schema of the answer in Kimi's dialect (dialect.py), an object; `answer_tokens_max` is the room
    for the answer, to which the client adds the room for reasoning.
    """

    messages: tuple[Message, ...]
    schema_name: str
    schema: Mapping[str, Json]
    answer_tokens_max: int

    @property
    def body(self) -> Json:
        """All of it as JSON: two asks with equal bodies are one question."""
        return {
            "messages": [message.body for message in self.messages],
            "schema_name": self.schema_name,
            "schema": self.schema,
            "answer_tokens_max": self.answer_tokens_max,
        }


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer that fits its schema; `value` is what `content` says, `model` who the endpoint says it was."""

    value: Json
    content: str
    reasoning: str | None
    usage: Usage
    response_id: str | None
    model: str
    finish_reason: str
    fingerprint: str | None


@dataclass(frozen=True, slots=True)
class Streamed:
    """An answer put together; `content` is canonical JSON as `Model.receive` has it, `tools` the names that it calls."""

    content: bytes
    reasoned: bool
    tools: tuple[str, ...]
    usage: Usage


class Model(Protocol):
    """A language model at an endpoint."""

    @property
    def name(self) -> str:
        """The name by which it is chosen: `kimi-k3`, `openai:NAME`."""
        ...

    @property
    def profile(self) -> Profile:
        """What is known of its endpoint."""
        ...

    @property
    def settings(self) -> Mapping[str, Json]:
        """What is recorded with every attempt: model, endpoint host, effort, version of the client; no secret."""
        ...

    async def receive(self, ask: Ask) -> Received:
        """Make ONE HTTP call and return the assembled answer as canonical JSON.

        Its members: content, reasoning, finish_reason, usage, response_id, model, fingerprint. Raises ModelError.
        """
        ...

    async def streamed(self, messages: Sequence[Message], **members: Any) -> Streamed:
        """Make ONE HTTP call with these members of the request, and put its answer together. Raises ModelError."""
        ...

    async def look_up(self, path: str, body: Mapping[str, Json] | None = None) -> Json:
        """Return the JSON at an address of the endpoint's: a GET, or a POST of `body`. Raises ModelError."""
        ...

    def understand(self, ask: Ask, received: Received) -> Reply:
        """Return what was received as a value of the schema; calls nobody.

        Raises Truncated, EmptyAnswer and Malformed, each with the usage and the response id.
        """
        ...

    async def tokens(self, ask: Ask) -> int:
        """Estimate the tokens of the prompt, here and without a call: rather too many than too few."""
        ...

    async def aclose(self) -> None:
        """Close the connections."""
        ...
