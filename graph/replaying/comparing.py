"""Compares what a step left with what the recorded one left, and the channels of a checkpoint with those of a workflow."""

from collections.abc import Mapping
from typing import Any, Final, TypeAlias, cast

from langgraph.graph import StateGraph
from pydantic import TypeAdapter, ValidationError

from graph.histories import Kept
from graph.replaying.moment import Diverged, Kind

#: By the name of the channel.
ChannelTypes: TypeAlias = Mapping[str, TypeAdapter[Any]]

SHOWN_CHARACTERS_MAX: Final = 300
#: What LangGraph keeps for itself, and what says which node comes next.
_SENT, _TO = "__pregel_tasks", "branch:to:"
#: Words for people: what was done, not what is to be done.
_WORDS: Final = frozenset({"step"})
#: Artifacts by what they are.
_TEXTS: Final = "products"
_KINDS: Final[Mapping[str, Kind]] = {
    "reviews": "review",
    "gate": "review",
    "problems": "review",
    "effects": "effect",
}


def compared(recorded: Mapping[str, Any], made: Mapping[str, Any]) -> int:
    """Raise Diverged for the first channel that a step left otherwise: what comes next first, then by name.

    Returns how many texts (summary, draft, report) have other words than then. That misleads nobody: a run goes on from the
    text that it has, and what is asked or sent of it is compared where it rests on that.
    """
    names = sorted(recorded.keys() | made.keys(), key=lambda name: (not _leads_on(name), name))
    for name in names:
        was, now = recorded.get(name), made.get(name)
        if name == _TEXTS and was and now and was.keys() == now.keys():
            continue
        if name.startswith(_TO) and (name in recorded) != (name in made):
            raise Diverged(
                "next",
                f"it {'leads' if name in made else 'does not lead'} on to {name.removeprefix(_TO)}",
            )
        if name in _WORDS or name == "__start__" or (not was and not now) or was == now:
            continue
        kind: Kind = "next" if _leads_on(name) else _KINDS.get(name, "state")
        raise Diverged(kind, f"{name} was {_shown(was)}, and is {_shown(now)}")
    return len(_texts(recorded) - _texts(made))


def compared_up(recorded: Mapping[str, Any], made: Mapping[str, Any]) -> int:
    """Do the same for a step that an older version recorded, brought up: of the channels that both have.

    What this version asks for the first time it asks in its own form, so of reviews their kinds are compared.
    """
    both = recorded.keys() & made.keys()
    return compared(
        {name: _kinds_only(name, recorded[name]) for name in both},
        {name: _kinds_only(name, made[name]) for name in both},
    )


def _kinds_only(name: str, value: Any) -> Any:
    return [each["kind"] for each in value] if name == "reviews" else value


def _texts(values: Mapping[str, Any]) -> set[tuple[str, str]]:
    found: dict[str, str] = values.get(_TEXTS) or {}
    return set(found.items())


def check_readable(types: ChannelTypes, kept: Kept) -> None:
    """Raise Diverged for the first channel of a checkpoint that a workflow does not have, or cannot read."""
    for name, value in sorted(kept.checkpoint["channel_values"].items()):
        if name.startswith(("__", _TO)):
            continue
        if name not in types:
            raise Diverged("unreadable", f"channel {name} is none of this workflow")
        try:
            types[name].validate_python(value)
        except ValidationError as error:
            problem = error.errors(include_input=False, include_url=False)[0]
            where = ".".join(map(str, problem["loc"]))
            told = f"channel {name} cannot be read: {where} {problem['msg']}"
            raise Diverged("unreadable", told) from error


def channel_types(graph: StateGraph[Any, Any, Any, Any]) -> ChannelTypes:
    """Return how the channels of a workflow are read, by their names."""
    return {
        name: TypeAdapter(channel.ValueType)
        for name, channel in cast("Mapping[str, Any]", graph.channels).items()
        if not name.startswith(("__", _TO))
    }


def _leads_on(name: str) -> bool:
    return name == _SENT or name.startswith(_TO)


def _shown(value: Any) -> str:
    text = str(value)
    return text if len(text) <= SHOWN_CHARACTERS_MAX else f"{text[:SHOWN_CHARACTERS_MAX]}…"
