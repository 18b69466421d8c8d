"""Plays one history: from every checkpoint the one step that followed it, and names the first that does something else."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from langgraph.errors import GraphBubbleUp, InvalidUpdateError

from graph.histories import History, Kept
from graph.replaying.comparing import check_readable, compared
from graph.replaying.moment import Diverged, Kind, Moment
from graph.replaying.stage import Player
from ledger.errors import LedgerError
from ledger.recordings import as_of
from nodes.options import BadInput

#: Whatever a node may raise over state or rows that it does not understand.
_BROKEN = (
    LedgerError, BadInput, GraphBubbleUp, InvalidUpdateError, LookupError, TypeError, ValueError, AttributeError, AssertionError,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first thing that is otherwise than recorded: at which checkpoint, in what, and what it is."""

    checkpoint_id: str
    kind: Kind
    why: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of a history: `shape` where only that could be looked at, with the reason in `note`."""

    run_id: str
    workflow_version: int
    checkpoints: int
    mode: Literal["full", "shape"]
    note: str | None
    #: Texts that a step wrote with other words than then.
    rewritten: int
    divergence: Divergence | None

    @property
    def ok(self) -> bool:
        """Whether the code at hand does what was recorded."""
        return self.divergence is None

    def as_json(self) -> dict[str, Any]:
        """Return it with its members in their order."""
        return {"ok": self.ok, **asdict(self)}


async def replay(player: Player, history: History) -> Verdict:
    """Play a history with the player's definition; raises what the scratch database does, and nothing of the history."""
    roots = history.roots
    note = _only_shape(history)
    rewritten, found = 0, None
    await player.begin(history.run_id, history.artifacts)
    for kept in roots:
        here = await _at(player, history, kept, shape=note is not None)
        if isinstance(here, Divergence):
            found = here
            break
        rewritten += here
    version = history.header["workflow_version"]
    mode: Literal["full", "shape"] = "shape" if note else "full"
    return Verdict(str(history.run_id), version, len(roots), mode, note, rewritten, found)


def _only_shape(history: History) -> str | None:
    """Say why no step of a history can be played, None where all can."""
    if not history.header["text"]:
        return "its texts were left out, so only next steps, channels and whether they can be read are compared"
    if any(change.table == "forks" for change in history.changes):
        return "it is a fork, whose decisions and effects stand in the history of another run"
    return None


async def _at(player: Player, history: History, kept: Kept, *, shape: bool) -> int | Divergence:
    """Play what followed a checkpoint, and return how many texts came out otherwise, or the divergence."""
    try:
        return await _followed(player, history, kept, shape=shape)
    except Diverged as error:
        return Divergence(kept.checkpoint_id, error.kind, str(error))
    except _BROKEN as error:
        return Divergence(kept.checkpoint_id, "broken", f"{type(error).__name__}: {error}")


async def _followed(player: Player, history: History, kept: Kept, *, shape: bool) -> int:
    check_readable(player.types, kept)
    if shape:
        return 0
    children = [each for each in history.roots if each.parent == kept.checkpoint_id]
    rewritten = 0
    for child in children:
        rewritten += await _played(player, history, kept, child)
    if not children:
        await _last(player, history, kept)
    return rewritten


async def _played(player: Player, history: History, kept: Kept, child: Kept) -> int:
    """Play the step between two checkpoints, and return how many texts it wrote otherwise; raises Diverged."""
    if child.metadata.get("source") != "loop" or kept.metadata.get("source") == "input":
        return 0  # somebody sent the run elsewhere, or LangGraph took the input up: no step of ours did
    moment = Moment(_rows(history, kept), _rows(history, child))
    here = await player.at(history.run_id, moment, kept.checkpoint)
    wanted = next_of(kept, child)
    if here.next != wanted:
        raise Diverged("next", f"next was {_named(wanted)}, and would be {_named(here.next)}")
    there = await player.step(history.run_id, _answers(kept))
    if there is None:
        raise Diverged("review", f"it waits for a person, where {_named(wanted)} went on")
    return compared(child.checkpoint["channel_values"], there.values)


async def _last(player: Player, history: History, kept: Kept) -> None:
    """Look at what a checkpoint without a following one leads to: a review that was asked, or the end."""
    newest = max((change.version for change in history.changes), default=0)
    moment = Moment(_rows(history, kept), as_of(history.changes, newest))
    here = await player.at(history.run_id, moment, kept.checkpoint)
    asked = sorted({each["kind"] for each in moment.of("reviews") if each["status"] == "open"})
    waits = {f"review_{kind}" for kind in asked}
    if history.header["status"] == "paused" and not waits <= set(here.next):
        raise Diverged(
            "next", f"it waits for {_named(sorted(waits))}, and next is {_named(here.next)}"
        )
    if history.header["status"] == "completed" and here.next:
        raise Diverged("next", f"it is completed, and next would be {_named(here.next)}")
    if not here.next:
        return
    there = await player.step(history.run_id, {})
    if there is not None and history.header["status"] == "paused":
        raise Diverged(
            "review", f"it waits for {_named(sorted(waits))}, and would go on unreviewed"
        )


def next_of(kept: Kept, child: Kept) -> tuple[str, ...]:
    """Return the nodes that ran between two checkpoints: those that have seen more, and those that were sent to."""
    before: Mapping[str, Any] = kept.checkpoint["versions_seen"]
    after: Mapping[str, Any] = child.checkpoint["versions_seen"]
    ran = [
        name
        for name, seen in after.items()
        if seen != before.get(name, {}) and name not in _LANGGRAPHS
    ]
    sent = [
        each["$send"][0] for each in kept.checkpoint["channel_values"].get("__pregel_tasks", [])
    ]
    return tuple(sorted([*ran, *sent]))


# Names under which LangGraph itself keeps what it has seen.
_LANGGRAPHS = frozenset({"__interrupt__", "__input__"})


def _answers(kept: Kept) -> dict[str, Any]:
    """Return what woke the reviews that were asked at a checkpoint, by the id of the interrupt."""
    asked = {
        task: value[0]["$interrupt"][0]
        for task, channel, value in kept.writes
        if channel == "__interrupt__" and value
    }
    return {
        asked[task]: value[-1]
        for task, channel, value in kept.writes
        if channel == "__resume__" and task in asked and isinstance(value, list) and value
    }


def _rows(history: History, kept: Kept) -> Mapping[Any, Any]:
    version = kept.record["ledger_version"]
    if version is None:
        raise Diverged(
            "unreadable", "its record does not say which version of the ledger it rests on"
        )
    return as_of(history.changes, version)


def _named(names: Sequence[str]) -> str:
    return ", ".join(names) or "nothing"
