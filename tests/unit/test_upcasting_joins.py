"""A migration is refused after which a join would wait for somebody who never comes."""

from typing import Any, cast

import pytest
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

from graph.errors import CannotMigrate
from graph.upcasting import check
from graph.upcasts.base import Next, Sleeping

JOIN = "join:left+right:meet"


class State(TypedDict):
    """Nothing."""

    done: bool


async def step(_state: State) -> dict[str, Any]:
    return {}


def around(_state: State) -> str:
    return "again"


def graph() -> Any:
    """Return a graph of which two sides meet, and which may go round again from there."""
    builder = StateGraph(State)
    for name in ("begin", "left", "right", "meet", "again"):
        builder.add_node(name, cast("Any", step))
    builder.add_edge(START, "begin")
    builder.add_edge("begin", "left")
    builder.add_edge("begin", "right")
    builder.add_edge(["left", "right"], "meet")
    builder.add_conditional_edges("meet", around, ["again", END])
    builder.add_edge("again", "begin")
    return builder


def at(*nodes: str, arrived: tuple[str, ...] = ()) -> Sleeping:
    values = {JOIN: list(arrived)} if arrived else {}
    return Sleeping(values=values, next=tuple(Next(node=each) for each in nodes))


@pytest.mark.parametrize("run", [at("left"), at("right")], ids=str)
def test_one_side_alone_is_refused(run: Sleeping) -> None:
    with pytest.raises(CannotMigrate, match=r"meet would wait for (left|right) for ever"):
        check(graph(), run)


@pytest.mark.parametrize(
    "run",
    [
        at("__start__"),
        at("begin"),
        at("left", "right"),
        at("left", arrived=("right",)),
        at("meet"),
        at("again"),
    ],
    ids=str,
)
def test_whoever_meets_all_others_goes_on(run: Sleeping) -> None:
    check(graph(), run)
