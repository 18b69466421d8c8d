"""A version of the workflow as data: how its graph is wired, and what it knows of the versions before it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, cast

from langgraph.graph import StateGraph

from graph.build import build_graph
from graph.topologies import Described, described
from graph.upcasts import UPCASTS
from graph.upcasts.base import Upcast
from graph.versions import COMPATIBLE, RELEASED, TOPOLOGIES, WORKFLOW_VERSION
from ledger.canonical import canonical, digest
from ledger.stamps import Stamp
from nodes.resources import Resources, Workflow


@dataclass(frozen=True)
class Definition:
    """What the code of one version is.

    `build` binds its nodes to resources; `upcasts` lead runs of older versions here, by the version that they come from;
    `compatible` are the fingerprints of other topologies whose runs go on unchanged, each with the reason why;
    `released` are by version the fingerprints that its runs may bear, and `topologies` what is known of some of those.
    """

    version: int
    build: Callable[[Resources], StateGraph[Any, Any, Any, Any]]
    upcasts: Mapping[int, Upcast] = field(default_factory=dict[int, Upcast])
    compatible: Mapping[str, str] = field(default_factory=dict[str, str])
    released: Mapping[int, frozenset[str]] = field(default_factory=dict[int, frozenset[str]])
    topologies: Mapping[str, Described] = field(default_factory=dict[str, Described])

    def described(self) -> Described:
        """Return the topology, bound to nothing."""
        return self._topology

    def identity(self) -> Workflow:
        """Return what is stamped into runs and checkpoints."""
        return Workflow(*self.stamp)

    @cached_property
    def stamp(self) -> Stamp:
        """The same as the ledger has it."""
        return Stamp(self.version, digest(canonical(self._topology)))

    @cached_property
    def _topology(self) -> Described:
        return described(self.build(cast("Resources", None)))


#: The workflow of this code.
CURRENT: Final = Definition(
    WORKFLOW_VERSION, build_graph, UPCASTS, COMPATIBLE, RELEASED, TOPOLOGIES
)
