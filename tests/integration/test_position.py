"""Where a run stands is read from its checkpoint alone, and written so that LangGraph goes on exactly there."""

import operator
from typing import Annotated, Any

import pytest
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send
from typing_extensions import TypedDict

from graph import position
from graph.errors import CannotMigrate
from graph.upcasts.base import Next

Builder = StateGraph[Any, Any, Any, Any]
CONFIG: Any = {"configurable": {"thread_id": "1", "checkpoint_ns": ""}}


class State(TypedDict):
    """What the steps have done, in their order."""

    done: Annotated[list[str], operator.add]


def graph(*, stops: str = "") -> Builder:
    """Return a graph with a fan-out, a join of two, and a step after it; `stops` breaks off at a node."""

    def step(name: str) -> Any:
        async def node(state: State) -> dict[str, list[str]]:
            if name == stops:
                raise InterruptedError
            return {"done": [name]}

        return node

    async def sent(state: Any) -> dict[str, list[str]]:
        if stops == "sent":
            raise InterruptedError
        return {"done": [f"sent {state['what']}"]}

    builder: Builder = StateGraph(State)
    for name in ("first", "left", "right", "longer", "both", "last"):
        builder.add_node(name, step(name))
    builder.add_node("sent", sent)
    builder.add_edge(START, "first")
    builder.add_edge("first", "left")
    builder.add_edge("first", "right")
    builder.add_edge("right", "longer")
    builder.add_edge(["left", "longer"], "both")
    builder.add_conditional_edges(
        "both", lambda _: [Send("sent", {"what": each}) for each in "ab"], ["sent"]
    )
    builder.add_edge("sent", "last")
    builder.add_edge("last", END)
    return builder


async def stopped(at: str) -> tuple[InMemorySaver, CheckpointTuple]:
    """Run the graph until a step breaks off, and return the newest checkpoint."""
    saver = InMemorySaver()
    with pytest.raises(InterruptedError):
        await graph(stops=at).compile(checkpointer=saver).ainvoke({"done": []}, CONFIG)
    found = await saver.aget_tuple(CONFIG)
    assert found is not None
    return saver, found


def newest(found: CheckpointTuple) -> str:
    """Return the newest version of a channel."""
    return max(map(str, found.checkpoint["channel_versions"].values()))


STOPS: dict[str, tuple[tuple[Next, ...], set[str]]] = {
    "first": ((Next(node="first"),), {"done"}),
    "left": ((Next(node="left"), Next(node="right")), {"done"}),
    # Half of the join has come: its channel goes with the state.
    "longer": ((Next(node="longer"),), {"done", "join:left+longer:both"}),
    "both": ((Next(node="both"),), {"done"}),
    "sent": (
        (Next(node="sent", sent={"what": "a"}), Next(node="sent", sent={"what": "b"})),
        {"done"},
    ),
    "last": ((Next(node="last"),), {"done"}),
}


@pytest.mark.parametrize("at", STOPS)
async def test_a_run_that_stopped_anywhere_stands_there_again_and_ends_as_it_would_have(
    at: str,
) -> None:
    """The checkpoint is written anew from what was read; nothing of the old one is needed to go on."""
    saver, before = await stopped(at)
    values, following = position.read(before)
    assert (following, set(values)) == STOPS[at]
    builder = graph()
    version = saver.get_next_version(newest(before), None)
    new = position.checkpoint_at(builder, before, values, following, version)
    assert new["id"] > before.checkpoint["id"]
    await position.check_place(builder, new, following)
    metadata = position.step_after(before)
    await saver.aput(before.config, new, metadata, new["channel_versions"])
    ended = await builder.compile(checkpointer=saver).ainvoke(None, CONFIG)
    straight = await builder.compile().ainvoke({"done": []})
    assert sorted(ended["done"]) == sorted(straight["done"])
    assert ended["done"][-1] == "last"


async def test_a_place_that_is_not_the_one_that_was_meant_is_refused() -> None:
    """A join that all have come to leads on by itself."""
    saver, before = await stopped("longer")
    values, following = position.read(before)
    builder = graph()
    version = saver.get_next_version(newest(before), None)
    full = {**values, "join:left+longer:both": ["left", "longer"]}
    new = position.checkpoint_at(builder, before, full, following, version)
    with pytest.raises(CannotMigrate, match="would go on with longer, both where"):
        await position.check_place(builder, new, following)
    with pytest.raises(CannotMigrate, match="no node of this version"):
        position.checkpoint_at(builder, before, values, (Next(node="gone"),), version)


async def test_an_id_follows_the_last_one_though_the_clock_was_set_back() -> None:
    _, before = await stopped("last")
    for far in ("ffffff00-0000-6fff-8000-000000000001", "1fffffff-ffff-6fff-bfff-ffffffffffff"):
        before.checkpoint["id"] = far
        found = position.checkpoint_at(graph(), before, {}, (Next(node="last"),), "1")["id"]
        assert found > far
        assert found[14] == "6"


async def test_what_was_written_from_outside_and_not_taken_up_is_refused() -> None:
    _, before = await stopped("last")
    written = [("00000000-0000-0000-0000-000000000000", "done", ["by hand"])]
    with pytest.raises(CannotMigrate, match=r"from outside and not yet taken up \(done\)"):
        position.read(before._replace(pending_writes=written))
