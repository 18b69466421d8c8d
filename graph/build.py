"""The whole topology on one screen.

    START -> plan -> review_plan -> dispatch =Send=> branch -> collect -> dispatch | review_sources
          -> compact -> synthesize -> check -> review_report -> intend -> publish -> END

A review goes back to `plan` when a person answered with something to research, and to the end when they rejected.
"""

from functools import partial
from typing import Any, TypeAlias, cast

from langgraph.graph import END, START, StateGraph

from graph.branch import build_branch
from ledger.reviews import Kind
from nodes.check import check
from nodes.collect import collect
from nodes.compact import compact
from nodes.dispatch import dispatch, to_branches
from nodes.intend import intend
from nodes.options import RunOptions
from nodes.plan import plan
from nodes.publish import publish
from nodes.resources import Resources
from nodes.review import review
from nodes.state import ResearchInput, ResearchOutput, ResearchState
from nodes.synthesize import synthesize

ResearchGraph: TypeAlias = StateGraph[ResearchState, RunOptions, ResearchInput, ResearchOutput]

#: What follows each review when it is approved, or not asked.
AFTER_REVIEW: dict[Kind, str] = {"plan": "dispatch", "sources": "compact", "report": "intend"}


def build_graph(resources: Resources) -> ResearchGraph:
    """Return the graph with its nodes bound to the resources; the caller compiles it with a saver or without."""
    graph = StateGraph(
        ResearchState, RunOptions, input_schema=ResearchInput, output_schema=ResearchOutput
    )
    graph.add_node("plan", partial(plan, resources))
    graph.add_node("dispatch", partial(dispatch, resources))
    graph.add_node("branch", build_branch(resources))
    graph.add_node("collect", partial(collect, resources))
    graph.add_node("compact", partial(compact, resources))
    graph.add_node("synthesize", partial(synthesize, resources))
    graph.add_node("check", partial(check, resources))
    graph.add_node("intend", partial(intend, resources))
    # A fork may begin between the two.
    graph.add_node("publish", partial(publish, resources), destinations=("intend", END))
    _add_reviews(graph, resources)

    graph.add_edge(START, "plan")
    graph.add_edge("plan", "review_plan")
    graph.add_conditional_edges("dispatch", to_branches, ["branch", "review_sources"])
    graph.add_edge("branch", "collect")
    graph.add_edge("collect", "dispatch")
    graph.add_edge("compact", "synthesize")
    graph.add_edge("synthesize", "check")
    graph.add_edge("check", "review_report")
    graph.add_edge("intend", "publish")
    return graph


def topology() -> ResearchGraph:
    """Return the same graph bound to nothing: to draw it, and to tell one workflow from another."""
    return build_graph(cast("Resources", None))


def _add_reviews(graph: ResearchGraph, resources: Resources) -> None:
    for kind, following in AFTER_REVIEW.items():
        # A review goes where its decision says, by Command; these are the places that it may go to. To itself: an
        # answer that decides nothing is asked again.
        name = f"review_{kind}"
        again = ["compact"] if kind == "report" else []
        places = dict.fromkeys([following, "plan", *again, name, END])
        node: Any = partial(review, kind, following, resources)
        graph.add_node(name, node, destinations=tuple(places))
