"""The bodies and the streams of answers, shaped as Moonshot shapes them."""

import json
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from tests.support.moonshot.chat import (
    DEFAULT_COMPLETION_TOKENS_MAX,
    ChatRequest,
    JsonObject,
    ToolCall,
    compact,
    tokens_of,
)

FINGERPRINT = "fpv0_7d3a91c4"
DONE = "[DONE]"
# So that a short answer comes in a few chunks and a long one not in thousands.
_PIECES, _PIECE_CHARACTERS_MIN = 16, 12


@dataclass(frozen=True)
class Usage:
    """What a request took, in tokens; `cached` of the prompt's came from an earlier one."""

    prompt: int
    completion: int
    cached: int

    @property
    def total(self) -> int:
        return self.prompt + self.completion

    @property
    def json(self) -> JsonObject:
        return {
            "prompt_tokens": self.prompt,
            "completion_tokens": self.completion,
            "total_tokens": self.total,
            "cached_tokens": self.cached,
        }


@dataclass(frozen=True)
class Answer:
    """A whole answer, however it is going to be delivered; K3 always reasons first."""

    request: ChatRequest
    reasoning: str
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    cached_tokens: int = 0
    finish_reason: str = "stop"
    id: str = field(default_factory=lambda: f"chatcmpl-{secrets.token_hex(12)}")

    @property
    def usage(self) -> Usage:
        said = [self.reasoning, self.content, *(compact(one.arguments) for one in self.tool_calls)]
        completion = sum(map(tokens_of, said))
        return Usage(self.request.prompt_tokens, completion, self.cached_tokens)

    @property
    def body(self) -> JsonObject:
        """The body of a response that is not a stream."""
        message: JsonObject = {
            "role": "assistant",
            "content": self.content,
            "reasoning_content": self.reasoning,
        }
        if self.tool_calls:
            message["tool_calls"] = self._calls()
        choice = {"index": 0, "message": message, "finish_reason": self.finish_reason}
        return {**self._frame("chat.completion"), "choices": [choice], "usage": self.usage.json}

    def events(self) -> Iterator[str]:
        """Yield the data of each event of a stream, [DONE] the last.

        The usage stands in the last choice, and once more in a chunk of its own for who asks for it.
        """
        for delta in self._deltas():
            yield self._chunk({"index": 0, "delta": delta, "finish_reason": None})
        yield self._chunk(
            {
                "index": 0,
                "delta": {},
                "finish_reason": self.finish_reason,
                "usage": self.usage.json,
            }
        )
        if self.request.include_usage:
            frame = self._frame("chat.completion.chunk")
            yield json.dumps({**frame, "choices": [], "usage": self.usage.json})
        yield DONE

    def _deltas(self) -> Iterator[JsonObject]:
        yield {"role": "assistant", "content": ""}
        for piece in _pieces(self.reasoning):
            yield {"reasoning_content": piece}
        for piece in _pieces(self.content):
            yield {"content": piece}
        for index, call in enumerate(self._calls()):
            function = call["function"]
            opening = {**function, "arguments": ""}
            yield {"tool_calls": [{"index": index, **call, "function": opening}]}
            for piece in _pieces(function["arguments"]):
                yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}

    def _calls(self) -> list[JsonObject]:
        """The calls with ids that are numbered anew in each message, and so repeat from turn to turn."""
        return [
            {
                "id": f"{call.name}:{index}",
                "type": "function",
                "function": {"name": call.name, "arguments": compact(call.arguments)},
            }
            for index, call in enumerate(self.tool_calls)
        ]

    def _chunk(self, choice: JsonObject) -> str:
        return json.dumps({**self._frame("chat.completion.chunk"), "choices": [choice]})

    def _frame(self, kind: str) -> JsonObject:
        return {
            "id": self.id,
            "object": kind,
            "created": int(time.time()),
            "model": self.request.model,
            "system_fingerprint": FINGERPRINT,
        }


def compose(request: ChatRequest, said: str | list[ToolCall], *, cached_tokens: int) -> Answer:
    """Make the answer of what a brain said; what does not fit `max_completion_tokens` is cut off ("length")."""
    reasoning = f"They ask: {request.last[:80]} I think ({request.reasoning_effort}) and answer."
    if isinstance(said, list):
        return Answer(request, reasoning, "", tuple(said), cached_tokens, "tool_calls")
    whole = Answer(request, reasoning, said, cached_tokens=cached_tokens)
    left = request.completion_tokens_max or DEFAULT_COMPLETION_TOKENS_MAX
    return whole if whole.usage.completion <= left else _cut_off(whole, left)


def _cut_off(answer: Answer, tokens_max: int) -> Answer:
    """Keep what fits: the reasoning comes first, and may take all."""
    spare = tokens_max - tokens_of(answer.reasoning)
    if spare < 0:
        kept = answer.reasoning[: tokens_max * 4]
        return replace(answer, reasoning=kept, content="", finish_reason="length")
    return replace(answer, content=answer.content[: spare * 4], finish_reason="length")


def _pieces(text: str) -> Iterator[str]:
    size = max(_PIECE_CHARACTERS_MIN, -(-len(text) // _PIECES))
    return (text[start : start + size] for start in range(0, len(text), size))
