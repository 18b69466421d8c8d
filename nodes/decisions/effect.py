"""The review of a consequence: it is released, or the run is stopped before it."""

from collections.abc import Sequence
from typing import Any

from ledger.questions import Review
from ledger.tasks import Task
from nodes.decisions.base import Applying, Form, ReviewKind, Way, stop
from nodes.options import BadInput
from nodes.report import escaped


def _form(_shown: Any) -> Form:
    return {}


def _described(shown: Any) -> str:
    lines = [f"- {escaped(str(name))}: {escaped(str(value))}" for name, value in shown.items()]
    return "\n".join(["## A consequence", "", *lines])


def _check(_review: Review, _edit: Any, _planned: Sequence[Task]) -> None:
    raise BadInput("a consequence is approved or rejected as it is")


async def _apply(applying: Applying) -> Way:
    return await stop(applying) if applying.decision.choice == "reject" else Way.ON


EFFECT = ReviewKind(
    allows=frozenset({"approve", "reject"}),
    form=_form,
    described=_described,
    check=_check,
    apply=_apply,
)
