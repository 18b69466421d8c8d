"""What calls cost, by the journal; and whether one would be made at all."""

from dataclasses import dataclass
from uuid import UUID

from ledger.db import Transaction
from ledger.requests import Request
from ledger.sql import load

_SQL = load("journal")
_SPENT, _ANSWERED = _SQL["SpentByTask"], _SQL["HasAnswer"]


@dataclass(frozen=True, slots=True)
class Spent:
    """What calls cost: how many there were, their tokens, and US dollars as far as prices are known."""

    calls: int = 0
    prompt_tokens: float = 0
    completion_tokens: float = 0
    cost_usd: float = 0

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cost_usd + other.cost_usd,
        )


async def spent(tx: Transaction, run_id: UUID, kind: str) -> dict[str, Spent]:
    """Return what the calls of one kind cost so far, by task."""
    rows = await tx.many(_SPENT, run_id=run_id, kind=kind)
    return {row.pop("task_id"): Spent(**row) for row in rows}


async def is_answered(tx: Transaction, run_id: UUID, request: Request) -> bool:
    """Tell whether an operation costs no further call: its result is there, or what a worker that died received for it."""
    name = request.operation_id(run_id)
    return bool((await tx.one(_ANSWERED, run_id=run_id, operation_id=name))["answered"])
