"""Where a run stands, read from a checkpoint without the code that stored it, and written into a new one.

LangGraph keeps the next steps in channels: `branch:to:NODE` for a node that reads the state, `__pregel_tasks` for what
was sent to nodes alone, `__start__` for the input, and `join:A+B:NODE` for a node that waits for several, which holds the
names of those that have come. A channel leads to its node if it holds something that the node has not seen. Nothing else
decides what is next, so that a checkpoint in which no node has seen anything, and which holds such a channel for exactly
the wanted nodes, stands exactly there.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast
from uuid import UUID

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    empty_checkpoint,
)
from langgraph.checkpoint.base.id import uuid6
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START
from langgraph.graph.state import CompiledStateGraph, StateGraph
from langgraph.types import Send

from graph.errors import CannotMigrate
from graph.upcasts.base import Next

Values = dict[str, Any]

#: LangGraph's channel of what was sent out and not yet run, and the channels of its edges and joins.
TASKS: Final = "__pregel_tasks"
_TO, _JOIN = "branch:to:", "join:"
# LangGraph's task of whoever wrote from outside, and what of it is only an answer to a review, which the ledger has.
_NOBODY, _RESUME = "00000000-0000-0000-0000-000000000000", "__resume__"
# The format of a checkpoint: the first that holds what it sends.
_FORMAT = 4


def read(found: CheckpointTuple) -> tuple[Values, tuple[Next, ...]]:
    """Return the channels of the state by name, and the next steps: what was sent first, in its order.

    A join that not all have come to is among the channels, as the sorted names of those that have. Raises CannotMigrate
    for what no later version could take over.
    """
    _check_nothing_from_outside(found)
    values: Values = {}
    sent: list[Next] = []
    plain: list[Next] = []
    for channel, value in found.checkpoint["channel_values"].items():
        if channel == TASKS:
            sent = [Next(node=each.node, sent=each.arg) for each in cast("list[Send]", value)]
        elif channel == START:
            if _is_unseen(found.checkpoint, channel, START):
                plain.append(Next(node=START, sent=value))
        elif channel.startswith(_TO):
            plain += _led_to(found.checkpoint, channel, channel.removeprefix(_TO), _finished(value))
        elif channel.startswith(_JOIN):
            starts, _, node = channel.removeprefix(_JOIN).rpartition(":")
            complete = set(starts.split("+")) == set(value)
            plain += _led_to(found.checkpoint, channel, node, is_there=complete)
            if value and not complete:
                values[channel] = sorted(value)
        else:
            values[channel] = value
    # Two ways to one node are one step.
    unique = {each.node: each for each in plain}
    return values, (*sent, *(unique[name] for name in sorted(unique)))


def _led_to(checkpoint: Checkpoint, channel: str, node: str, is_there: bool) -> list[Next]:
    return [Next(node=node)] if is_there and _is_unseen(checkpoint, channel, node) else []


def _is_unseen(checkpoint: Checkpoint, channel: str, node: str) -> bool:
    seen = checkpoint["versions_seen"].get(node, {}).get(channel)
    version = checkpoint["channel_versions"].get(channel)
    return version is not None and (seen is None or str(version) > str(seen))


def _finished(value: Any) -> bool:
    """Whether the channel of an edge leads on: that of a node that waits for all others says so with its value."""
    if not isinstance(value, list | tuple):
        return True
    if not cast("Sequence[Any]", value)[-1]:
        raise CannotMigrate("a node that is put off until all others have ended waits already")
    return True


def _check_nothing_from_outside(found: CheckpointTuple) -> None:
    writes = found.pending_writes or []
    told = sorted({channel for task, channel, _ in writes if task == _NOBODY} - {_RESUME})
    if told:
        raise CannotMigrate(
            f"something was written into its state from outside and not yet taken up ({', '.join(told)})"
        )


def checkpoint_at(
    builder: StateGraph[Any, Any, Any, Any],
    before: CheckpointTuple,
    values: Mapping[str, Any],
    following: Sequence[Next],
    version: str,
) -> Checkpoint:
    """Return a checkpoint that comes after another and stands before exactly these steps, of this graph.

    `version` is the one that all its channels get, newer than all before. Raises CannotMigrate for a node that the graph
    does not have.
    """
    graph = builder.compile()
    held: Values = {
        name: set(value) if name.startswith(_JOIN) else value for name, value in values.items()
    }
    sends: list[Send] = []
    for each in following:
        if each.node == START:
            held[START] = each.sent
        elif each.node not in builder.nodes:
            raise CannotMigrate(f"the next step {each.node} is no node of this version")
        elif each.sent is not None:
            sends.append(Send(each.node, each.sent))
        else:
            held[f"{_TO}{each.node}"] = _pulled(graph, f"{_TO}{each.node}")
    if sends:
        held[TASKS] = sends
    return {
        "v": _FORMAT,
        "id": _id_after(before),
        "ts": empty_checkpoint()["ts"],
        "channel_values": held,
        "channel_versions": dict.fromkeys(held, version),
        "versions_seen": {},
        "updated_channels": None,
    }


def _pulled(graph: CompiledStateGraph[Any, Any, Any, Any], channel: str) -> Any:
    """Return what the channel of an edge holds when its node is next."""
    pulled = cast("Any", graph.channels[channel]).copy()
    pulled.update([None])
    pulled.finish()
    return pulled.checkpoint()


def step_after(before: CheckpointTuple) -> CheckpointMetadata:
    """Return LangGraph's own view of such a checkpoint."""
    return {"source": "update", "step": before.metadata.get("step", 0) + 1, "parents": {}}


def _id_after(before: CheckpointTuple) -> str:
    """Return an id that sorts after the other's, whatever this machine's clock says: LangGraph takes the largest."""
    made = uuid6(clock_seq=step_after(before).get("step", 0))
    last = UUID(before.checkpoint["id"])
    if made.int > last.int:
        return str(made)
    # One tick later, in the 60 bits that count time: 48 before the version's 4, 12 after.
    ticks = ((last.int >> 80) << 12 | (last.int >> 64) & 0xFFF) + 1
    time = (ticks >> 12) << 80 | 6 << 76 | (ticks & 0xFFF) << 64
    return str(UUID(int=time | last.int & (1 << 64) - 1))


async def check_place(
    builder: StateGraph[Any, Any, Any, Any],
    checkpoint: Checkpoint,
    following: Sequence[Next],
) -> None:
    """See that LangGraph would go on from a checkpoint with exactly these steps; raises CannotMigrate."""
    saver = InMemorySaver()
    name: RunnableConfig = {"configurable": {"thread_id": "asked", "checkpoint_ns": ""}}
    metadata: CheckpointMetadata = {"source": "update", "step": 0, "parents": {}}
    stored = await saver.aput(name, checkpoint, metadata, checkpoint["channel_versions"])
    state = await builder.compile(checkpointer=saver).aget_state(stored)
    # What LangGraph calls a push was sent to the node alone; a task says where it comes from, and its number.
    tasks: tuple[Any, ...] = state.tasks
    found: list[tuple[str, bool]] = [(each.name, "push" in each.path[0]) for each in tasks]
    sent = [each for each in following if each.sent is not None and each.node != START]
    plain = sorted(each.node for each in following if each.sent is None or each.node == START)
    wanted = [*((each.node, True) for each in sent), *((node, False) for node in plain)]
    if (
        sorted(found) != sorted(wanted)
        or [each for each in found if each[1]] != wanted[: len(sent)]
    ):
        raise CannotMigrate(
            f"this version would go on with {_listed(found)} where {_listed(wanted)} was meant"
        )


def _listed(steps: Sequence[tuple[str, bool]]) -> str:
    return ", ".join(node for node, _ in steps) or "nothing"
