"""LangGraph's own suite for checkpointers: our saver has every capability and passes all of it."""

from collections.abc import AsyncGenerator

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.capabilities import ALL_CAPABILITIES

from tests.support.savers import open_saver


async def test_every_capability_passes(
    database_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    @checkpointer_test(name="SealedPostgresSaver")
    async def ours() -> AsyncGenerator[BaseCheckpointSaver[str]]:
        async with open_saver(database_url) as saver:
            yield saver

    report = await validate(ours)
    with capsys.disabled():
        report.print_report()
    failures = {
        capability: result.failures
        for capability, result in report.results.items()
        if result.failures
    }
    assert failures == {}
    assert {name for name, result in report.results.items() if result.passed} == {
        capability.value for capability in ALL_CAPABILITIES
    }
