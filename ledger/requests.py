"""What is asked of the outside world, and by which digests a request is known."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

from ledger.canonical import Json, canonical, digest
from ledger.ids import derived_id


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of the outside world; `settings` is recorded with the attempt and no part of the key."""

    task_id: str
    kind: str
    body: Json
    settings: Mapping[str, Json] = field(default_factory=dict[str, Json])
    #: How often its task was researched anew (ledger/retries.py): each time the calls are made again.
    retry: int = 0
    #: What makes another operation of the run the same question, whoever asks it; None: its answer is not shared.
    same: Json = None

    def key(self, run_id: UUID) -> str:
        """Return the digest that names the operation: the same question of the same task is the same operation."""
        again = [self.retry] if self.retry else []
        return digest(canonical([str(run_id), self.task_id, self.kind, self.body, *again]))

    def operation_id(self, run_id: UUID) -> str:
        """Return the id of the operation."""
        return derived_id("op", self.key(run_id))

    def form(self, run_id: UUID) -> str | None:
        """Return the digest that all operations of the run have in common which ask the same; None: it is not shared."""
        if self.same is None:
            return None
        return digest(canonical([str(run_id), self.kind, self.same]))
