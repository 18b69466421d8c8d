"""The whole topology on one screen.

    START -> plan -> dispatch =Send=> branch -> collect -> dispatch -> compact -> synthesize -> check -> intend -> publish
          -> END

`plan`, `dispatch` when the research is closed, `check` and `revise` may ask for reviews, as many at once as they like:
each goes to the node of its kind, and all meet in `decide`, which goes on to what follows the step that asked, back to an
earlier one, or to the end.
"""

from functools import partial
from typing import Any, TypeAlias, cast

from langgraph.graph import END, START, StateGraph

from graph.branch import build_branch
from graph.entering import entered
from nodes.asking import AFTER, to_reviews
from nodes.check import check
from nodes.collect import collect
from nodes.compact import compact
from nodes.decide import PLACES, decide
from nodes.decisions.kinds import KINDS
from nodes.dispatch import dispatch, to_branches
from nodes.intend import intend
from nodes.options import RunOptions
from nodes.plan import plan
from nodes.publish import publish
from nodes.resources import Resources
from nodes.review import review
from nodes.revise import revise
from nodes.state import AskedReview, ResearchInput, ResearchOutput, ResearchState
from nodes.synthesize import synthesize

ResearchGraph: TypeAlias = StateGraph[ResearchState, RunOptions, ResearchInput, ResearchOutput]

#: The review nodes: one for each kind, always there.
REVIEWS = tuple(f"review_{kind}" for kind in KINDS)


def build_graph(resources: Resources) -> ResearchGraph:
    """Return the graph with its nodes bound to the resources; the caller compiles it with a saver or without."""
    graph = StateGraph(
        ResearchState, RunOptions, input_schema=ResearchInput, output_schema=ResearchOutput
    )
    bound = partial(_bound, resources, ResearchState)
    graph.add_node("plan", bound("plan", plan))
    graph.add_node("dispatch", bound("dispatch", dispatch))
    graph.add_node("branch", build_branch(resources))
    graph.add_node("collect", bound("collect", collect))
    graph.add_node("compact", bound("compact", compact))
    graph.add_node("synthesize", bound("synthesize", synthesize))
    graph.add_node("check", bound("check", check))
    graph.add_node("revise", bound("revise", revise))
    graph.add_node("intend", bound("intend", intend))
    # A fork may begin between the two.
    graph.add_node("publish", bound("publish", publish), destinations=("intend", *REVIEWS, END))
    _add_reviews(graph, resources)

    graph.add_edge(START, "plan")
    graph.add_conditional_edges("dispatch", to_branches, ["branch", *REVIEWS, AFTER["dispatch"]])
    for gate in ("plan", "check", "revise", "intend"):
        graph.add_conditional_edges(gate, to_reviews, [*REVIEWS, AFTER[gate]])
    graph.add_edge("branch", "collect")
    graph.add_edge("collect", "dispatch")
    graph.add_edge("compact", "synthesize")
    graph.add_edge("synthesize", "check")
    return graph


def topology() -> ResearchGraph:
    """Return the same graph bound to nothing: to draw it, and to tell one workflow from another."""
    return build_graph(cast("Resources", None))


def _add_reviews(graph: ResearchGraph, resources: Resources) -> None:
    for name in REVIEWS:
        node = _bound(resources, AskedReview, name, review)
        graph.add_node(name, node, input_schema=cast("Any", AskedReview))
        graph.add_edge(name, "decide")
    # It goes where the decisions say, by Command; to the reviews whose answers decided nothing, too.
    node = _bound(resources, ResearchState, "decide", decide)
    graph.add_node("decide", node, destinations=(*PLACES, *REVIEWS))


def _bound(resources: Resources, schema: Any, name: str, node: Any) -> Any:
    """Return a node bound to the resources, that is entered with a state of this schema only."""
    return partial(entered(name, schema, node), resources)
