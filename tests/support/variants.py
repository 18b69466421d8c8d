"""Other versions of the workflow: the graph of this code, changed as somebody would change it."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

from langgraph.graph import StateGraph
from langgraph.types import Command, Send

from graph.upcasts.base import Next, Sleeping, Upcast
from graph.workflow import CURRENT, Definition
from nodes.resources import Resources

Builder: TypeAlias = StateGraph[Any, Any, Any, Any]
#: Changes a graph that is not compiled yet; by returning another one, it takes its place.
Edit: TypeAlias = Callable[[Builder], Builder | None]

#: The version that variants are: the one after this code's.
NEXT = CURRENT.version + 1


def variant(
    *edits: Edit, upcast: Upcast | None = None, version: int = NEXT, base: Definition = CURRENT
) -> Definition:
    """Return a version whose graph is that of another with these changes; `upcast` leads from that one's runs to it."""

    def build(resources: Resources) -> Builder:
        builder: Builder = base.build(resources)
        for edit in edits:
            builder = edit(builder) or builder
        return builder

    led = {} if upcast is None else {base.version: upcast}
    released = {**base.released, base.version: frozenset({base.stamp.fingerprint})}
    return Definition(version, build, {**base.upcasts, **led}, released=released)


def renamed(names: Mapping[str, str]) -> Edit:
    """Rename nodes, wherever they are named: in edges, in routers, in what steps send and command."""

    def edit(builder: Builder) -> Builder:
        made: Builder = StateGraph(
            builder.state_schema,
            builder.context_schema,
            input_schema=builder.input_schema,
            output_schema=builder.output_schema,
        )
        for name, spec in builder.nodes.items():
            ends = tuple(names.get(each, each) for each in spec.ends or ())
            made.add_node(
                names.get(name, name),
                _translated(spec.runnable, names),
                input_schema=spec.input_schema,
                destinations=ends or None,
            )
        for start, end in builder.edges:
            made.add_edge(names.get(start, start), names.get(end, end))
        for start, routers in builder.branches.items():
            for router in routers.values():
                path: Any = router.path
                places = {each: names.get(end, end) for each, end in (router.ends or {}).items()}
                made.add_conditional_edges(
                    names.get(start, start), _router(path.func, names), places
                )
        return made

    return edit


def _translated(runnable: Any, names: Mapping[str, str]) -> Any:
    function = getattr(runnable, "afunc", None)
    return partial(_call, function, names) if function else runnable


async def _call(function: Any, names: Mapping[str, str], state: Any, runtime: Any) -> Any:
    return _named(await function(state, runtime=runtime), names)


def _router(function: Any, names: Mapping[str, str]) -> Any:
    def route(state: Any) -> Any:
        found = function(state)
        return found if isinstance(found, str) else _named(found, names)

    route.__name__ = function.__name__
    return route


def _named(result: Any, names: Mapping[str, str]) -> Any:
    if isinstance(result, Command):
        return Command(goto=_named(result.goto, names), update=result.update)
    if isinstance(result, Send):
        return Send(names.get(result.node, result.node), result.arg)
    if isinstance(result, list):
        return [_named(each, names) for each in result]
    return names.get(result, result) if isinstance(result, str) else result


def steps_renamed(names: Mapping[str, str]) -> Upcast:
    """Return the upcast that goes with `renamed`."""

    def upcast(run: Sleeping) -> Sleeping:
        following = tuple(
            Next(node=names.get(each.node, each.node), sent=each.sent) for each in run.next
        )
        return run.model_copy(update={"next": following})

    return upcast


def shown_with(part: str) -> Upcast:
    """Return an upcast after which every open or decided review shows something more."""

    def upcast(run: Sleeping) -> Sleeping:
        asked = [
            each.model_copy(update={"shown": {**each.shown, part: "some"}}) for each in run.reviews
        ]
        return run.model_copy(update={"reviews": tuple(asked)})

    return upcast


_LATER_NAMES = {"review_plan": "review_the_plan", "branch": "look_into", "collect": "gather"}

#: A version in which a review shows more than before, and nodes have other names: of a review, of branches, of their join.
LATER = variant(
    renamed(_LATER_NAMES),
    upcast=lambda run: steps_renamed(_LATER_NAMES)(shown_with("cost")(run)),
)
