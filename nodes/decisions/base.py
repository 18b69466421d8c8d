"""What is common to the decisions about all kinds of reviews: what one is applied to, and where the run goes from it."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, TypeAlias, cast
from uuid import UUID

from ledger import runs
from ledger.db import Transaction
from ledger.questions import Choice, Decision, Review
from ledger.tasks import Task
from nodes.options import BadInput


class Way(IntEnum):
    """Where a decision sends the run; of several decisions the one furthest back wins."""

    ON = 0
    COMPACT = 1
    REVISE = 2
    DISPATCH = 3
    PLAN = 4
    END = 5


@dataclass(frozen=True, slots=True)
class Applying:
    """A decision that is being done, in one transaction with those about the other reviews of its gate.

    `is_new` is False when a worker did it that died before its checkpoint: then nothing is changed again, and the way is
    the same.
    """

    tx: Transaction
    run_id: UUID
    review: Review
    decision: Decision
    is_new: bool
    #: The checkpoint that this step began from.
    checkpoint_id: str
    #: The report, where there is one.
    report: str | None


Form: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ReviewKind:
    """One kind of review.

    `form` makes what an edit changes of what is shown, `described` the Markdown that a person reads, `check` raises
    BadInput for an edit that cannot be done, before it is recorded; `apply` does a decision that is no rejection.
    """

    allows: frozenset[Choice]
    form: Callable[[Any], Form]
    described: Callable[[Any], str]
    check: Callable[[Review, Any, Sequence[Task]], None]
    apply: Callable[[Applying], Awaitable[Way]]


async def stop(applying: Applying) -> Way:
    """Cancel the run: what a rejection does unless its kind says otherwise."""
    if applying.is_new:
        await runs.cancel(applying.tx, applying.run_id)
    return Way.END


def part_of(edit: Any, name: str) -> Any:
    """Return the named part of an edit, or the edit itself where it is that part alone."""
    return cast("dict[str, Any]", edit).get(name, edit) if isinstance(edit, dict) else edit


def names_in(edit: Any, part: str, shown: Sequence[str], review: Review) -> list[str]:
    """Read the ids that an edit names; raises BadInput unless each is one that the review shows."""
    names = part_of(edit, part)
    if not isinstance(names, list) or any(
        not isinstance(name, str) for name in cast("list[object]", names)
    ):
        raise BadInput(f'an edit here is {{"{part}": [ID, …]}} with ids that the review shows')
    unknown = [name for name in cast("list[str]", names) if name not in shown]
    if unknown:
        raise BadInput(
            f"an edit names what this review shows, and {', '.join(unknown)[:200]!r} is none of it;"
            f" `perdure review {review.review_id}` shows their ids"
        )
    return cast("list[str]", names)


def omitted(edit: Any, shown: Sequence[str], review: Review) -> list[str]:
    """Read the ids that an edit leaves out; raises BadInput also where none is named."""
    names = names_in(edit, "omit", shown, review)
    if not names:
        raise BadInput(
            "an edit names what to leave out, and none is named;"
            f" `perdure review {review.review_id}` shows their ids"
        )
    return names
