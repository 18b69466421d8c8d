"""What a review is made of: the question, the rules by which it is decided, the decision."""

from datetime import datetime
from typing import Any, Literal, TypeAlias
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from ledger.votes import Vote

Kind: TypeAlias = Literal["plan", "sources", "conflict", "sensitive", "report", "effect"]
Choice: TypeAlias = Literal["approve", "edit", "reject", "respond"]
#: What happens when the deadline of a review passes: it stays open, it is rejected, or the run goes on unreviewed.
AtDeadline: TypeAlias = Literal["stay", "reject", "go-on"]

#: Who decides when a deadline has passed; no person has this name.
DEADLINE = "deadline"


class Decision(BaseModel):
    """What a person decided: `edit` is the edited subject, `response` what they answered instead."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    choice: Choice
    decided_by: str
    comment: str | None = None
    edit: Any = None
    response: str | None = None


class Rules(BaseModel):
    """Who decides a review, and until when: `due_seconds` from now, None for ever."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    persons: int = 1
    due_seconds: float | None = None
    at_deadline: AtDeadline = "stay"


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
    #: How many different people have to say the same.
    persons: int = 1
    #: What was said before as many had said the same.
    votes: tuple[Vote, ...] = ()
    due_at: datetime | None = None
    at_deadline: AtDeadline | None = None
    overdue: bool = False
    #: When the run did what was decided.
    applied_at: datetime | None = None

    @property
    def is_late(self) -> bool:
        """Whether the deadline has taken the decision from people."""
        return self.overdue and self.at_deadline != "stay"

    @property
    def missing(self) -> str | None:
        """Say who is missing for a decision of an open review, None where one person is enough."""
        if self.status != "open" or self.persons == 1:
            return None
        said = ", ".join(f"{vote.choice} by {vote.decided_by}" for vote in self.votes) or "nobody"
        return (
            f"{self.persons} different people have to say the same; so far: {said};"
            " a rejection by anyone decides at once"
        )
