"""Other versions of the workflow: the same graph with a step that nothing leads to, so that their runs can be worked."""

from dataclasses import replace
from typing import Any, cast

from langgraph.graph import END, StateGraph

from graph.build import build_graph
from graph.upcasts.base import Sleeping
from graph.workflow import CURRENT, Definition
from nodes.resources import Resources
from nodes.state import ResearchState


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
