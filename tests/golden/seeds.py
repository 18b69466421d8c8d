"""Edits of the workflow that would mislead a run that sleeps, each as somebody might make it in good faith."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, cast

from langgraph.channels import BinaryOperatorAggregate
from langgraph.graph import StateGraph

from graph.branch import build_branch
from graph.build import REVIEWS, build_graph
from graph.upcasts import UPCASTS
from graph.upcasts.base import Next, Sleeping
from graph.workflow import CURRENT, Definition
from ledger.runs import Run
from nodes.intend import intend
from nodes.plan import plan
from nodes.resources import Resources, Toolbox
from nodes.search import search
from nodes.state import AskedReview, Outcomes, ResearchState, Update
from nodes.targets.base import Publication, Target, Targets

Wired = StateGraph[Any, Any, Any, Any]
Edit = Callable[[Wired, Resources], None]


def edited(edit: Edit) -> Definition:
    """Return the workflow with an edit, under the same version: that is the mistake."""

    def build(resources: Resources) -> Wired:
        graph = build_graph(resources)
        edit(graph, resources)
        return graph

    return replace(CURRENT, build=build)


def replaced(graph: Wired, name: str, function: Any) -> None:
    """Put another function into a node."""
    spec, before = graph.nodes.pop(name), set(graph.edges)
    kept = {key: each for key, each in graph.branches.items() if key == name}
    graph.add_node(
        name,
        function,
        input_schema=cast("Any", spec.input_schema),
        destinations=cast("Any", spec.ends) or None,
    )
    graph.edges = before
    graph.branches.update(kept)


def renamed_node(graph: Wired, _: Resources) -> None:
    graph.nodes["write"] = graph.nodes.pop("synthesize")
    graph.edges -= {("compact", "synthesize"), ("synthesize", "check")}
    graph.edges |= {("compact", "write"), ("write", "check")}


def dropped_review(graph: Wired, _: Resources) -> None:
    async def passes(asked: AskedReview) -> Update:
        return {}

    for name in REVIEWS:
        replaced(graph, name, passes)


def changed_join(graph: Wired, _: Resources) -> None:
    graph.edges.discard(("branch", "collect"))
    graph.add_edge(["branch", "compact"], "collect")


def changed_reducer(graph: Wired, _: Resources) -> None:
    def newest(_current: Outcomes, update: Outcomes | None) -> Outcomes:
        return update or {}

    graph.channels["finished"] = BinaryOperatorAggregate(dict, newest)


def renamed_channel(graph: Wired, _: Resources) -> None:
    every: list[dict[str, Any]] = [graph.channels, *graph.schemas.values()]
    for channels in every:
        if "finished" in channels:
            channels["outcomes"] = channels.pop("finished")


def changed_request(graph: Wired, resources: Resources) -> None:
    """Searches ask for fewer hits."""

    async def fewer(given: Resources, state: Any, runtime: Any) -> Update:
        return await search(
            replace(given, toolbox=cast("Any", _Fewer(given.toolbox))), state, runtime
        )

    branch = build_branch(resources).builder
    replaced(branch, "search", partial(fewer, resources))
    replaced(graph, "branch", branch.compile())


class _Fewer:
    """A toolbox whose searches ask for one hit."""

    def __init__(self, toolbox: Toolbox) -> None:
        self.toolbox = toolbox

    async def tools(self, run: Run) -> list[Any]:
        return [
            replace(cast("Any", tool), identity={**tool.identity, "hits": 1})
            for tool in await self.toolbox.tools(run)
        ]


def changed_review(graph: Wired, resources: Resources) -> None:
    """A review of the plan shows how many tasks there are, too."""

    async def told(given: Resources, state: ResearchState, runtime: Any) -> Update:
        update = await plan(given, state, runtime)
        for asked in update["reviews"]:
            asked["summary"] += f"\n\n{len(asked['form']['tasks'])} tasks"
        return update

    replaced(graph, "plan", partial(told, resources))


def edge_past_a_review(graph: Wired, _: Resources) -> None:
    graph.branches.pop("plan")
    graph.add_edge("plan", "dispatch")


def changed_effect_key(graph: Wired, resources: Resources) -> None:
    """What is published has another title: the same report would be published twice."""

    async def titled(given: Resources, state: ResearchState, runtime: Any) -> Update:
        targets = cast("Any", _Titled(given.targets))
        return await intend(replace(given, targets=targets), state, runtime)

    replaced(graph, "intend", partial(titled, resources))


class _Titled:
    """Targets whose requests say more."""

    def __init__(self, targets: Targets) -> None:
        self.targets = targets

    def open(self, address: str) -> Any:
        target = cast("Any", self.targets.open(address))
        return replace(target, real=_More(target.real))


class _More:
    def __init__(self, real: Target) -> None:
        self.real, self.kind, self.address = real, real.kind, real.address
        self.contract = real.contract

    def request(self, publication: Publication) -> dict[str, Any]:
        return {**self.real.request(publication), "title": "A report"}


def without_its_plan(run: Sleeping) -> Sleeping:
    """An upcast that forgets which tasks are sent out."""
    moved = UPCASTS[1](run)
    kept = tuple(each for each in moved.next if each.node != "branch")
    return moved.model_copy(update={"next": kept or (Next(node="compact"),)})


#: By name: the edit. The tenth, an upcast that loses the plan, is none of the graph.
EDITS: dict[str, Edit] = {
    each.__name__: each
    for each in (
        renamed_node, dropped_review, changed_join, changed_reducer, renamed_channel, changed_request, changed_review,
        edge_past_a_review, changed_effect_key,
    )
}  # fmt: skip
