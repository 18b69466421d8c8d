"""The review of findings that differ: both stand, or those that a person names; the others are withdrawn."""

from collections.abc import Sequence
from typing import Any

from ledger import retries
from ledger.questions import Review
from ledger.tasks import Task
from nodes.decisions.base import Applying, Form, ReviewKind, Way, names_in, stop
from nodes.decisions.sources import claim_lines
from nodes.decisions.withdrawing import look_again, way, withdraw
from nodes.report import escaped


def _ids(shown: Any) -> list[str]:
    return [each["id"] for each in shown["claims"]]


def _form(shown: Any) -> Form:
    return {"stand": _ids(shown)}


def _described(shown: Any) -> str:
    return "\n".join(
        ["## What differs", "", escaped(shown["reason"]), "", *claim_lines(shown["claims"])]
    )


def _check(review: Review, edit: Any, _planned: Sequence[Task]) -> None:
    names_in(edit, "stand", _ids(review.shown), review)


async def _apply(applying: Applying) -> Way:
    shown, decision = applying.review.shown, applying.decision
    if decision.choice == "reject":
        return await stop(applying)
    if decision.choice == "respond":
        return Way.PLAN
    if applying.is_new:
        if decision.choice == "edit":
            stand = names_in(decision.edit, "stand", _ids(shown), applying.review)
            gone = [name for name in _ids(shown) if name not in stand]
            await look_again(applying, await withdraw(applying, gone))
        if shown.get("task"):
            await retries.decided(applying.tx, applying.run_id, shown["task"])
    return await way(applying)


CONFLICT = ReviewKind(
    allows=frozenset({"approve", "edit", "reject", "respond"}),
    form=_form,
    described=_described,
    check=_check,
    apply=_apply,
)
