"""LangChain's chat model for OpenAI's protocol, with what Moonshot adds to it.

langchain-openai keeps to OpenAI's own API: it drops reasoning on both ways, loses the usage that a stream carries in its
choice, and hands the answer of a JSON schema to a parser that raises where an answer is cut short. This subclass keeps
all of it, always streams, and raises our errors.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from typing import Any, Self, cast

import httpx
import openai
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGenerationChunk
from langchain_openai.chat_models.base import BaseChatOpenAI
from openai.resources.chat.completions import AsyncCompletions
from pydantic import Field, model_validator
from typing_extensions import override

from nodes.models.base import Usage
from nodes.models.errors import Malformed, StreamCut, Told
from nodes.models.profile import Profile
from nodes.models.translating import failure_of

#: Where a LangChain message of ours keeps its reasoning.
REASONING = "reasoning_content"

# What the SDK, LangChain and the connection raise, and what they raise over a stream that is not of the protocol: they
# look into chunks without asking whether the members are there.
FAILURES = (
    openai.APIError, httpx.HTTPError, ValueError, KeyError, TypeError, AttributeError, IndexError,
)  # fmt: skip


class StreamingChat(BaseChatOpenAI):
    """A chat model at the endpoint of a profile."""

    endpoint: Profile = Field(exclude=True)
    idle_seconds: float = Field(exclude=True)

    @model_validator(mode="after")
    def _to_this_endpoint(self) -> Self:
        """Tell no endpoint what the SDK found in the environment for OpenAI, and read chunks as they come."""
        client = cast("openai.AsyncOpenAI", self.root_async_client)
        client.organization = client.project = None
        self.async_client = _PlainCompletions(client.chat.completions)
        return self

    @property
    @override
    def _llm_type(self) -> str:
        return f"perdure-{self.endpoint.family}"

    @override
    def _get_request_payload(
        self, input_: LanguageModelInput, *, stop: list[str] | None = None, **kwargs: Any
    ) -> dict[str, Any]:
        """Put back what LangChain leaves out, and where it belongs."""
        messages = self._convert_input(input_).to_messages()
        payload = cast(
            "dict[str, Any]", super()._get_request_payload(messages, stop=stop, **kwargs)
        )
        for message, sent in zip(messages, payload["messages"], strict=True):
            _complete(message, sent, self.endpoint.reasoning_in[0])
        beside: dict[str, Any] = {}
        if room := payload.pop("max_tokens", None):
            beside[self.endpoint.answer_tokens_field] = room
        # Seen by LangChain it would go through the SDK's parser, which keeps nothing of an answer that was cut short.
        if "response_format" in payload:
            beside["response_format"] = payload.pop("response_format")
        return {**payload, "extra_body": {**payload.get("extra_body", {}), **beside}}

    @override
    def _convert_chunk_to_generation_chunk(
        self,
        chunk: dict[str, Any],
        default_chunk_class: type,
        base_generation_info: dict[str, Any] | None,
    ) -> ChatGenerationChunk | None:
        """Keep reasoning, response id, and the usage wherever it is."""
        choices: list[dict[str, Any]] = chunk.get("choices") or []
        choice: dict[str, Any] = choices[0] if choices else {}
        delta: dict[str, Any] = choice.get("delta") or {}
        usage: dict[str, Any] | None = chunk.get("usage") or choice.get("usage")
        generation = super()._convert_chunk_to_generation_chunk(
            {
                **chunk,
                "usage": usage and _with_cached_tokens(usage),
                # LangChain leaves out a choice whose delta is null, and with it why the answer finished.
                "choices": [{**choice, "delta": delta}] if choices else [],
            },
            default_chunk_class,
            base_generation_info,
        )
        if generation is None:
            return None
        generation.message.id = chunk.get("id") or None
        if reasoning := [delta[name] for name in self.endpoint.reasoning_in if delta.get(name)]:
            generation.message.additional_kwargs[REASONING] = reasoning[0]
        return generation

    @override
    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        """Yield the parts of one answer, its usage once at the end. Raises ModelError."""
        seen = _Seen()
        parts = super()._astream(messages, stop, run_manager, **kwargs)
        failure: Exception | None = None
        async with aclosing(cast("AsyncGenerator[ChatGenerationChunk]", parts)) as stream:
            while True:
                try:
                    part = await anext(stream)
                except StopAsyncIteration:
                    break
                except FAILURES as error:
                    failure = error
                    break
                seen.take(part)
                yield part
        self._check_end(seen, failure)
        yield ChatGenerationChunk(message=AIMessageChunk(content="", usage_metadata=seen.usage))

    def _check_end(self, seen: "_Seen", failure: Exception | None) -> None:
        """Raise what a stream that ended so comes to: complete is what said why it finished, whatever came after."""
        if failure is None:
            if not seen.begun:
                raise Malformed("there is no event of a stream in it", "", **seen.told)
            if not seen.finished:
                raise StreamCut(self.endpoint.place, **seen.told)
            return
        if seen.finished and isinstance(failure, (openai.APIConnectionError, httpx.HTTPError)):
            return
        raise failure_of(
            self.endpoint, failure, self.idle_seconds, begun=seen.begun, told=seen.told
        )


class _PlainCompletions:
    """The SDK's chat completions, with chunks as plain JSON.

    LangChain would make it from the SDK's objects with pydantic's warnings on, which quote what an endpoint sends
    otherwise than OpenAI does.
    """

    def __init__(self, completions: AsyncCompletions) -> None:
        self._completions = completions

    async def create(self, **payload: Any) -> AbstractAsyncContextManager[AsyncIterator[Any]]:
        """Begin a stream."""
        create = cast("Callable[..., Awaitable[openai.AsyncStream[Any]]]", self._completions.create)
        return _plain(await create(**payload))


@asynccontextmanager
async def _plain(stream: openai.AsyncStream[Any]) -> AsyncGenerator[AsyncIterator[Any]]:
    async with stream:
        yield (chunk.model_dump(warnings=False) async for chunk in stream)


class _Seen:
    """What has come of an answer so far."""

    def __init__(self) -> None:
        self.begun = self.finished = False
        self.usage: UsageMetadata | None = None
        self.response_id: str | None = None

    def take(self, part: ChatGenerationChunk) -> None:
        """Note a part, and take its usage away: it may come in several, and each time it is that of the whole call."""
        self.begun = True
        self.finished = self.finished or bool((part.generation_info or {}).get("finish_reason"))
        self.response_id = self.response_id or part.message.id
        if isinstance(part.message, AIMessageChunk) and part.message.usage_metadata:
            self.usage, part.message.usage_metadata = part.message.usage_metadata, None

    @property
    def told(self) -> Told:
        """What an error says of the call."""
        return {"usage": usage_of(self.usage), "response_id": self.response_id}


def usage_of(metadata: UsageMetadata | None) -> Usage:
    """Return LangChain's count of the tokens of a call as ours."""
    if metadata is None:
        return Usage()
    cached = metadata.get("input_token_details", {}).get("cache_read") or 0
    return Usage(metadata["input_tokens"], metadata["output_tokens"], cached)


def _complete(message: BaseMessage, sent: dict[str, Any], reasoning_name: str) -> None:
    """Give an earlier answer its reasoning back, and no empty content: Moonshot refuses a text that is empty."""
    if not isinstance(message, AIMessage):
        return
    reasoning = message.additional_kwargs.get(REASONING)
    if reasoning is not None:
        sent[reasoning_name] = reasoning
    if not sent.get("content"):
        sent.pop("content", None)


def _with_cached_tokens(usage: Mapping[str, Any]) -> dict[str, Any]:
    """Put the cached tokens where OpenAI has them: Moonshot says them at the top."""
    details = dict(usage.get("prompt_tokens_details") or {})
    details["cached_tokens"] = details.get("cached_tokens") or usage.get("cached_tokens") or 0
    return {**usage, "prompt_tokens_details": details}
