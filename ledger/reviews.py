"""Reviews: what a person was asked, and what they decided about exactly that.

The question is a row before the graph stops; the decision is a row before the graph is woken. A decision carries the
digest of what was shown; when what was shown has changed since, it is refused as stale. Where two people have to say the
same, the first is a vote and the review stays open. A deadline decides by the database's clock.
"""

from collections.abc import Sequence
from uuid import UUID

from psycopg.rows import DictRow

from ledger import audit, votes
from ledger.canonical import Json, canonical, digest
from ledger.db import Transaction, readable
from ledger.errors import (
    AlreadyVoted,
    NotFound,
    ReviewClosed,
    ReviewDecided,
    ReviewLate,
    ReviewStale,
)
from ledger.ids import derived_id
from ledger.questions import DEADLINE, Choice, Decision, Kind, Review, Rules
from ledger.sql import load

_SQL = load("reviews")
_ASK, _GET, _LIST, _FIND = (
    _SQL["AskReview"],
    _SQL["GetReview"],
    _SQL["ListReviews"],
    _SQL["FindReviews"],
)
_LOCK, _DECIDE, _APPLY, _STALE = (
    _SQL["LockReview"],
    _SQL["DecideReview"],
    _SQL["ApplyReview"],
    _SQL["StaleReviews"],
)
_REPLACE, _SECONDS_TO_DUE = _SQL["ReplaceReview"], _SQL["SecondsToDue"]


async def ask(
    tx: Transaction,
    run_id: UUID,
    kind: Kind,
    shown: Json,
    decided_before: int = 0,
    *,
    rules: Rules | None = None,
    beside: Sequence[str] = (),
) -> str:
    """Record the question unless it stands already, and return its id.

    `decided_before` tells a question from the same one that was asked, and answered, before: an answer counts once.
    Open reviews of the same kind become stale, but those that are asked beside it.
    """
    shown_digest = digest(canonical(shown))
    name = review_id(run_id, kind, shown_digest, decided_before)
    await tx.run(_STALE, run_id=run_id, kind=kind, kept=[name, *beside])
    given = rules or Rules()
    await tx.run(
        _ASK,
        run_id=run_id,
        review_id=name,
        kind=kind,
        shown_digest=shown_digest,
        persons=given.persons if given.persons > 1 else None,
        due_seconds=given.due_seconds,
        at_deadline=given.at_deadline,
        **tx.pack(shown),
    )
    return name


async def replace(tx: Transaction, run_id: UUID, review_id: str) -> None:
    """Let nobody decide a review any more in whose place another is asked; one that is decided stays as it is."""
    await tx.run(_REPLACE, run_id=run_id, review_id=review_id)


def review_id(run_id: UUID, kind: Kind, shown_digest: str, decided_before: int) -> str:
    """Return the id of a question: the same run asking the same again is asking once."""
    return derived_id("rev", str(run_id), kind, shown_digest, str(decided_before))


async def get(tx: Transaction, run_id: UUID, review_id: str) -> Review:
    """Return one review of a run; raises NotFound."""
    row = await tx.maybe(_GET, run_id=run_id, review_id=review_id)
    if row is None:
        raise NotFound(
            f"run {run_id} has no review {review_id[:80]}; `perdure reviews {run_id}` lists its reviews"
        )
    return (await _with_votes(tx, [row]))[0]


async def find(tx: Transaction, prefix: str) -> Review:
    """Return the one review whose id begins so; raises NotFound if there is none or more than one."""
    rows = await tx.many(_FIND, prefix=prefix) if prefix.strip() else []
    if len(rows) != 1:
        found = "no review begins" if not rows else "more than one review begins"
        raise NotFound(f"{found} with {prefix[:80]!r}; `perdure reviews` lists them")
    return (await _with_votes(tx, rows))[0]


async def newest_first(tx: Transaction, run_id: UUID | None = None) -> list[Review]:
    """Return the reviews of a run, or of all runs."""
    return await _with_votes(tx, await tx.many(_LIST, run_id=run_id))


async def decide(tx: Transaction, review: Review, decision: Decision) -> Review:
    """Record a decision about what `review` showed, or a vote, and return the review as it stands then.

    Raises ReviewDecided, ReviewStale, ReviewLate and AlreadyVoted.
    """
    await tx.maybe(_LOCK, run_id=review.run_id, review_id=review.review_id)
    now = await get(tx, review.run_id, review.review_id)
    is_shown = review.shown_digest == now.shown_digest
    if now.status == "open" and is_shown and not now.is_late and _is_vote(now, decision):
        await _vote(tx, now, decision)
    else:
        await _record(tx, review, decision, by_deadline=False)
    return await get(tx, review.run_id, review.review_id)


async def pass_deadlines(tx: Transaction, run_id: UUID) -> list[Review]:
    """Decide the open reviews of a run whose deadline has passed, and return them as they stand then."""
    decided: list[Review] = []
    for seen in await newest_first(tx, run_id):
        if not (seen.status == "open" and seen.is_late):
            continue
        # Another worker may be at it: whoever waited here looks again.
        await tx.maybe(_LOCK, run_id=run_id, review_id=seen.review_id)
        review = await get(tx, run_id, seen.review_id)
        if review.status != "open":
            continue
        choice: Choice = "reject" if review.at_deadline == "reject" else "approve"
        # Without a comment: of a rejected plan that would be an instruction.
        by_clock = Decision(choice=choice, decided_by=DEADLINE)
        await _record(tx, review, by_clock, by_deadline=True)
        decided.append(await get(tx, run_id, review.review_id))
    return decided


async def seconds_to_due(tx: Transaction) -> float | None:
    """Return how long it is until a deadline passes at which something happens, None where none is to come."""
    seconds: float | None = (await tx.one(_SECONDS_TO_DUE))["seconds"]
    return seconds


async def apply(tx: Transaction, run_id: UUID, review_id: str) -> bool:
    """Say that the run does now what was decided; False where it has done so before."""
    return await tx.maybe(_APPLY, run_id=run_id, review_id=review_id) is not None


def _is_vote(review: Review, decision: Decision) -> bool:
    """Tell whether a decision waits for somebody else who says the same; raises AlreadyVoted."""
    if review.persons == 1 or decision.choice not in {"approve", "edit"}:
        return False
    if any(votes.same_person(vote.decided_by, decision.decided_by) for vote in review.votes):
        raise AlreadyVoted(
            f"{decision.decided_by} has spoken about review {review.review_id} already; {review.missing}"
        )
    agreed = {
        votes.known_as(vote.decided_by)
        for vote in review.votes
        if votes.same_content(vote, decision.choice, decision.edit)
    }
    return len(agreed) + 1 < review.persons


async def _vote(tx: Transaction, review: Review, decision: Decision) -> None:
    body = decision.model_dump(mode="json", include={"decided_by", "comment", "edit"})
    await votes.record(tx, review.run_id, review.review_id, decision.choice, body)
    await audit.append(tx, review.run_id, "review_voted", _detail(review, decision))


async def _record(
    tx: Transaction, review: Review, decision: Decision, *, by_deadline: bool
) -> None:
    packed = tx.pack(decision.model_dump(mode="json", exclude={"choice"}))
    row = await tx.maybe(
        _DECIDE,
        run_id=review.run_id,
        review_id=review.review_id,
        shown_digest=review.shown_digest,
        decision=decision.choice,
        decision_key_id=packed["key_id"],
        decision_body=packed["body"],
        by_deadline=by_deadline,
    )
    if row is None:
        raise _closed(await get(tx, review.run_id, review.review_id))
    await audit.append(tx, review.run_id, "review_decided", _detail(review, decision))


def _detail(review: Review, decision: Decision) -> dict[str, Json]:
    return {
        "review": review.review_id,
        "choice": decision.choice,
        "shown": review.shown_digest,
    }


def _closed(now: Review) -> ReviewClosed:
    if now.decision is not None:
        return ReviewDecided(
            f"review {now.review_id} was decided already ({now.decision.choice} by {now.decision.decided_by});"
            f" `perdure resume {now.run_id}` goes on with that decision"
        )
    if now.status == "open" and now.is_late:
        return ReviewLate(
            f"the deadline of review {now.review_id} passed at {now.due_at} ({now.at_deadline});"
            f" `perdure resume {now.run_id}` goes on with that"
        )
    return ReviewStale(
        f"review {now.review_id} is stale: what it showed has changed since, or its run was cancelled;"
        f" `perdure reviews {now.run_id}` lists what is open"
    )


async def _with_votes(tx: Transaction, rows: Sequence[DictRow]) -> list[Review]:
    several = [row["review_id"] for row in rows if row["persons"]]
    said = await votes.of_reviews(tx, several)
    return [
        from_row(tx, row).model_copy(update={"votes": said.get(row["review_id"], ())})
        for row in rows
    ]


def from_row(tx: Transaction, row: DictRow) -> Review:
    """Return the review of a row; raises LedgerDamaged for one that nobody here could have written."""
    with readable(row["run_id"], f"row reviews {row['review_id']}"):
        return _read(tx, row)


_COLUMNS = ("review_id", "run_id", "kind", "status", "shown_digest", "asked_at", "decided_at")
_LATER_COLUMNS = ("due_at", "at_deadline", "applied_at")


def _read(tx: Transaction, row: DictRow) -> Review:
    decision = None
    if row["decision"] is not None:
        body = tx.unpack({"key_id": row["decision_key_id"], "body": row["decision_body"]})
        decision = Decision(choice=row["decision"], **body)
    return Review(
        **{name: row[name] for name in (*_COLUMNS, *_LATER_COLUMNS)},
        persons=row["persons"] or 1,
        overdue=bool(row.get("overdue")),
        shown=tx.unpack(row),
        decision=decision,
    )
