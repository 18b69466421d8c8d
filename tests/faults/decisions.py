"""What became of what people decided: each decision is recorded once, under a name, and done once."""

from collections import Counter
from collections.abc import Iterator, Sequence

from ledger.audit import Entry
from ledger.questions import Review
from nodes.decisions.effect import SETTLE


def asked_without_harm(reviews: Sequence[Review]) -> int:
    """Return how many reviews there are but for those that ask what became of an effect: harm is what makes these."""
    return sum(not _settles(review) for review in reviews)


def told_decisions(reviews: Sequence[Review], entries: Sequence[Entry]) -> int:
    """Return how many decisions of such reviews are told."""
    settling = {review.review_id for review in reviews if _settles(review)}
    return sum(
        entry.event == "review_decided" and entry.detail["review"] not in settling
        for entry in entries
    )


def problems_of(
    reviews: Sequence[Review], entries: Sequence[Entry], *, done: bool
) -> Iterator[str]:
    """Say what is wrong with the decisions of a run; `done` is whether it is completed, so that all were carried out."""
    told = Counter(entry.detail["review"] for entry in entries if entry.event == "review_decided")
    names = {
        entry.detail["review"]: entry.actor for entry in entries if entry.event == "review_decided"
    }
    for review in reviews:
        what, decision = f"review {review.review_id} ({review.kind})", review.decision
        if decision is None:
            if review.status == "decided" or told[review.review_id]:
                yield f"{what} is told to be decided and has no decision"
            elif done and review.status == "open":
                yield f"{what} is open and the run is completed"
            continue
        if done and review.applied_at is None:
            yield f"{what} was decided and not carried out"
        if told[review.review_id] != 1:
            yield f"{what} is told to be decided {told[review.review_id]} times"
        elif not decision.decided_by or names[review.review_id] != decision.decided_by:
            yield f"{what} was decided by {decision.decided_by!r}, and {names[review.review_id]!r} is told"
        people = {vote.decided_by for vote in review.votes} | {decision.decided_by}
        if review.persons > 1 and decision.choice != "reject" and len(people) < review.persons:
            yield f"{what} was decided by {len(people)} people instead of {review.persons}"


def _settles(review: Review) -> bool:
    return review.kind == "effect" and review.shown["act"] == SETTLE
