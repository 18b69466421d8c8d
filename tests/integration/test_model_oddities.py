"""Answers that fit their schema and are of no use: corrected, or done without, and no run is lost over them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from graph.runs import start_run
from ledger.canonical import Json
from tests.support.mind import sensible
from tests.support.model_runs import asking, fabricated, model_calls, thinking_runtime
from tests.support.moonshot.chat import ChatRequest, ToolCall
from tests.support.moonshot.server import moonshot_server
from tests.support.runtimes import QUESTION, write_corpus

BLANK, NUL, HALF, BELL = " \u00a0\n", "beans\x00", "beans \ud83c", "beans\x07"
ODD_TEXTS = pytest.mark.parametrize("odd", [BLANK, NUL, HALF, BELL], ids=ascii)


def with_odd(value: Json, odd: str) -> Json:
    """Return an answer whose free texts are all odd; what was chosen out of an enumeration stays."""
    if isinstance(value, Mapping):
        return {name: _odd(name, each, odd) for name, each in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [with_odd(each, odd) for each in value]
    return value


def _odd(name: str, value: Json, odd: str) -> Json:
    if name in {"question", "claim", "text", "reason", "why"}:
        return odd
    return [odd] if name in {"queries", "gaps"} else with_odd(value, odd)


@ODD_TEXTS
async def test_a_text_that_says_nothing_or_is_none_is_asked_for_again(
    database_url: str, tmp_path: Path, odd: str
) -> None:
    seen: set[str] = set()

    def odd_at_first(request: ChatRequest) -> str | list[ToolCall]:
        said = sensible(request)
        assert isinstance(said, str)
        answer = json.loads(said)
        if request.schema_name == "gaps":
            answer = {"tasks": ["beans"]}
        if any(message["role"] == "assistant" for message in request.messages):
            return said
        seen.add(request.schema_name or "")
        return json.dumps(with_odd(answer, odd))

    given = asking(write_corpus(tmp_path / "garden"))
    with moonshot_server(odd_at_first) as server:
        async with thinking_runtime(database_url, tmp_path / "home", server) as (runtime, _):
            ended = await start_run(runtime, QUESTION, given)
            asked = await model_calls(runtime.ledger, ended.run.run_id)
            assert await fabricated(runtime.ledger, ended.run, runtime.resources.reports) == []
    assert ended.run.status == "completed"
    assert {each.status for each in asked} == {"accepted"}
    assert {"plan", "queries", "extract", "synthesize"} <= seen
    by_prompt = {each.request["prompt"]: len(each.attempts) for each in asked}
    assert by_prompt["plan"] == by_prompt["extract"] == by_prompt["synthesize"] == 2


@ODD_TEXTS
async def test_a_model_that_says_nothing_else_is_done_without(
    database_url: str, tmp_path: Path, odd: str
) -> None:
    def odd_always(request: ChatRequest) -> str | list[ToolCall]:
        said = sensible(request)
        assert isinstance(said, str)
        return json.dumps(
            {"tasks": [odd]} if request.schema_name == "gaps" else with_odd(json.loads(said), odd)
        )

    given = asking(write_corpus(tmp_path / "garden"))
    with moonshot_server(odd_always) as server:
        async with thinking_runtime(database_url, tmp_path / "home", server) as (runtime, _):
            ended = await start_run(runtime, QUESTION, given)
            assert await fabricated(runtime.ledger, ended.run, runtime.resources.reports) == []
    assert ended.run.status == "completed"


async def test_a_number_with_a_point_is_the_whole_number_that_it_is(
    database_url: str, tmp_path: Path
) -> None:
    def pointed(request: ChatRequest) -> str | list[ToolCall]:
        said = sensible(request)
        assert isinstance(said, str)
        answer = json.loads(said)
        if request.schema_name == "plan":
            answer["tasks"][-1]["depends_on"] = [1.0, 1]
        return json.dumps(answer)

    given = asking(write_corpus(tmp_path / "garden"))
    with moonshot_server(pointed) as server:
        async with thinking_runtime(database_url, tmp_path / "home", server) as (runtime, _):
            ended = await start_run(runtime, QUESTION, given)
    assert ended.run.status == "completed"
