"""Other versions of the workflow, the same graph with a step that nothing leads to, and runs of theirs that are asleep."""

from dataclasses import replace
from pathlib import Path
from typing import Any, cast
from uuid import UUID

from langgraph.graph import END, StateGraph

from graph.build import build_graph
from graph.runs import decide, start_run
from graph.upcasts.base import Sleeping
from graph.workflow import CURRENT, Definition
from ledger.questions import Decision
from nodes.resources import Resources
from nodes.state import ResearchState
from tests.support.runtimes import QUESTION, options, runtime_on, write_corpus


async def audit(_state: ResearchState) -> dict[str, Any]:
    """Do nothing."""
    return {}


def with_audit(resources: Resources) -> StateGraph[Any, Any, Any, Any]:
    """Return the graph with one more node."""
    graph: StateGraph[Any, Any, Any, Any] = build_graph(resources)
    graph.add_node("audit", cast("Any", audit))
    graph.add_edge("audit", END)
    return graph


def unchanged(run: Sleeping) -> Sleeping:
    """Bring a run to the next version as it is."""
    return run


#: Somebody edited the workflow and raised nothing.
EDITED = replace(CURRENT, build=with_audit)
#: The next version, with nothing that leads to it.
NEXT = Definition(CURRENT.version + 1, with_audit)
#: The next version, to which runs are migrated.
MIGRATING = replace(NEXT, upcasts={CURRENT.version: unchanged}, released=CURRENT.released)
#: The next version, with the proof that runs of this one go on unchanged.
HARMLESS = replace(NEXT, compatible={CURRENT.stamp.fingerprint: "nothing leads to audit"})


async def asleep(
    database_url: str, folder: Path, definition: Definition = CURRENT, *, approved: bool = True
) -> UUID:
    """Return a run of a workflow that waits for a review, which a person has approved by now."""
    corpus = write_corpus(folder / "garden")
    async with runtime_on(database_url, folder / "home", definition=definition) as runtime:
        paused = await start_run(runtime, QUESTION, options(corpus, "plan"))
        if approved:
            approval = Decision(choice="approve", decided_by="ada")
            await decide(runtime, paused.reviews[0].review_id, approval)
        return paused.run.run_id
