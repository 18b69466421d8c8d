"""What reaches LangSmith of a call of a model: that it was made in a step, its tokens, and no text."""

from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.runnables import RunnableLambda
from langchain_core.tracers.langchain import wait_for_all_tracers
from langsmith import utils

from graph.tracing import tracing
from tests.support.langsmith_endpoint import Received as Traced
from tests.support.langsmith_endpoint import langsmith_endpoint
from tests.support.model_asks import client, reply
from tests.support.moonshot.server import KEY, MoonshotServer, moonshot_server


@pytest.fixture
def server() -> Iterator[MoonshotServer]:
    with moonshot_server() as running:
        yield running


@pytest.fixture
def traces(monkeypatch: pytest.MonkeyPatch) -> Iterator[Traced]:
    """Tracing switched on as LangSmith's documentation says; it reads its variables once per process."""
    remembering: Any = utils.get_env_var
    with langsmith_endpoint() as received:
        for name, value in received.variables.items():
            monkeypatch.setenv(name, value)
        remembering.cache_clear()
        yield received
        monkeypatch.undo()
        remembering.cache_clear()


async def test_a_call_outside_a_step_is_traced_by_nobody(
    server: MoonshotServer, traces: Traced
) -> None:
    async with client(server) as model:
        await reply(model)
    wait_for_all_tracers()
    assert not traces.bodies


async def test_a_call_in_a_step_is_traced_with_its_tokens_and_without_its_text(
    server: MoonshotServer, traces: Traced
) -> None:
    server.brain = lambda request: '{"findings": [{"claim": "zebra", "stance": "for"}]}'
    async with client(server) as model, tracing(show_text=False) as callbacks:

        async def step(_: str) -> str:
            return (await reply(model)).content

        await RunnableLambda(step).ainvoke("", {"callbacks": list(callbacks)})
    sent = "\n".join(traces.bodies)
    assert "input_tokens" in sent
    for text in ("What do they say", "You find what documents say", "zebra", KEY):
        assert text not in sent
