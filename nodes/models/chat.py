"""The client of a language model at an endpoint of Moonshot's or of OpenAI's protocol.

One ask is one HTTP request: the SDK never tries again, the answer is streamed, and there is no limit to how long it may
take, only to how long nothing may come. Equal asks make byte-equal requests, so that the endpoint's cache of prompts
finds the beginning that they share. The key is asked for at each call: a new one is used without a new client.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from typing import Any

import httpx
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    SystemMessage,
)
from langchain_core.runnables.config import ensure_config
from langsmith.run_helpers import (
    tracing_context,  # pyright: ignore[reportUnknownVariableType]  # one argument is partly unknown
)
from openai import RequestOptions

from ledger.canonical import Json, canonical
from ledger.errors import NotText
from ledger.journal import Received
from nodes.models.answers import understood
from nodes.models.base import Ask, Message, Reply, Streamed, Usage
from nodes.models.errors import ContextOverflow, KeyRefused, Malformed
from nodes.models.profile import CONTEXT_TOKENS_MIN, Profile
from nodes.models.streaming import FAILURES, REASONING, StreamingChat, usage_of
from nodes.models.translating import failure_of

# K3 may think for minutes before its first word, but then its thoughts are streamed; and an endpoint that is overloaded
# holds a request for long before it answers.
IDLE_SECONDS = 300.0
CONNECT_SECONDS = 15.0
# What costs nothing is no work for the endpoint either.
LOOK_UP_SECONDS = 10.0
SEED = 0

# English takes four bytes a token, code three, Chinese three to four: rather too many tokens than too few.
_BYTES_PER_TOKEN = 3
_TOKENS_PER_MESSAGE = 8
_NO_KEY = "none"


class UnknownEffort(ValueError):
    """An effort of reasoning that the model does not have; an endpoint might take it without a word."""


class ChatModel:
    """A language model at an endpoint; see base.py for what each method promises.

    `key` is asked at each call. `http` makes the HTTP client, which `aclose` closes; `idle_seconds` is how long nothing
    may come. Raises UnknownEffort.
    """

    def __init__(
        self,
        profile: Profile,
        key: Callable[[], str | None],
        *,
        effort: str | None = None,
        idle_seconds: float = IDLE_SECONDS,
        http: Callable[[], httpx.AsyncClient] | None = None,
    ) -> None:
        if effort is not None and effort not in profile.efforts:
            known = ", ".join(profile.efforts) or "none that can be set"
            raise UnknownEffort(f"{profile.name} has no effort {effort!r}; it has {known}")
        self.profile = profile
        self.name = profile.name
        self._key = key
        self._effort = effort
        timeout = httpx.Timeout(idle_seconds, connect=CONNECT_SECONDS, pool=None)
        self._http = (http or httpx.AsyncClient)()
        self._chat = _chat(profile, self._resolved_key, effort, timeout, self._http)

    @property
    def settings(self) -> Mapping[str, Json]:
        """What is recorded with every attempt."""
        sampling: dict[str, Json] = (
            {"temperature": 0, "seed": SEED} if self.profile.sends_sampling else {}
        )
        return {
            "model": self.name,
            "endpoint": self.profile.place,
            "effort": self._effort,
            "client": _client_version(),
            **sampling,
        }

    async def receive(self, ask: Ask) -> Received:
        """Make ONE HTTP call and return the assembled answer. Raises ModelError.

        A context that the endpoint says is smaller than was known is kept to from then on, unless nothing fits into it.
        """
        try:
            answer = await self.streamed(
                ask.messages, max_tokens=self._room(ask), response_format=response_format(ask)
            )
        except ContextOverflow as error:
            if error.limit is not None and _is_smaller(error.limit, self.profile):
                self.profile = replace(self.profile, context_tokens=error.limit)
            raise
        return Received(answer.content, "application/json", {"endpoint": self.profile.place})

    async def streamed(self, messages: Sequence[Message], **members: Any) -> Streamed:
        """Make ONE HTTP call with these members of the request, and put its answer together. Raises ModelError."""
        answer = _Assembled()
        with _traced_by_the_step():
            async for part in self._chat.astream([_message(each) for each in messages], **members):
                answer.take(part)
        return answer.streamed()

    async def look_up(self, path: str, body: Mapping[str, Json] | None = None) -> Json:
        """Return the JSON at an address of the endpoint's: a GET, or a POST of `body`. Raises ModelError."""
        client, failure = self._chat.root_async_client, None
        options: RequestOptions = {"timeout": LOOK_UP_SECONDS}
        try:
            response = (
                await client.get(path, cast_to=httpx.Response, options=options)
                if body is None
                else await client.post(path, cast_to=httpx.Response, body=body, options=options)
            )
            told: Json = response.json()
        except FAILURES as error:
            failure = error
        else:
            return told
        raise failure_of(self.profile, failure, LOOK_UP_SECONDS, begun=False, told={})

    def understand(self, ask: Ask, received: Received) -> Reply:
        """Return what was received as a value of the schema; calls nobody."""
        return understood(ask, received)

    async def tokens(self, ask: Ask) -> int:
        """Estimate the tokens of the prompt: a third of its bytes and eight for each message."""
        return _estimate(ask)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    def _room(self, ask: Ask) -> int:
        """Return the room for reasoning and answer; what the estimate leaves of the context, if that is less."""
        wanted = ask.answer_tokens_max + self.profile.reasoning_room(self._effort)
        left = self.profile.context_tokens - _estimate(ask)
        # Where not even the answer seems to fit, the endpoint says it exactly.
        return max(min(wanted, left), ask.answer_tokens_max)

    async def _resolved_key(self) -> str:
        key = (self._key() or "").strip()
        if not key and not self.profile.needs_key:
            return _NO_KEY
        # What is no header would be quoted in the error of the HTTP client.
        if not key or not key.isascii() or not key.isprintable():
            raise KeyRefused(self.profile.place, None, self.profile.key_variables)
        return key


def _chat(
    profile: Profile,
    key: Callable[[], Any],
    effort: str | None,
    timeout: httpx.Timeout,
    http: httpx.AsyncClient,
) -> StreamingChat:
    chosen: dict[str, Any] = {"temperature": 0, "seed": SEED} if profile.sends_sampling else {}
    return StreamingChat(
        endpoint=profile,
        idle_seconds=timeout.read or 0.0,
        model=profile.model,
        api_key=key,
        base_url=profile.base_url,
        timeout=timeout,
        max_retries=0,
        streaming=True,
        stream_usage=True,
        # Ours counts bytes: an endpoint that holds a request sends comments, which LangChain's does not see.
        stream_chunk_timeout=None,
        reasoning_effort=effort,
        use_responses_api=False,
        http_async_client=http,
        openai_proxy=None,
        **chosen,
    )


def _traced_by_the_step() -> AbstractContextManager[None]:
    """Let nobody trace a call but the callbacks of the step that makes it: LangChain's own tracer sends all text."""
    return nullcontext() if ensure_config().get("callbacks") else tracing_context(enabled=False)


def _message(message: Message) -> BaseMessage:
    match message.role:
        case "system":
            return SystemMessage(message.content)
        case "user":
            return HumanMessage(message.content)
        case "assistant":
            kept = {} if message.reasoning is None else {REASONING: message.reasoning}
            return AIMessage(message.content, additional_kwargs=kept)


def response_format(ask: Ask) -> dict[str, Any]:
    """Return the member of a request that asks for an answer of the schema."""
    schema = {"name": ask.schema_name, "schema": ask.schema, "strict": True}
    return {"type": "json_schema", "json_schema": schema}


def _is_smaller(limit: int, known: Profile) -> bool:
    return CONTEXT_TOKENS_MIN <= limit < known.context_tokens


def _estimate(ask: Ask) -> int:
    size = len(json.dumps(ask.body, ensure_ascii=False).encode(errors="surrogatepass"))
    return -(-size // _BYTES_PER_TOKEN) + _TOKENS_PER_MESSAGE * len(ask.messages)


def _client_version() -> str:
    return ", ".join(f"{name} {version(name)}" for name in ("langchain-openai", "openai"))


@dataclass(slots=True)
class _Assembled:
    """An answer as its parts come; `tools` are the names of the tools that it calls."""

    words: list[str] = field(default_factory=list[str])
    thoughts: list[str] = field(default_factory=list[str])
    usage: Usage = field(default_factory=Usage)
    tools: list[str] = field(default_factory=list[str])
    said: dict[str, Any] = field(default_factory=dict[str, Any])
    response_id: str | None = None

    def take(self, part: AIMessageChunk) -> None:
        """Add a part."""
        self.words.append(part.text)
        self.thoughts.append(part.additional_kwargs.get(REASONING, ""))
        self.tools += [name for call in part.tool_call_chunks if (name := call["name"])]
        self.said |= part.response_metadata
        if part.usage_metadata:
            self.usage = usage_of(part.usage_metadata)
        if part.id and not part.id.startswith("lc_run-"):
            self.response_id = self.response_id or part.id

    def streamed(self) -> Streamed:
        """Return it whole. Raises Malformed for text that is none."""
        return Streamed(self._content(), any(self.thoughts), tuple(self.tools), self.usage)

    def _content(self) -> bytes:
        reasoning = _joined(self.thoughts)
        body: Json = {
            "content": _joined(self.words),
            "reasoning": reasoning or None,
            "finish_reason": self.said.get("finish_reason"),
            "usage": self.usage.as_counts(),
            "response_id": self.response_id,
            "model": self.said.get("model_name"),
            "fingerprint": self.said.get("system_fingerprint"),
        }
        try:
            return canonical(body)
        except NotText:
            problem = "it is no valid Unicode"
        raise Malformed(problem, "", usage=self.usage, response_id=self.response_id)


def _joined(parts: Sequence[str]) -> str:
    """Return the text of its parts; a character that was cut into two surrogates is one again."""
    text = "".join(parts)
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
