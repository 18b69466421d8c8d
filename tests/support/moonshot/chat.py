"""A request for a chat completion, read as Moonshot reads it; nothing is judged here (`rules` does that)."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

JsonObject: TypeAlias = dict[str, Any]

# K3 thinks as hard as it can unless it is told otherwise.
DEFAULT_EFFORT = "max"
# docs: max_completion_tokens is 131,072 when it is not given.
DEFAULT_COMPLETION_TOKENS_MAX = 131_072
CHARACTERS_PER_TOKEN = 4


def compact(value: object) -> str:
    """Return a value as JSON without spaces, its keys in the order in which they came."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def tokens_of(value: object) -> int:
    """Count tokens: four characters each, begun ones whole; of what is not text, the characters of its JSON."""
    text = value if isinstance(value, str) else compact(value)
    return -(-len(text) // CHARACTERS_PER_TOKEN)


@dataclass(frozen=True)
class ToolCall:
    """A tool that the model wants called; on the wire its id is `name:0`, and so repeats from message to message."""

    name: str
    arguments: JsonObject


@dataclass(frozen=True)
class ChatRequest:
    """What one chat completion asks for; `body` is all of it as it came."""

    body: JsonObject

    @property
    def model(self) -> str:
        return str(self.body.get("model", ""))

    @property
    def messages(self) -> list[JsonObject]:
        return [one for one in _list(self.body.get("messages")) if isinstance(one, dict)]

    @property
    def response_format(self) -> JsonObject:
        return _object(self.body.get("response_format"))

    @property
    def schema(self) -> JsonObject | None:
        """The JSON schema that the answer has to fit, if one is asked for."""
        schema = _object(self.response_format.get("json_schema")).get("schema")
        return schema if isinstance(schema, dict) else None

    @property
    def schema_name(self) -> str | None:
        """The schema's name: what tells a brain which question is asked."""
        name = _object(self.response_format.get("json_schema")).get("name")
        return name if isinstance(name, str) else None

    @property
    def tools(self) -> list[JsonObject]:
        """Every tool on offer, also those that system messages bring (Moonshot's dynamic tools)."""
        brought = [tool for one in self.messages for tool in _list(one.get("tools"))]
        return [*_list(self.body.get("tools")), *brought]

    @property
    def tool_choice(self) -> str:
        """`auto`, `none` or `required`; the object that names one function is ignored, as K3 does."""
        choice = self.body.get("tool_choice")
        return choice if isinstance(choice, str) else "auto"

    @property
    def reasoning_effort(self) -> str:
        """How hard to think: `thinking.effort` wins over `reasoning_effort`; unknown values are taken silently."""
        given = _object(self.body.get("thinking")).get("effort")
        return str(given or self.body.get("reasoning_effort") or DEFAULT_EFFORT)

    @property
    def stream(self) -> bool:
        return self.body.get("stream") is True

    @property
    def include_usage(self) -> bool:
        return _object(self.body.get("stream_options")).get("include_usage") is True

    @property
    def completion_tokens_max(self) -> int | None:
        """What reasoning and answer may take together, if the request says so (`max_tokens` is the older name)."""
        given = self.body.get("max_completion_tokens", self.body.get("max_tokens"))
        return given if isinstance(given, int) else None

    @property
    def prompt_tokens(self) -> int:
        """Tokens of the tools and of every message; see `tokens_of`."""
        offered = _list(self.body.get("tools"))
        return (tokens_of(offered) if offered else 0) + sum(map(tokens_of, self.messages))

    @property
    def text(self) -> str:
        """The contents of all messages, one below the other."""
        return "\n".join(_text(one.get("content")) for one in self.messages)

    @property
    def last(self) -> str:
        """The content of the last message."""
        return _text(self.messages[-1].get("content")) if self.messages else ""


def shared_tokens(request: ChatRequest, earlier: Iterable[ChatRequest]) -> int:
    """Count the tokens of the longest run of leading messages that an earlier request had too, byte for byte.

    The model and the tools stand before the messages in what is compared: other tools share nothing.
    """
    return max((_shared(request, one) for one in earlier), default=0)


def _shared(request: ChatRequest, other: ChatRequest) -> int:
    if _head(request) != _head(other):
        return 0
    total = 0
    for mine, theirs in zip(request.messages, other.messages, strict=False):
        if compact(mine) != compact(theirs):
            break
        total += tokens_of(mine)
    return total


def _head(request: ChatRequest) -> str:
    return compact([request.model, request.body.get("tools")])


def _text(content: object) -> str:
    if isinstance(content, list):
        return "\n".join(str(_object(part).get("text", "")) for part in content)
    return content if isinstance(content, str) else ""


def _object(value: object) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
