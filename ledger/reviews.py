"""Reviews: what a person was asked, and what they decided about exactly that.

The question is a row before the graph stops; the decision is a row before the graph is woken. A decision carries the
digest of what was shown; when what was shown has changed since, it is refused as stale.
"""

from datetime import datetime
from typing import Any, Literal, TypeAlias
from uuid import UUID

from psycopg.rows import DictRow
from pydantic import BaseModel, ConfigDict

from ledger import audit
from ledger.canonical import Json, canonical, digest
from ledger.db import Transaction, readable
from ledger.errors import NotFound, ReviewClosed
from ledger.ids import derived_id
from ledger.sql import load

_SQL = load("reviews")
_ASK, _GET, _LIST, _FIND = (
    _SQL["AskReview"],
    _SQL["GetReview"],
    _SQL["ListReviews"],
    _SQL["FindReviews"],
)
_DECIDE, _STALE = _SQL["DecideReview"], _SQL["StaleReviews"]

Kind: TypeAlias = Literal["plan", "sources", "report"]
Choice: TypeAlias = Literal["approve", "edit", "reject", "respond"]


class Decision(BaseModel):
    """What a person decided: `edit` is the edited subject, `response` what they answered instead."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    choice: Choice
    decided_by: str
    comment: str | None = None
    edit: Any = None
    response: str | None = None


class Review(BaseModel):
    """One review; `shown` is what the person sees and `shown_digest` its digest."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    review_id: str
    run_id: UUID
    kind: Kind
    status: Literal["open", "decided", "stale"]
    shown_digest: str
    shown: Any
    asked_at: datetime
    decided_at: datetime | None
    decision: Decision | None


async def ask(
    tx: Transaction, run_id: UUID, kind: Kind, shown: Json, decided_before: int = 0
) -> str:
    """Record the question unless it stands already, and return its id.

    `decided_before` tells a question from the same one that was asked, and answered, before: an answer counts once.
    Open reviews of the same kind that showed something else become stale.
    """
    shown_digest = digest(canonical(shown))
    name = review_id(run_id, kind, shown_digest, decided_before)
    await tx.run(_STALE, run_id=run_id, kind=kind, review_id=name)
    await tx.run(
        _ASK,
        run_id=run_id,
        review_id=name,
        kind=kind,
        shown_digest=shown_digest,
        **tx.pack(shown),
    )
    return name


def review_id(run_id: UUID, kind: Kind, shown_digest: str, decided_before: int) -> str:
    """Return the id of a question: the same run asking the same again is asking once."""
    return derived_id("rev", str(run_id), kind, shown_digest, str(decided_before))


async def get(tx: Transaction, run_id: UUID, review_id: str) -> Review:
    """Return one review of a run."""
    row = await tx.maybe(_GET, run_id=run_id, review_id=review_id)
    if row is None:
        raise NotFound(
            f"run {run_id} has no review {review_id}; `perdure reviews {run_id}` lists its reviews"
        )
    return from_row(tx, row)


async def find(tx: Transaction, prefix: str) -> Review:
    """Return the one review whose id begins so; raises NotFound if there is none or more than one."""
    rows = await tx.many(_FIND, prefix=prefix) if prefix.strip() else []
    if len(rows) != 1:
        found = "no review begins" if not rows else "more than one review begins"
        raise NotFound(f"{found} with {prefix!r}; `perdure reviews` lists them")
    return from_row(tx, rows[0])


async def newest_first(tx: Transaction, run_id: UUID | None = None) -> list[Review]:
    """Return the reviews of a run, or of all runs."""
    return [from_row(tx, row) for row in await tx.many(_LIST, run_id=run_id)]


async def decide(tx: Transaction, review: Review, decision: Decision) -> None:
    """Record a decision about what `review` showed; raises ReviewClosed if it is decided or stale."""
    packed = tx.pack(decision.model_dump(mode="json", exclude={"choice"}))
    row = await tx.maybe(
        _DECIDE,
        run_id=review.run_id,
        review_id=review.review_id,
        shown_digest=review.shown_digest,
        decision=decision.choice,
        decision_key_id=packed["key_id"],
        decision_body=packed["body"],
    )
    if row is None:
        raise ReviewClosed(await _why_closed(tx, review))
    detail: dict[str, Json] = {
        "review": review.review_id,
        "choice": decision.choice,
        "shown": review.shown_digest,
    }
    await audit.append(tx, review.run_id, "review_decided", detail)


async def _why_closed(tx: Transaction, review: Review) -> str:
    now = await get(tx, review.run_id, review.review_id)
    if now.decision is not None:
        return (
            f"review {now.review_id} was decided already ({now.decision.choice} by {now.decision.decided_by});"
            f" `perdure resume {now.run_id}` goes on with that decision"
        )
    return (
        f"review {now.review_id} is stale: what it showed has changed since, or its run was cancelled;"
        f" `perdure reviews {now.run_id}` lists what is open"
    )


def from_row(tx: Transaction, row: DictRow) -> Review:
    """Return the review of a row; raises LedgerDamaged for one that nobody here could have written."""
    with readable(row["run_id"], f"row reviews {row['review_id']}"):
        return _read(tx, row)


def _read(tx: Transaction, row: DictRow) -> Review:
    decision = None
    if row["decision"] is not None:
        body = tx.unpack({"key_id": row["decision_key_id"], "body": row["decision_body"]})
        decision = Decision(choice=row["decision"], **body)
    columns = {
        name: row[name]
        for name in (
            "review_id",
            "run_id",
            "kind",
            "status",
            "shown_digest",
            "asked_at",
            "decided_at",
        )
    }
    return Review(**columns, shown=tx.unpack(row), decision=decision)
