"""Which workflow this code is: a number that people raise, and a fingerprint of the topology that no one can forget."""

from typing import Any

from ledger.canonical import Json, canonical, digest

#: Raised with every change of nodes, edges or state that a sleeping run would notice.
WORKFLOW_VERSION = 2


def fingerprint(builder: Any) -> str:
    """Return the digest of a graph's nodes, edges, branches and channels, the same in every process.

    `builder` is an uncompiled StateGraph; the subgraphs that are its nodes are covered with it.
    """
    return digest(canonical(_topology(builder)))


def _topology(builder: Any) -> Json:
    nodes: dict[str, Json] = {}
    for name, spec in builder.nodes.items():
        inner: Any = getattr(spec.runnable, "builder", None)
        nodes[name] = {
            "ends": sorted(list[str](spec.ends or ())),
            "inside": inner and _topology(inner),
        }
    branches: dict[str, Json] = {
        start: {
            name: sorted(dict[str, str](spec.ends or {}).values()) for name, spec in routers.items()
        }
        for start, routers in builder.branches.items()
    }
    return {
        "nodes": nodes,
        "edges": sorted([start, end] for start, end in builder.edges),
        "joins": sorted([sorted(starts), end] for starts, end in builder.waiting_edges),
        "branches": branches,
        "channels": {name: type(channel).__name__ for name, channel in builder.channels.items()},
    }
