"""What may be done to the reviews of one run, each in a transaction of its own, as the product does it."""

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

from graph.runtime import Runtime
from ledger import audit, integrity, reviews, runs
from ledger.canonical import Json
from ledger.db import Ledger
from ledger.errors import LedgerError
from ledger.questions import Kind, Review, Rules
from tests.properties.reviewed import Expected, Refusal, Said
from tests.support.carrying import Died

T = TypeVar("T")

_LOCK = "SELECT FROM ledger.heads WHERE run_id = %(run_id)s FOR UPDATE"
_OVERDUE = (
    "UPDATE ledger.reviews SET due_at = clock_timestamp() - interval '1 second'"
    " WHERE run_id = %(run_id)s AND review_id = %(review_id)s"
)


@dataclass
class Stage:
    """What all lives are played on: one database, its connections, and the loop that they belong to."""

    runner: asyncio.Runner
    runtime: Runtime

    @property
    def ledger(self) -> Ledger:
        return self.runtime.ledger

    def run(self, step: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(step)


@dataclass(frozen=True)
class Room:
    """The reviews of one run."""

    ledger: Ledger
    run_id: UUID

    async def ask(
        self, kind: Kind, shown: Json, decided_before: int, rules: Rules, beside: Sequence[str]
    ) -> Review:
        async with self.ledger.transaction() as tx:
            name = await reviews.ask(
                tx, self.run_id, kind, shown, decided_before, rules=rules, beside=beside
            )
            return await reviews.get(tx, self.run_id, name)

    async def tell(self, review: Review, said: Said, *, dies: bool = False) -> Refusal | None:
        """Answer a review as it was shown, and return how that was refused."""
        try:
            async with self.ledger.transaction(actor=said.spelled) as tx:
                await reviews.decide(tx, review, said.decision)
                if dies:
                    raise Died
        except LedgerError as error:
            return type(error)
        return None

    async def make_overdue(self, name: str) -> None:
        """Let the deadline of a review pass, as if that time had; sealed, as everything is."""
        async with self.ledger.transaction() as tx:
            row = {"run_id": self.run_id, "review_id": name}
            await tx.connection.execute(_LOCK, row)
            await tx.connection.execute(_OVERDUE, row)
            tx.written.add(self.run_id)

    async def by_clock(self) -> list[Review]:
        async with self.ledger.transaction() as tx:
            return await reviews.pass_deadlines(tx, self.run_id)

    async def close(self) -> None:
        async with self.ledger.transaction() as tx:
            await runs.close_reviews(tx, self.run_id)

    async def apply(self, name: str, *, dies: bool = False) -> bool:
        async with self.ledger.transaction() as tx:
            is_new = await reviews.apply(tx, self.run_id, name)
            if dies:
                raise Died
            return is_new

    async def now(self) -> dict[str, Review]:
        async with self.ledger.transaction() as tx:
            found = await reviews.newest_first(tx, self.run_id)
        return {review.review_id: review for review in found}

    async def audit_log(self) -> list[audit.Entry]:
        """Return the run's log; nobody but the ledger has written to the run."""
        async with self.ledger.transaction() as tx:
            assert await integrity.foreign_changes(tx, self.run_id) == []
            return await audit.entries(tx, self.run_id)

    async def damage(self) -> list[integrity.Damage]:
        async with self.ledger.transaction(one_moment=True) as tx:
            return await integrity.damage(tx, self.run_id)


async def together(steps: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """Take several steps at the same moment, each on a connection of its own."""
    return await asyncio.gather(*steps)


def stands(review: Review, known: Expected) -> bool:
    """Tell whether a review is what the model says, to the letter of what people said."""
    said = [(vote.choice, vote.decided_by, vote.comment, vote.edit) for vote in review.votes]
    expected = [
        (it.choice, it.decided_by, it.comment, it.edit)
        for it in (vote.decision for vote in known.votes)
    ]
    return (
        (review.status, review.decision) == (known.status, known.decision)
        # A review of one person shows no votes, whatever was said when it was one of two.
        and said == (expected if known.persons > 1 else [])
        and review.persons == known.persons
        and (review.applied_at is not None) == known.applied
        and (known.decided_at or review.decided_at) == review.decided_at
        and (known.applied_at or review.applied_at) == review.applied_at
    )
