"""Recovery reports: what a worker found when it took up a run that was begun before, and why it went on as it did.

A report is a row from its first step on; its content is written once, when the recovery has ended.
"""

from datetime import datetime
from typing import Any, Literal, TypeAlias
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from ledger import audit
from ledger.db import Transaction
from ledger.sql import load

_SQL = load("recoveries")
_BEGIN, _END, _LIST, _AT_HAND = (
    _SQL["BeginRecovery"],
    _SQL["EndRecovery"],
    _SQL["ListRecoveries"],
    _SQL["AnswersAtHand"],
)

#: `paused`: something that the run needs is missing; `blocked`: what is stored cannot be trusted, or not be read.
Outcome: TypeAlias = Literal["resumed", "paused", "blocked"]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Rejected(_Frozen):
    """A checkpoint that is never resumed."""

    checkpoint_id: str
    checkpoint_ns: str
    reason: str


class Asked(_Frozen):
    """Something that was asked for anew: a credential, the model, a tool, the sources, the approvals."""

    name: str
    ok: bool
    detail: str


class AtHand(_Frozen):
    """What earlier workers left in the journal.

    `accepted` counts the answers that stand; `received` names operations whose answer came and was not made use of;
    `unanswered` those of which nobody knows how they ended, so that they are asked again.
    """

    accepted: int = 0
    received: tuple[str, ...] = ()
    unanswered: tuple[str, ...] = ()


class Reconciled(_Frozen):
    """A consequence that a worker left in the middle, and how it stood before and after it was looked into."""

    key: str
    before: str
    after: str


class Report(_Frozen):
    """What one recovery found. `reruns` names the steps whose stored results were damaged, so that they run again."""

    loaded_checkpoint: str | None = None
    boundary: str | None = None
    #: The version of the ledger that the checkpoint rests on, and that version's seal.
    anchor: tuple[int, str] | None = None
    rejected: tuple[Rejected, ...] = ()
    reruns: tuple[str, ...] = ()
    damage: tuple[str, ...] = ()
    at_hand: AtHand = AtHand()
    effects: tuple[Reconciled, ...] = ()
    retries: tuple[str, ...] = ()
    asked: tuple[Asked, ...] = ()
    next: tuple[str, ...] = ()
    why: str = ""
    #: Why a run of another workflow goes on as it is; and the versions that it was brought to. Left out where there are none:
    #: earlier versions of perdure read the reports that they can.
    compatible: str | None = None
    migrated: tuple[int, ...] = ()


class Recovery(_Frozen):
    """One recovery with its report, None when its worker died over it."""

    number: int
    worker: str
    fence: int
    outcome: Literal["begun", "resumed", "paused", "blocked"]
    began_at: datetime
    ended_at: datetime | None
    report: Report | None


async def begin(tx: Transaction, run_id: UUID) -> int:
    """Say that a recovery began and return its number."""
    row = await tx.one(_BEGIN, run_id=run_id, worker=tx.actor, fence=tx.fence or 0)
    number: int = row["number"]
    return number


async def end(tx: Transaction, run_id: UUID, number: int, outcome: Outcome, report: Report) -> None:
    """Store what a recovery found."""
    new = {"compatible", "migrated"}
    told = report.model_dump(
        mode="json", exclude={each for each in new if not getattr(report, each)}
    )
    packed = tx.pack(told)
    await tx.one(_END, run_id=run_id, number=number, outcome=outcome, **packed)
    await audit.append(
        tx,
        run_id,
        "run_recovered",
        {
            "recovery": number,
            "outcome": outcome,
            "loaded": report.loaded_checkpoint,
            "rejected": len(report.rejected),
        },
    )


async def at_hand(tx: Transaction, run_id: UUID) -> AtHand:
    """Return what the journal holds of the work so far."""
    row = await tx.one(_AT_HAND, run_id=run_id)
    return AtHand(
        accepted=row["accepted"],
        received=tuple(row["received"] or ()),
        unanswered=tuple(row["unanswered"] or ()),
    )


async def newest_first(tx: Transaction, run_id: UUID) -> list[Recovery]:
    """Return the recoveries of a run."""
    return [_recovery(tx, row) for row in await tx.many(_LIST, run_id=run_id)]


def _recovery(tx: Transaction, row: dict[str, Any]) -> Recovery:
    columns = {name: value for name, value in row.items() if name not in {"key_id", "body"}}
    report = None if row["body"] is None else Report.model_validate(tx.unpack(row))
    return Recovery(**columns, report=report)
