"""The review of a plan: approved, edited, or sent back with an instruction by which it is planned anew."""

from collections.abc import Sequence
from typing import Any

from ledger import tasks
from ledger.questions import Review
from ledger.tasks import Task
from nodes.decisions.base import Applying, Form, ReviewKind, Way, part_of, stop
from nodes.plans import WORKER, edited
from nodes.report import escaped


def _form(shown: Any) -> Form:
    return {"tasks": shown["tasks"]}


def _described(shown: Any) -> str:
    lines = [
        f"- `{task['id']}`: {escaped(task['question'])}"
        + (f" (after {', '.join(task['depends_on'])})" if task["depends_on"] else "")
        for task in shown["tasks"]
    ]
    return "\n".join(["## The plan", "", *lines])


def _check(_review: Review, edit: Any, planned: Sequence[Task]) -> None:
    edited(part_of(edit, "tasks"), planned)


async def _apply(applying: Applying) -> Way:
    tx, run_id, decision = applying.tx, applying.run_id, applying.decision
    match decision.choice:
        case "respond":
            return Way.PLAN
        case "reject" if instruction_of(decision.response, decision.comment) is None:
            return await stop(applying)
        case "reject":
            if applying.is_new:
                # The plan that was not wanted stays readable.
                await tasks.supersede(tx, run_id, [])
            return Way.PLAN
        case "edit" if applying.is_new:
            plan = edited(part_of(decision.edit, "tasks"), await tasks.everything(tx, run_id))
            await tasks.supersede(tx, run_id, [draft.task_id for draft in plan])
            rows = [(draft.task_id, draft.question, draft.depends_on) for draft in plan]
            await tasks.add(tx, run_id, rows, WORKER)
        case _:
            pass
    return Way.ON


def instruction_of(response: str | None, comment: str | None) -> str | None:
    """Return the words that a rejected plan is planned anew by, None where there are none."""
    return next((text for text in (response, comment) if text and text.strip()), None)


PLAN = ReviewKind(
    allows=frozenset({"approve", "edit", "reject", "respond"}),
    form=_form,
    described=_described,
    check=_check,
    apply=_apply,
)
