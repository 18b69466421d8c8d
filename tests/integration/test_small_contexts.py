"""A model with a small context is asked as one with a large one is, about as much as it holds."""

from pathlib import Path

from graph.runs import start_run
from nodes.publish import report_path
from tests.support.mind import sensible
from tests.support.model_runs import asking, thinking_runtime
from tests.support.moonshot.chat import ChatRequest
from tests.support.moonshot.faults import Fault, FaultKind
from tests.support.moonshot.seen import Seen
from tests.support.moonshot.server import moonshot_server
from tests.support.runtimes import QUESTION, write_corpus

SMALL = 4_096
# What the scripted server has: its room for reasoning does not fit so small a one.
WINDOW = 140_000


def material(request: ChatRequest) -> list[str]:
    """Return the lines of material that a request shows."""
    asked = str(request.messages[-1]["content"])
    return [line for line in asked.splitlines() if line.startswith("F")]


def of(calls: list[Seen], name: str) -> list[ChatRequest]:
    return [call.chat for call in calls if call.chat.schema_name == name]


async def test_the_room_of_a_long_report_does_not_crowd_out_its_claims(
    database_url: str, tmp_path: Path
) -> None:
    with moonshot_server(sensible, window_tokens=WINDOW) as server:
        opened = thinking_runtime(
            database_url, tmp_path / "home", server, model_context=SMALL, model_effort="low"
        )
        async with opened as (runtime, _):
            ended = await start_run(runtime, QUESTION, asking(write_corpus(tmp_path / "garden")))
            text = report_path(runtime.resources.reports, ended.run.run_id).read_text()
        (written,) = of(server.calls, "synthesize")
    assert len(material(written)) >= 3
    assert "did not fit the model" not in text


async def test_an_answer_that_is_cut_short_in_a_small_context_is_asked_about_less(
    database_url: str, tmp_path: Path
) -> None:
    with moonshot_server(sensible, window_tokens=WINDOW) as server:

        def cut_once(_: int, request: ChatRequest) -> Fault | None:
            first = request.schema_name == "synthesize" and len(of(server.calls, "synthesize")) == 1
            return Fault(FaultKind.LENGTH) if first else None

        server.schedule = cut_once
        opened = thinking_runtime(
            database_url, tmp_path / "home", server, model_context=SMALL, model_effort="low"
        )
        async with opened as (runtime, _):
            ended = await start_run(runtime, QUESTION, asking(write_corpus(tmp_path / "garden")))
            text = report_path(runtime.resources.reports, ended.run.run_id).read_text()
        first, second = of(server.calls, "synthesize")
    assert len(material(second)) < len(material(first))
    assert "did not fit the model" in text
