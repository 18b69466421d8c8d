"""Votes: what each of several people said of one review, until two of them have said the same.

Only ever added to. Names are compared by what a reader sees of them: without regard to case, space, characters that show
nothing, and the several ways in which Unicode writes one character.
"""

import unicodedata
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from ledger.canonical import Json, canonical
from ledger.db import Transaction
from ledger.sql import load

# Control and format characters, of which the spaces among the first are kept: they part words.
_UNSEEN = frozenset({"Cf", "Cc"})

_SQL = load("votes")
_RECORD, _OF = _SQL["RecordVote"], _SQL["VotesOfReviews"]


class Vote(BaseModel):
    """What one person said: `edit` is the edited subject of an edit."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    number: int
    choice: Literal["approve", "edit"]
    decided_by: str
    comment: str | None
    edit: Any = None
    voted_at: datetime


async def record(
    tx: Transaction, run_id: UUID, review_id: str, choice: str, body: dict[str, Json]
) -> None:
    """Add a vote; `body` has decided_by, comment and edit."""
    await tx.one(_RECORD, run_id=run_id, review_id=review_id, choice=choice, **tx.pack(body))


async def of_reviews(
    tx: Transaction, review_ids: Sequence[str], run_id: UUID | None = None
) -> dict[str, tuple[Vote, ...]]:
    """Return the votes of these reviews, of one run or of all, oldest first; a review without votes is left out."""
    found: dict[str, tuple[Vote, ...]] = {}
    rows = await tx.many(_OF, run_id=run_id, review_ids=list(review_ids)) if review_ids else []
    for row in rows:
        columns = {name: row[name] for name in ("number", "choice", "voted_at")}
        vote = Vote(**columns, **tx.unpack(row))
        found[row["review_id"]] = (*found.get(row["review_id"], ()), vote)
    return found


def same_person(one: str, other: str) -> bool:
    """Tell whether two names are one person's."""
    return known_as(one) == known_as(other)


def known_as(name: str) -> str:
    """Return what a name is compared by; empty for one of which nothing is seen."""
    spelled = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    seen = "".join(
        each for each in spelled if each.isspace() or unicodedata.category(each) not in _UNSEEN
    )
    return " ".join(seen.split())


def same_content(vote: Vote, choice: str, edit: Json) -> bool:
    """Tell whether a vote says the same as a choice with its edit."""
    return vote.choice == choice and canonical(vote.edit) == canonical(edit)
