"""One moment of a history: the rows that a step found, and what the outside world and people had answered by its end."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from ledger.canonical import canonical
from ledger.errors import LedgerError
from ledger.recordings import Name, Row

#: What a step did otherwise than the recorded one.
Kind: TypeAlias = Literal["next", "request", "state", "review", "effect", "unreadable", "broken"]

# Written by whoever answers, not by the step that asks.
_ANSWERS = frozenset({"operations", "attempts", "sources"})
_BY_PEOPLE = frozenset({"reviews", "review_votes"})


class Diverged(LedgerError):
    """A step does what the recorded one did not do; `kind` says in what."""

    def __init__(self, kind: Kind, text: str) -> None:
        super().__init__(text)
        self.kind: Kind = kind


@dataclass(frozen=True, slots=True)
class Moment:
    """The rows before a step and after it; of the last step of a history that waits, the same twice."""

    before: Mapping[Name, Row]
    after: Mapping[Name, Row]

    def found(self) -> dict[Name, Row]:
        """Return the rows that the step finds: those before it, with what came in from outside and from people meanwhile."""
        rows = dict(self.before)
        for name, row in self.after.items():
            if name[0] in _ANSWERS and name not in rows:
                rows[name] = row
            elif name[0] in _BY_PEOPLE and self._is_decided(name, row):
                rows[name] = {**row, "applied_at": None} if name[0] == "reviews" else row
        return rows

    def _is_decided(self, name: Name, row: Row) -> bool:
        if name[0] == "review_votes":
            return True
        earlier = self.before.get(name)
        return earlier is not None and earlier["status"] == "open" and row["status"] == "decided"

    @property
    def run(self) -> Row:
        """The run's row, as the end of the step left it."""
        return next(self.of("runs"))

    def of(self, table: str) -> Iterator[Row]:
        """Yield the rows of a table after the step."""
        return (row for (name, _), row in self.after.items() if name == table)

    def failure(self, kind: str, body: Mapping[str, Any]) -> str:
        """Return why a call failed for good that the history has without an answer; raises Diverged for one never made."""
        wanted = canonical(dict(body))
        for operation in self.of("operations"):
            if operation["kind"] == kind and canonical(operation["body"]) == wanted:
                reasons = [
                    attempt["reason"]
                    for attempt in self.of("attempts")
                    if attempt["operation_id"] == operation["operation_id"] and attempt["reason"]
                ]
                if reasons:
                    return str(reasons[-1])
        raise Diverged(
            "request", f"it asks for what was never asked: {kind} {wanted.decode()[:400]}"
        )

    def effect(self, key: str) -> Row | None:
        """Return an effect as the end of the step left it."""
        return self.after.get(("effects", key))

    def has_review(self, review_id: str) -> bool:
        """Whether a person was ever asked this."""
        return ("reviews", review_id) in self.after
