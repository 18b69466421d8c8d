"""LangGraph's own doors: none of them leads past what a person was asked.

A client of its server, or Studio, may edit the state of a thread, or send a command that changes it and goes on.
"""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command

from graph.runs import outcome, resume_run, start_run
from graph.threads import run_config
from graph.working import working
from nodes.options import RunOptions
from tests.support.runtimes import QUESTION, decided, options, runtime_on, write_corpus

Graph: TypeAlias = CompiledStateGraph[Any, RunOptions, Any, Any]
Door: TypeAlias = Callable[[Graph, RunnableConfig, RunOptions], Awaitable[object]]

NOTHING_ASKED: dict[str, Any] = {"reviews": []}


def edited_as(node: str, **besides: str) -> Door:
    """Return the door of whoever edits the state as if this step had written it."""

    async def door(graph: Graph, config: RunnableConfig, _chosen: RunOptions) -> None:
        await graph.aupdate_state(config, {**NOTHING_ASKED, **besides}, as_node=node)

    return door


async def woken_with_another_state(
    graph: Graph, config: RunnableConfig, chosen: RunOptions
) -> None:
    command: Command[Any] = Command(update=NOTHING_ASKED, resume="yes")
    await graph.ainvoke(command, config, context=chosen, durability="sync")


async def asked_anew(graph: Graph, config: RunnableConfig, chosen: RunOptions) -> None:
    await graph.ainvoke({"question": QUESTION}, config, context=chosen, durability="sync")


@pytest.mark.parametrize(
    ("kind", "door"),
    [
        ("plan", edited_as("plan")),
        ("plan", edited_as("review_plan")),
        ("plan", edited_as("collect")),
        ("report", edited_as("check")),
        ("report", edited_as("review_report")),
        ("report", edited_as("intend", gate="intend")),
        ("report", woken_with_another_state),
        ("report", asked_anew),
        ("effect", edited_as("intend")),
        ("effect", edited_as("review_effect")),
        ("effect", woken_with_another_state),
    ],
)
async def test_no_door_of_langgraph_leads_past_a_review(
    database_url: str, tmp_path: Path, kind: str, door: Door
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    chosen = options(write_corpus(tmp_path / "garden"), kind).model_copy(
        update={"publish": (f"file:{out}/",)}
    )
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        paused = await start_run(runtime, QUESTION, chosen)
        run_id = paused.run.run_id
        assert [each.kind for each in paused.reviews] == [kind]
        async with working(runtime, run_id):
            await door(runtime.compiled(), run_config(run_id, chosen), chosen)
        still = await resume_run(runtime, run_id)
        assert (still.run.status, still.run.report_artifact) == ("paused", None)
        assert [each.review_id for each in still.reviews] == [paused.reviews[0].review_id]
        assert list(out.iterdir()) == []
        assert (await decided(runtime, still, choice="approve")).run.status == "completed"
        assert (await outcome(runtime, run_id)).reviews == ()
        assert [each.name for each in out.iterdir()] == [f"{run_id}.md"]
