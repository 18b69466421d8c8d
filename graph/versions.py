"""Which workflow this code is: a number that people raise, and a fingerprint of the topology that no one can forget."""

from collections.abc import Mapping
from typing import Any, Final

from graph.topologies import described
from ledger.canonical import canonical, digest

#: Raised with every change of nodes, edges or state that a sleeping run would notice.
WORKFLOW_VERSION: Final = 2

#: Topologies whose runs go on here unchanged, by fingerprint, each with the reason: proved harmless, never guessed.
COMPATIBLE: Final[Mapping[str, str]] = {
    "sha256:2eb6f8cd48b61005375d2d2444d3559a05df30557fffef662b53ee0da0e1bef9": (
        "the same topology, as the first form of the fingerprint named it (it left out triggers, types and reducers)"
    ),
}


def fingerprint(builder: Any) -> str:
    """Return the digest of a graph's topology, the same in every process; `builder` is an uncompiled StateGraph."""
    return digest(canonical(described(builder)))
