"""What a step may use: the ledger, who thinks, the tools, where reports go, who is told of progress.

Nothing of this enters state or LangGraph's `configurable`, which are stored in the clear.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, TypeAlias, TypeVar
from uuid import UUID

from langgraph.runtime import Runtime

from ledger import runs
from ledger.canonical import Json
from ledger.db import Ledger
from ledger.documents import NewExtraction
from ledger.journal import Received
from ledger.sources import NewSource
from nodes.effects import Patience
from nodes.material import SearchResult, Skipped
from nodes.options import BadInput, Policy, RunOptions
from nodes.researchers.base import Researcher
from nodes.targets.base import Targets

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Reading:
    """A document that a tool read; `extraction` holds bytes and text that are not in the ledger yet."""

    source: NewSource
    extraction: NewExtraction | None = None


@dataclass(frozen=True, slots=True)
class Local(Generic[T]):
    """A call that this process answers by itself."""

    perform: Callable[[], Awaitable[T]]


@dataclass(frozen=True, slots=True)
class Remote(Generic[T]):
    """A call that somebody else answers, in two halves: what came back is kept before anything is made of it.

    `understand` calls nobody: the same bytes mean the same, in this process or in one that comes after it.
    """

    receive: Callable[[], Awaitable[Received]]
    understand: Callable[[Received], Awaitable[T]]


Outside: TypeAlias = Local[T] | Remote[T]


class Tool(Protocol):
    """Finds documents and reads them; its calls raise OperationFailed where they cannot."""

    @property
    def name(self) -> str:
        """The name by which a result says where it came from."""
        ...

    @property
    def identity(self) -> Mapping[str, Json]:
        """What identifies the tool as it is set up now: part of the key of its operations."""
        ...

    def search(self, query: str, limit: int) -> Outside[SearchResult]:
        """Return the call that finds the best hits for a query."""
        ...

    def read(self, uri: str) -> Outside[Reading]:
        """Return the call that reads the document at an address that a search gave."""
        ...


class Toolbox(Protocol):
    """Opens the tools of a run."""

    def check(self, options: RunOptions) -> None:
        """Raise BadInput for options that leave nothing to research."""
        ...

    async def check_credentials(self) -> str:
        """Say what the services of the tools answered to our credentials; raises CredentialRefused."""
        ...

    async def prepare(self, options: RunOptions, progress: "Progress") -> str:
        """Read the documents that the options name and return the artifact of their manifest.

        Raises BadInput when there is nothing to research.
        """
        ...

    async def tools(self, run: runs.Run) -> tuple[Tool, ...]:
        """Return the tools of a prepared run."""
        ...

    async def skipped(self, run: runs.Run) -> tuple[Skipped, ...]:
        """Return the documents that could not be read, with their reasons."""
        ...


class Progress(Protocol):
    """Told how far the work is."""

    def ingesting(self, done: int, total: int, uri: str) -> None:
        """Say how many documents of the corpus are read."""
        ...

    def phase(self, run_id: UUID, phase: str, detail: str) -> None:
        """Say that the run has come to another part of its work."""
        ...

    def task(self, run_id: UUID, task_id: str, status: str, detail: str) -> None:
        """Say that a task has begun, moved on or ended."""
        ...


class Silent:
    """Tells nobody."""

    def ingesting(self, done: int, total: int, uri: str) -> None:
        """Say nothing."""

    def phase(self, run_id: UUID, phase: str, detail: str) -> None:
        """Say nothing."""

    def task(self, run_id: UUID, task_id: str, status: str, detail: str) -> None:
        """Say nothing."""


#: In place of a task's id: what all branches together may use.
BRANCHES = "@branches"


class Researchers(Protocol):
    """Says who thinks for a run."""

    def of(self, run: runs.Run, task_id: str, retry: int = 0) -> Researcher:
        """Return who thinks about a task of a run, or under a step's name (`@check`) about the whole of it.

        `retry` is how often the task was researched anew. Raises BadInput for a model that this process does not know.
        """
        ...

    def check(self, model: str) -> str:
        """Say who thinks under this name; raises BadInput where nobody does."""
        ...

    def leaves(self, model: str) -> bool:
        """Tell whether what it reads goes to another machine; raises BadInput."""
        ...

    async def check_now(self, model: str) -> str:
        """Say the same, and what its endpoint says of model and key now; raises CredentialRefused, too."""
        ...


@dataclass(frozen=True, slots=True)
class Workflow:
    """Which workflow this code is, as it is written to a run's row."""

    version: int
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Resources:
    """Everything a step may use; opened once per process, see graph/runtime.py."""

    ledger: Ledger
    researchers: Researchers
    toolbox: Toolbox
    reports: Path
    workflow: Workflow
    targets: Targets
    patience: Patience = field(default_factory=Patience)
    progress: Progress = field(default_factory=Silent)
    #: What is set for all runs.
    policy: Policy = field(default_factory=Policy)


def run_id_of(runtime: Runtime[Any]) -> UUID:
    """Return the run that a step works for: a run is a LangGraph thread. Raises BadInput for a thread that is no UUID."""
    info = runtime.execution_info
    thread_id = info.thread_id if info else None
    try:
        return UUID(thread_id)
    except (TypeError, ValueError) as error:
        raise BadInput(f"a thread of perdure is named by a UUID, not by {thread_id!r}") from error
