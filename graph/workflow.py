"""A version of the workflow as data: how its graph is wired, and what it knows of the versions before it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

from langgraph.graph import StateGraph

from graph.build import build_graph
from graph.topologies import Described, described
from graph.upcasts import UPCASTS
from graph.upcasts.base import Upcast
from graph.versions import COMPATIBLE, WORKFLOW_VERSION
from ledger.canonical import canonical, digest
from nodes.resources import Resources, Workflow


@dataclass(frozen=True)
class Definition:
    """What the code of one version is.

    `build` binds its nodes to resources; `upcasts` lead runs of older versions here, by the version that they come from;
    `compatible` are the fingerprints of other topologies whose runs go on unchanged, each with the reason why.
    """

    version: int
    build: Callable[[Resources], StateGraph[Any, Any, Any, Any]]
    upcasts: Mapping[int, Upcast] = field(default_factory=dict[int, Upcast])
    compatible: Mapping[str, str] = field(default_factory=dict[str, str])

    def described(self) -> Described:
        """Return the topology, bound to nothing."""
        return described(self.build(cast("Resources", None)))

    def identity(self) -> Workflow:
        """Return what is stamped into runs and checkpoints."""
        return Workflow(self.version, digest(canonical(self.described())))


#: The workflow of this code.
CURRENT: Final = Definition(WORKFLOW_VERSION, build_graph, UPCASTS, COMPATIBLE)
