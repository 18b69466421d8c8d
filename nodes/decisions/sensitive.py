"""The review of sensitive material before it is published: released, or left out. It shows names and places only."""

from collections.abc import Sequence
from typing import Any

from ledger.questions import Review
from ledger.tasks import Task
from nodes.decisions.base import Applying, Form, ReviewKind, Way, omitted, stop
from nodes.decisions.withdrawing import withdraw
from nodes.report import escaped


def _ids(shown: Any) -> list[str]:
    return list(dict.fromkeys(each["id"] for each in shown["sensitive"]))


def _form(_shown: Any) -> Form:
    return {"omit": []}


def _described(shown: Any) -> str:
    lines = [
        f"- `{each['id']}`: {escaped(each['name'])}, in {escaped(each['place'])}"
        for each in shown["sensitive"]
    ]
    return "\n".join(["## Sensitive material before it is published", "", *lines])


def _check(review: Review, edit: Any, _planned: Sequence[Task]) -> None:
    omitted(edit, _ids(review.shown), review)


async def _apply(applying: Applying) -> Way:
    if applying.decision.choice == "reject":
        return await stop(applying)
    if applying.decision.choice == "approve":
        return Way.ON
    if applying.is_new:
        names = omitted(applying.decision.edit, _ids(applying.review.shown), applying.review)
        await withdraw(applying, names)
    return Way.REVISE


SENSITIVE = ReviewKind(
    allows=frozenset({"approve", "edit", "reject"}),
    form=_form,
    described=_described,
    check=_check,
    apply=_apply,
)
