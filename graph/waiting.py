"""How a run stands that waits for people: paused for what they decide, blocked where only they know what became of an effect."""

from typing import Any
from uuid import UUID

from ledger import reviews, runs
from ledger.db import Transaction
from ledger.errors import EffectsUnsettled
from ledger.questions import Review
from nodes.decisions.effect import SETTLE


async def set_waiting(tx: Transaction, run_id: UUID) -> None:
    """Record that a run waits for its open reviews."""
    doubtful = [each.shown for each in await open_settlements(tx, run_id)]
    if not doubtful:
        await runs.set_status(tx, run_id, "paused")
        return
    told = [(shown["key"], shown["status"], shown["reason"]) for shown in doubtful]
    await runs.set_status(tx, run_id, "blocked", str(EffectsUnsettled(run_id, told)))


async def open_settlements(tx: Transaction, run_id: UUID) -> list[Review]:
    """Return the open reviews that ask what became of an effect."""
    asked = await reviews.newest_first(tx, run_id)
    return [each for each in asked if each.status == "open" and _settles(each.kind, each.shown)]


def _settles(kind: str, shown: Any) -> bool:
    return kind == "effect" and shown["act"] == SETTLE
