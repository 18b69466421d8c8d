"""Claims that do not fit the window of a model are summed up by it: in statements that point to findings, and are no evidence."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

from graph.runs import start_run
from graph.runtime import Runtime
from graph.threads import run_config
from ledger import artifacts, findings, tasks
from nodes.options import RunOptions
from nodes.publish import report_path
from nodes.report import CITATIONS
from tests.support.mind import sensible
from tests.support.model_runs import (
    asking,
    fabricated,
    model_calls,
    thinking_runtime,
)
from tests.support.moonshot.chat import ChatRequest, ToolCall
from tests.support.moonshot.faults import Fault, FaultKind
from tests.support.moonshot.seen import Seen
from tests.support.moonshot.server import moonshot_server
from tests.support.runtimes import write_corpus

SMALL, WINDOW = 4_096, 140_000
QUESTION = "When are runner beans sown?"
MADE_UP = "All of it was begun in the year 1847."
_BED = (
    "Runner beans of bed {0} are sown in week {0} of the season, after the soil was loosened and watered well, a pole of"
    " two metres was put into the middle of the bed, and a net was stretched over the whole of it against the pigeons."
)
BEDS = {"beans.md": "# Beans\n\n" + " ".join(_BED.format(at) for at in range(1, 21)) + "\n"}


def thorough(request: ChatRequest) -> str | list[ToolCall]:
    """Claim all that is shown, each sentence by itself, and sum it up with one statement that nothing says."""
    said = sensible(request)
    if request.schema_name not in {"extract", "statements"}:
        return said
    asked = str(request.messages[-1]["content"])
    if request.schema_name == "extract":
        lines = [line.split(": ", 1) for line in asked.splitlines() if line.startswith("E")]
        claims = [
            {"claim": text, "evidence": [name], "confidence": "high"}
            for name, text in lines
            if text.startswith("Runner")
        ]
        return json.dumps({"claims": claims[:8]})
    assert isinstance(said, str)
    answer: dict[str, Any] = json.loads(said)
    answer["statements"].append({"text": MADE_UP, "claims": ["F1"]})
    return json.dumps(answer)


def of(calls: list[Seen], name: str) -> list[str]:
    """Return what was asked under a name."""
    return [
        str(call.chat.messages[-1]["content"]) for call in calls if call.chat.schema_name == name
    ]


async def summary_of(runtime: Runtime, run_id: UUID, options: RunOptions) -> Mapping[str, Any]:
    """Return the working summary of a run."""
    state = await runtime.compiled().aget_state(run_config(run_id, options))
    async with runtime.ledger.transaction() as tx:
        told: Mapping[str, Any] = json.loads(
            await artifacts.get(tx, state.values["products"]["summary"])
        )
    return told


async def test_what_does_not_fit_is_summed_up_in_statements_that_point_to_findings(
    database_url: str, tmp_path: Path
) -> None:
    given = asking(write_corpus(tmp_path / "garden", BEDS))
    with moonshot_server(thorough, window_tokens=WINDOW) as server:
        opened = thinking_runtime(
            database_url, tmp_path / "home", server, model_context=SMALL, model_effort="low"
        )
        async with opened as (runtime, _):
            ended = await start_run(runtime, QUESTION, given)
            run_id = ended.run.run_id
            summary = await summary_of(runtime, run_id, given)
            asked = await model_calls(runtime.ledger, run_id)
            assert await fabricated(runtime.ledger, ended.run, runtime.resources.reports) == []
            text = report_path(runtime.resources.reports, run_id).read_text()
            async with runtime.ledger.transaction() as tx:
                found = {each.finding_id: each for each in await findings.standing(tx, run_id)}
                assert len(await tasks.everything(tx, run_id)) == 1
        (written,) = of(server.calls, "synthesize")
        (summed,) = of(server.calls, "statements")
    # It has a version, points to findings that stand, none of which stands whole besides, and is no cut of anything.
    assert summary["version"] == 2
    used = set(summary["findings"])
    (statement,) = summary["statements"]
    assert used
    assert 1 < len(statement["findings"]) <= 5
    assert set(statement["findings"]) <= set(found) - used
    assert statement["text"] in {found[name].claim for name in statement["findings"]}
    left = len(found) - len(used) - len(statement["findings"])
    assert sum(summary["left_out"].values()) == left
    # The journal has the call, with the version of its prompt.
    (call,) = [each for each in asked if each.request["prompt"] == "statements"]
    (attempt,) = call.attempts
    assert attempt.accepted
    assert attempt.settings["prompt"] == "statements 1"
    # The report is written from both, and what it says by the statement cites the quotes of all its findings.
    assert written.count("sums up") == 1
    assert statement["text"] in written
    assert statement["text"] in summed
    (line,) = [each for each in text.splitlines() if each.startswith(f"- {statement['text']}")]
    assert line.count("[") == len(statement["findings"])
    # What its claims do not say is dropped, and that is said.
    assert MADE_UP not in written
    assert "1 statements of the working summary of task t1 were dropped" in text
    assert "1847" not in text.partition(CITATIONS)[0]


async def test_without_statements_the_claims_that_fit_are_used_as_without_a_model(
    database_url: str, tmp_path: Path
) -> None:
    given = asking(write_corpus(tmp_path / "garden", BEDS))

    def filtered(_: int, request: ChatRequest) -> Fault | None:
        is_summary = request.schema_name in {"statements", "summary"}
        return Fault(FaultKind.CONTENT_FILTERED) if is_summary else None

    with moonshot_server(thorough, filtered, window_tokens=WINDOW) as server:
        opened = thinking_runtime(
            database_url, tmp_path / "home", server, model_context=SMALL, model_effort="low"
        )
        async with opened as (runtime, _):
            run = (await start_run(runtime, QUESTION, given)).run
            summary = await summary_of(runtime, run.run_id, given)
            text = report_path(runtime.resources.reports, run.run_id).read_text()
    assert summary["statements"] == []
    assert sum(summary["left_out"].values()) > 0
    assert "further claims of task t1" in text
    assert "statements: " in text
