"""An ask and a client of the scripted Moonshot server, for the tests of the client."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Literal

from pydantic import BaseModel, Field

from nodes.models.base import Ask, Message, Model, Reply
from nodes.models.chat import ChatModel
from nodes.models.dialect import dialect_of
from nodes.models.profile import profile_of
from tests.support.moonshot.server import KEY, MoonshotServer


class Finding(BaseModel):
    claim: str = Field(min_length=1)
    stance: Literal["for", "against"]
    weight: float | None = None


class Findings(BaseModel):
    findings: list[Finding] = Field(min_length=1)


ASK = Ask(
    (Message("system", "You find what documents say. " * 40), Message("user", "What do they say?")),
    "findings",
    dialect_of(Findings),
    2_000,
)


@asynccontextmanager
async def client(
    server: MoonshotServer,
    key: Callable[[], str | None] = lambda: KEY,
    model: str = "kimi-k3",
    context_tokens: int | None = None,
    **settings: Any,
) -> AsyncIterator[ChatModel]:
    opened = ChatModel(profile_of(model, server.url, context_tokens), key, **settings)
    try:
        yield opened
    finally:
        await opened.aclose()


async def reply(model: Model, ask: Ask = ASK) -> Reply:
    return model.understand(ask, await model.receive(ask))
