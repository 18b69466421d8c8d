"""What the ledger should say of reviews, kept in memory: as small as the rules are, and without a line of theirs."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias

from ledger.canonical import Json, canonical
from ledger.errors import AlreadyVoted, LedgerError, ReviewDecided, ReviewLate, ReviewStale
from ledger.questions import DEADLINE, AtDeadline, Choice, Decision, Kind

Refusal: TypeAlias = type[LedgerError]

#: People, each by several spellings that a reader takes for one name.
PEOPLE: dict[str, tuple[str, ...]] = {
    "ada": ("Ada", " ada ", "ADA", "A\u200bda", "\uff21da", "\u00a0Ada"),
    "ines": ("Inés", "Ine\u0301s", "INÉS", "inés\u2060"),
    "bob": ("bob", "BOB", "b\u00adob"),
    "bob b": ("bob b", "Bob  B", "BOB\tB"),
}
PERSON_OF = {spelled: person for person, ways in PEOPLE.items() for spelled in ways}
EDITS: tuple[Json, ...] = (
    {"omit": ["t1"]},
    {"omit": ["t2"]},
    {"b": 1, "a": None},
    {"a": None, "b": 1},
)


@dataclass(frozen=True)
class Said:
    """One answer of one person."""

    spelled: str
    choice: Choice
    edit: Json = None
    comment: str | None = None

    @property
    def person(self) -> str:
        return PERSON_OF[self.spelled]

    @property
    def decision(self) -> Decision:
        response = "look again" if self.choice == "respond" else None
        return Decision(
            choice=self.choice,
            decided_by=self.spelled,
            comment=self.comment,
            edit=self.edit if self.choice == "edit" else None,
            response=response,
        )

    def agrees(self, other: "Said") -> bool:
        one, two = self.decision, other.decision
        return one.choice == two.choice and canonical(one.edit) == canonical(two.edit)


@dataclass
class Expected:
    """One review as it should stand."""

    kind: Kind
    persons: int
    at_deadline: AtDeadline | None
    status: Literal["open", "decided", "stale"] = "open"
    overdue: bool = False
    votes: list[Said] = field(default_factory=list[Said])
    decision: Decision | None = None
    #: When it was decided and applied, as first read: neither ever changes.
    decided_at: datetime | None = None
    applied_at: datetime | None = None
    applied: bool = False

    @property
    def is_late(self) -> bool:
        return self.overdue and self.at_deadline in {"reject", "go-on"}

    def say(self, said: Said) -> Refusal | None:
        """Take an answer, or return why it is refused."""
        if self.status == "decided":
            return ReviewDecided
        if self.status == "stale":
            return ReviewStale
        if self.is_late:
            return ReviewLate
        if self.persons > 1 and said.choice in {"approve", "edit"}:
            if said.person in {vote.person for vote in self.votes}:
                return AlreadyVoted
            agreed = {vote.person for vote in self.votes if vote.agrees(said)} | {said.person}
            if len(agreed) < self.persons:
                self.votes.append(said)
                return None
        self.decide(said.decision)
        return None

    def pass_deadline(self) -> None:
        if self.status == "open" and self.is_late:
            choice: Choice = "reject" if self.at_deadline == "reject" else "approve"
            self.decide(Decision(choice=choice, decided_by=DEADLINE))

    def decide(self, decision: Decision) -> None:
        self.status, self.decision = "decided", decision

    def ask_again(self, persons: int, at_deadline: AtDeadline | None) -> None:
        """Open it again where it was stale; what people said of it stays said."""
        if self.status == "stale":
            self.status, self.overdue = "open", False
            self.persons, self.at_deadline = persons, at_deadline

    @property
    def agreed(self) -> set[str]:
        """Who said what was decided."""
        assert self.decision is not None
        last = Said(self.decision.decided_by, self.decision.choice, self.decision.edit)
        return {vote.person for vote in self.votes if vote.agrees(last)} | {last.person}
