"""Changing a graph as somebody changes its code: where its edges lead, what its nodes are called, what its state is."""

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias, cast

from langgraph.graph import StateGraph
from langgraph.types import Command, Send

from nodes.state import ResearchState
from tests.support.variants import Builder

State: TypeAlias = dict[str, Any]
Restate: TypeAlias = Callable[[State], State]


def as_it_is(state: State) -> State:
    """Return a state in the form that it has."""
    return state


@dataclass(frozen=True)
class Rebuilt:
    """How a graph is made anew, as an Edit of a variant.

    `names` are new names of nodes; `ends` says where what led to a node leads now; `left_out` are nodes that go, with the
    edges from them; `loose` are nodes whose routers go. With another `schema`, what the nodes were written for is what
    `into` makes of a state, and `out` makes of their updates what the new schema has.
    """

    names: Mapping[str, str] = field(default_factory=dict[str, str])
    ends: Mapping[str, str] = field(default_factory=dict[str, str])
    left_out: Collection[str] = ()
    loose: Collection[str] = ()
    schema: Any = ResearchState
    into: Restate = as_it_is
    out: Restate = as_it_is
    #: Subgraphs that take the place of nodes, by the nodes' names.
    inside: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def __call__(self, builder: Builder) -> Builder:
        """Return the graph made anew."""
        made: Builder = StateGraph(
            self.schema,
            builder.context_schema,
            input_schema=builder.input_schema,
            output_schema=builder.output_schema,
        )
        for name, spec in builder.nodes.items():
            if name not in self.left_out:
                reads_all = spec.input_schema is ResearchState
                made.add_node(
                    self.names.get(name, name),
                    self.inside.get(name) or self._node(spec.runnable, restated=reads_all),
                    input_schema=self.schema if reads_all else spec.input_schema,
                    destinations=tuple(map(self._to, spec.ends or ())) or None,
                )
        for start, end in sorted(builder.edges):
            if start not in self.left_out:
                made.add_edge(self.names.get(start, start), self._to(end))
        for start, routers in builder.branches.items():
            for router in routers.values():
                if start not in {*self.left_out, *self.loose}:
                    path: Any = router.path
                    places = [self._to(each) for each in (router.ends or {}).values()]
                    made.add_conditional_edges(
                        self.names.get(start, start), self.router(path.func), places
                    )
        return made

    def router(self, function: Any) -> Any:
        """Return a router that was written for the graph before."""

        def route(state: Any) -> Any:
            return self._led(function(self.into(state)))

        route.__name__ = function.__name__
        return route

    def _node(self, runnable: Any, *, restated: bool) -> Any:
        function = getattr(runnable, "afunc", None)
        if function is None:
            return runnable

        async def call(state: Any, runtime: Any) -> Any:
            given = self.into(state) if restated else state
            return self._told(await function(given, runtime=runtime))

        # What it says of itself is said of the function: whether it stops for a person, above all.
        call.__signature__ = inspect.signature(call)  # type: ignore[attr-defined]
        call.__wrapped__ = _bare(function)  # type: ignore[attr-defined]
        return call

    def _told(self, result: Any) -> Any:
        if isinstance(result, Command):
            update = self.out(cast("State", result.update)) if result.update else None
            return Command(goto=self._led(result.goto), update=update)
        return self.out(result) if isinstance(result, dict) else result

    def _led(self, found: Any) -> Any:
        if isinstance(found, Send):
            return Send(self._to(found.node), found.arg)
        if isinstance(found, list | tuple):
            return [self._led(each) for each in cast("list[Any]", found)]
        return self._to(found)

    def _to(self, name: str) -> str:
        return self.ends.get(name) or self.names.get(name, name)


def _bare(function: Any) -> Any:
    while isinstance(function, partial):
        function = cast("Any", function.func)
    return function
