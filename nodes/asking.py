"""How a step asks for a review: the question is recorded, the run waits from then on, and state says for what."""

from collections.abc import Sequence
from uuid import UUID

from ledger import reviews, runs
from ledger.canonical import Json
from ledger.db import Transaction
from ledger.reviews import Kind

# The summary is for a glance, in Studio or a terminal; `perdure reviews RUN --json` shows everything.
SUMMARY_LINES_MAX = 12
SUMMARY_LINE_CHARACTERS_MAX = 120


async def ask(
    tx: Transaction,
    run_id: UUID,
    kind: Kind,
    shown: Json,
    lines: Sequence[str],
    decided_before: int,
) -> dict[str, str]:
    """Record the question and return the state that makes the review node wait for it.

    The run is paused in the same transaction, whoever works it: the command line, a notebook or LangGraph's server.
    """
    review_id = await reviews.ask(tx, run_id, kind, shown, decided_before)
    await runs.set_status(tx, run_id, "paused")
    return {"kind": kind, "review_id": review_id, "summary": _summary(lines)}


def _summary(lines: Sequence[str]) -> str:
    shown = [line[:SUMMARY_LINE_CHARACTERS_MAX] for line in lines[:SUMMARY_LINES_MAX]]
    if len(lines) > SUMMARY_LINES_MAX:
        shown.append(f"… and {len(lines) - SUMMARY_LINES_MAX} more")
    return "\n".join(shown)
