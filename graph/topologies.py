"""What a workflow looks like from outside, as plain JSON: to tell one from another, and to name what differs.

Everything that LangGraph takes from the newest code when it resumes a thread is in it, because a change of any of it can
mislead a run that sleeps: nodes, what triggers them, what they read, edges, joins, routers, channels with types and
reducers, subgraphs, and which nodes stop for a person. No setting of a run changes any of it: all runs have one graph.
"""

import inspect
from collections.abc import Collection, Mapping
from functools import partial
from types import CodeType
from typing import Any, cast, get_args, get_origin

from typing_extensions import get_type_hints, is_typeddict

from ledger.canonical import Json

Described = dict[str, Any]


def described(builder: Any) -> Described:
    """Return the topology of an uncompiled StateGraph with its subgraphs, the same in every process and Python."""
    compiled = builder.compile()
    return {
        "nodes": {name: _node(spec, compiled.nodes[name]) for name, spec in builder.nodes.items()},
        "edges": sorted([start, end] for start, end in builder.edges),
        "joins": sorted([sorted(starts), end] for starts, end in builder.waiting_edges),
        "branches": {start: _routers(routers) for start, routers in builder.branches.items()},
        "channels": {name: _channel(channel) for name, channel in builder.channels.items()},
    }


def differences(old: Described, new: Described) -> list[str]:
    """Name each place at which two topologies differ, in words; empty where they are the same."""
    found: list[str] = []
    alone = old.get("channels", {}).keys() ^ new.get("channels", {}).keys()
    old, new = (_with_nodes_reading(each, but=alone) for each in (old, new))
    for part in ("nodes", "channels"):
        found += _of_names(part[:-1], old.get(part, {}), new.get(part, {}))
    for part in ("edges", "joins"):
        before, after = _listed(old.get(part, [])), _listed(new.get(part, []))
        found += [f"{part[:-1]} {each} is gone" for each in sorted(before - after)]
        found += [f"{part[:-1]} {each} is new" for each in sorted(after - before)]
    return found + _of_names("router of", old.get("branches", {}), new.get("branches", {}))


def _with_nodes_reading(topology: Described, but: Collection[str]) -> Described:
    """Leave channels out of what nodes read: those that are gone or new are told once, not for every node."""
    nodes = {
        name: {**node, "reads": sorted(set(node.get("reads", [])) - set(but))}
        for name, node in topology.get("nodes", {}).items()
    }
    return {**topology, "nodes": nodes}


def _of_names(what: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    found = [f"{what} {name} is gone" for name in sorted(old.keys() - new.keys())]
    found += [f"{what} {name} is new" for name in sorted(new.keys() - old.keys())]
    for name in sorted(old.keys() & new.keys()):
        if old[name] != new[name]:
            found += _of_one(f"{what} {name}", old[name], new[name])
    return found


def _of_one(what: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    found: list[str] = []
    for key in sorted(old.keys() | new.keys()):
        before, after = old.get(key), new.get(key)
        if before == after:
            continue
        if key == "inside" and before and after:
            found += [f"inside {what}: {each}" for each in differences(before, after)]
        else:
            found.append(f"{what}: {key} was {_shown(before)}, is {_shown(after)}")
    return found


def _shown(value: Json) -> str:
    if not isinstance(value, list):
        return str(value)
    return ", ".join(map(str, value)) or "nothing"


def _listed(pairs: list[list[Json]]) -> set[str]:
    return {f"{_shown(start)} -> {end}" for start, end in pairs}


def _node(spec: Any, compiled: Any) -> Described:
    inner = getattr(spec.runnable, "builder", None)
    reads = compiled.channels
    channels = [reads] if isinstance(reads, str) else list[str](reads)
    return {
        "triggers": sorted(compiled.triggers),
        "reads": sorted(channels),
        "ends": sorted(list[str](spec.ends or ())),
        "asks": _asks(
            getattr(spec.runnable, "afunc", None) or getattr(spec.runnable, "func", None)
        ),
        "defer": bool(spec.defer),
        "inside": described(inner) if inner is not None else None,
    }


def _asks(function: Any) -> bool:
    """Whether a node's own function stops for a person: a node that ceases to lets every sleeping run pass unreviewed."""
    while isinstance(function, partial):
        function = cast("Any", function.func)
    code = getattr(inspect.unwrap(function), "__code__", None) if function else None
    return code is not None and _names(code, "interrupt")


def _names(code: CodeType, name: str) -> bool:
    return name in code.co_names or any(
        _names(each, name) for each in code.co_consts if isinstance(each, CodeType)
    )


def _routers(routers: Mapping[str, Any]) -> Described:
    return {
        name: sorted(dict[str, str](spec.ends or {}).values()) for name, spec in routers.items()
    }


def _channel(channel: Any) -> Described:
    operator = getattr(channel, "operator", None)
    return {
        "kind": type(channel).__name__,
        "type": _type(channel.typ),
        "reducer": operator.__qualname__ if operator else None,
    }


def _type(annotation: Any) -> Any:
    """Return a type as JSON; of a TypedDict its fields, because its name says nothing of what is stored."""
    if hasattr(annotation, "__metadata__"):
        return _type(get_args(annotation)[0])
    if is_typeddict(annotation):
        # Names only would hide a field that was retyped; extras (NotRequired) are part of the promise.
        optional: frozenset[str] = annotation.__optional_keys__
        return {
            f"{name}?" if name in optional else name: _type(hint)
            for name, hint in get_type_hints(annotation).items()
        }
    if (origin := get_origin(annotation)) is None:
        return getattr(annotation, "__name__", None) or str(annotation)
    return [getattr(origin, "__name__", str(origin)), *map(_type, get_args(annotation))]
