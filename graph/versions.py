"""Which workflow this code is: a number that people raise, and a fingerprint of the topology that no one can forget.

What was released is kept in files, one for each version (graph/released), that are never edited: runs may be asleep that
bear their fingerprints.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final

from graph.topologies import Described, described
from ledger.canonical import canonical, digest

#: Raised with every change of nodes, edges or state that a sleeping run would notice.
WORKFLOW_VERSION: Final = 2


@dataclass(frozen=True, slots=True)
class Release:
    """A released version: its topology with its fingerprint, and other names of the same topology, each with the reason."""

    version: int
    fingerprint: str
    aliases: Mapping[str, str]
    topology: Described

    @property
    def fingerprints(self) -> frozenset[str]:
        """Everything that a run of this version may bear."""
        return frozenset({self.fingerprint, *self.aliases})


def fingerprint(builder: Any) -> str:
    """Return the digest of a graph's topology, the same in every process; `builder` is an uncompiled StateGraph."""
    return digest(canonical(described(builder)))


def _released() -> tuple[Release, ...]:
    folder = files("graph").joinpath("released")
    names = sorted(each.name for each in folder.iterdir() if each.name.endswith(".json"))
    return tuple(
        Release(**json.loads(folder.joinpath(name).read_text(encoding="utf-8"))) for name in names
    )


#: The released versions, oldest first.
RELEASES: Final = _released()

#: By version, the fingerprints that its runs may bear.
RELEASED: Final[Mapping[int, frozenset[str]]] = {
    each.version: each.fingerprints for each in RELEASES
}

#: By fingerprint, what is known of topologies.
TOPOLOGIES: Final[Mapping[str, Described]] = {
    name: each.topology for each in RELEASES for name in each.fingerprints
}

#: Topologies whose runs go on here unchanged, by fingerprint, each with the reason: proved harmless, never guessed.
COMPATIBLE: Final[Mapping[str, str]] = {
    name: reason
    for each in RELEASES
    if each.version == WORKFLOW_VERSION
    for name, reason in each.aliases.items()
}
