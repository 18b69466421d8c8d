"""Plays one history: from every checkpoint the one step that followed it, and names the first that does something else."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

from langgraph.errors import GraphBubbleUp, InvalidUpdateError

from graph.errors import StateInvalid
from graph.histories import History, Kept
from graph.replaying.bringing import brought
from graph.replaying.comparing import check_readable, compared, compared_up
from graph.replaying.moment import Diverged, Kind, Moment
from graph.replaying.stage import Player
from ledger.errors import LedgerError
from ledger.recordings import Name, Row, as_of
from nodes.options import BadInput

#: Steps of this version that one of an older may have become: what was one node is two or three.
STEPS_MAX: Final = 3
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
    note = _only_shape(history)
    rewritten, found = 0, None
    await player.begin(history.run_id, history.artifacts)
    played = [each for each in history.checkpoints if each.ns == "" or _is_now(player, each)]
    for kept in played:
        here = await _at(player, history, kept, shape=note is not None)
        if isinstance(here, Divergence):
            found = here
            break
        rewritten += here
    version = history.header["workflow_version"]
    mode: Literal["full", "shape"] = "shape" if note else "full"
    return Verdict(str(history.run_id), version, len(played), mode, note, rewritten, found)


def _only_shape(history: History) -> str | None:
    """Say why no step of a history can be played, None where all can."""
    if not history.header["text"]:
        return "its texts were left out, so only next steps, channels and whether they can be read are compared"
    if any(change.table == "forks" for change in history.changes):
        return "it is a fork, whose decisions and effects stand in the history of another run"
    if any(each.record["ledger_version"] is None for each in history.roots):
        return "it was begun before checkpoints said which version of the ledger they rest on"
    return None


def _is_now(player: Player, kept: Kept) -> bool:
    """Whether a checkpoint is of the player's version. Branches of older ones begin anew when their run is brought up."""
    version: int = kept.record["workflow_version"]
    return version >= player.definition.version


async def _at(player: Player, history: History, kept: Kept, *, shape: bool) -> int | Divergence:
    """Play what followed a checkpoint, and return how many texts came out otherwise, or the divergence."""
    try:
        return await _followed(player, history, kept, shape=shape)
    except Diverged as error:
        return Divergence(kept.checkpoint_id, error.kind, str(error))
    except StateInvalid as error:
        return Divergence(kept.checkpoint_id, "unreadable", str(error))
    except _BROKEN as error:
        return Divergence(kept.checkpoint_id, "broken", f"{type(error).__name__}: {error}")


async def _followed(player: Player, history: History, kept: Kept, *, shape: bool) -> int:
    older, player = not _is_now(player, kept), player.within(kept.ns)
    if not older:
        check_readable(player.types, kept)
    children = [
        each
        for each in history.checkpoints
        if (each.ns, each.parent) == (kept.ns, kept.checkpoint_id)
    ]
    if shape:
        await _shaped(player, history, kept, children, older=older)
        return 0
    rewritten = 0
    for child in [each for each in children if _is_a_step(kept, each)]:
        play = _played_up if older else _played
        rewritten += await play(player, history, kept, child)
    if not children and kept.ns == "":
        await _last(player, history, kept, older=older)
    return rewritten


async def _shaped(
    player: Player, history: History, kept: Kept, children: Sequence[Kept], *, older: bool
) -> None:
    """Look at a checkpoint of a history whose steps cannot be played: what would be next, or whether it can be brought up."""
    if older and history.header["text"]:
        brought(player, history.run_id, kept, _newest_rows(history))
    for child in [each for each in children if _is_a_step(kept, each) and not older]:
        here, wanted = await player.look(history.run_id, kept.checkpoint), next_of(kept, child)
        _check_next(wanted, here.next)


def _check_next(was: tuple[str, ...], now: tuple[str, ...]) -> None:
    if was != now:
        raise Diverged("next", f"next was {named(was)}, and would be {named(now)}")


def _is_a_step(kept: Kept, child: Kept) -> bool:
    """Whether a step of ours led from one to the other: not LangGraph's own with the input, nor somebody from outside."""
    return child.metadata.get("source") == "loop" and kept.metadata.get("source") != "input"


async def _played(player: Player, history: History, kept: Kept, child: Kept) -> int:
    """Play the step between two checkpoints, and return how many texts it wrote otherwise; raises Diverged."""
    moment = Moment(_rows(history, kept), _rows(history, child))
    here = await player.at(history.run_id, moment, kept.checkpoint)
    wanted = next_of(kept, child)
    _check_next(wanted, here.next)
    there = await player.step(history.run_id, _answers(kept))
    if there is None:
        raise Diverged("review", f"it waits for a person, where {named(wanted)} went on")
    return compared(child.checkpoint["channel_values"], there.values)


async def _played_up(player: Player, history: History, kept: Kept, child: Kept) -> int:
    """Bring two checkpoints of an older version up, and play from one to where the other is; raises Diverged."""
    moment = Moment(_rows(history, kept), _rows(history, child))
    start = brought(player, history.run_id, kept, moment.before)
    goal = brought(player, history.run_id, child, moment.after)
    moment = Moment({**moment.before, **start.rows}, moment.after)
    here = await player.at(history.run_id, moment, start.checkpoint)
    for _ in range(STEPS_MAX):
        if here.next == goal.next:
            break
        there = await player.step(history.run_id, {})
        if there is None:
            raise Diverged("review", f"it waits for a person, where {named(start.next)} went on")
        here = there
    if here.next != goal.next:
        told = f"from {named(start.next)} it led to {named(goal.next)}, and leads to {named(here.next)}"
        raise Diverged("next", told)
    return compared_up(goal.values, here.values)


async def _last(player: Player, history: History, kept: Kept, *, older: bool) -> None:
    """Look at what a checkpoint without a following one leads to: a review that was asked, or the end."""
    before, after = _rows(history, kept), _newest_rows(history)
    checkpoint = kept.checkpoint
    if older:
        up = brought(player, history.run_id, kept, before)
        before, after = {**before, **up.rows}, {**after, **up.rows}
        checkpoint = up.checkpoint or checkpoint
        if not up.next:
            return
    moment = Moment(before, after)
    here = await player.at(history.run_id, moment, checkpoint)
    waits = sorted(
        {f"review_{each['kind']}" for each in moment.of("reviews") if each["status"] == "open"}
    )
    if history.header["status"] == "paused" and not set(waits) <= set(here.next):
        raise Diverged("next", f"it waits for {named(waits)}, and next is {named(here.next)}")
    if history.header["status"] == "completed" and here.next:
        raise Diverged("next", f"it is completed, and next would be {named(here.next)}")
    if not here.next:
        return
    there = await player.step(history.run_id, {})
    if there is not None and history.header["status"] == "paused":
        raise Diverged("review", f"it waits for {named(waits)}, and would go on unreviewed")


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


def _newest_rows(history: History) -> Mapping[Name, Row]:
    return as_of(history.changes, max((change.version for change in history.changes), default=0))


def _rows(history: History, kept: Kept) -> Mapping[Name, Row]:
    return as_of(history.changes, kept.record["ledger_version"])


def named(names: Sequence[str]) -> str:
    """Return names in words."""
    return ", ".join(names) or "nothing"
