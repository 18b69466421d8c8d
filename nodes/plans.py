"""What makes a plan acceptable: ids unique, dependencies known, no circle, not too many tasks.

A plan is checked before it is accepted, whoever wrote it: a researcher, a model or a person who edited it.
"""

from collections.abc import Collection, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import chain, count
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from ledger.tasks import Task
from nodes.material import TaskDraft
from nodes.options import QUESTION_CHARACTERS_MAX, TASKS_MAX, BadInput, checked_question

#: The one kind of worker there is: a branch of the graph.
WORKER = "branch"

# A task id is shown in tables and typed on command lines.
TASK_ID_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,31}$"


class EditedTask(BaseModel):
    """One task as a person writes it when editing a plan."""

    model_config = ConfigDict(extra="forbid")

    id: str = Field(pattern=TASK_ID_PATTERN)
    question: str = Field(min_length=1, max_length=QUESTION_CHARACTERS_MAX)
    depends_on: list[str] = Field(default_factory=list[str])


_EDITED = TypeAdapter(list[EditedTask])


def validated(drafts: Sequence[TaskDraft], known: Sequence[str] = ()) -> tuple[TaskDraft, ...]:
    """Return the plan if it is acceptable; `known` are earlier tasks that it may depend on. Raises BadInput."""
    ids = [draft.task_id for draft in drafts]
    if not 1 <= len(ids) <= TASKS_MAX:
        raise BadInput(f"a plan has 1 to {TASKS_MAX} tasks, this one has {len(ids)}")
    if len(set(ids)) != len(ids):
        raise BadInput("two tasks of the plan have the same id")
    for draft in drafts:
        unknown = set(draft.depends_on) - set(ids) - set(known)
        if unknown:
            raise BadInput(
                f"task {draft.task_id} depends on {', '.join(sorted(unknown))}, which the plan does not have"
            )
        checked_question(draft.question)
    try:
        TopologicalSorter({draft.task_id: draft.depends_on for draft in drafts}).prepare()
    except CycleError as error:
        raise BadInput(
            f"tasks of the plan wait for each other: {' -> '.join(error.args[1])}"
        ) from error
    return tuple(drafts)


def edited(value: Any, existing: Sequence[Task]) -> tuple[TaskDraft, ...]:
    """Read a plan that a person edited: a list of {id, question, depends_on}. Raises BadInput with what is wrong.

    A task that keeps its id must keep its question; a changed task takes a new id, so that what was done under the
    old one stays readable.
    """
    try:
        tasks = _EDITED.validate_python(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        problem = f"{place}: {first['msg']}" if place else first["msg"]
        form = '{"tasks": [{"id": …, "question": …, "depends_on": […]}, …]}'
        raise BadInput(f"the edited plan cannot be used: {problem}; its form is {form}") from error
    before = {task.task_id: task for task in existing}
    changed = {task.id for task in tasks if task.id in before and not _is(before[task.id], task)}
    # A task that waits for a changed one is another task, too: the recorded one waits for what was set aside.
    while (
        waiting := {
            task.id for task in tasks if task.id in before and changed & set(task.depends_on)
        }
        - changed
    ):
        changed |= waiting
    renamed = {name: _unused(f"{name}.edited", before) for name in changed}
    return validated(
        [
            TaskDraft(
                renamed.get(task.id, task.id),
                task.question,
                tuple(renamed.get(name, name) for name in task.depends_on),
            )
            for task in tasks
        ],
        [task.task_id for task in existing if task.status == "complete"],
    )


def _is(before: Task, task: EditedTask) -> bool:
    """Tell whether a task stands in the plan as it is; one that was set aside stands in it no more."""
    return before.status != "superseded" and (before.question, before.depends_on) == (
        task.question,
        tuple(task.depends_on),
    )


def _unused(name: str, taken: Collection[str]) -> str:
    numbered = (f"{name}{number}" for number in count(2))
    return next(each for each in chain([name], numbered) if each not in taken)


def renumbered(drafts: Sequence[TaskDraft], wave: int) -> tuple[TaskDraft, ...]:
    """Name the tasks of a later plan so that they meet none of an earlier one: `t1` of plan 2 is `p2-t1`."""
    if wave == 1:
        return tuple(drafts)
    own = {draft.task_id for draft in drafts}
    return tuple(
        TaskDraft(
            f"p{wave}-{draft.task_id}",
            draft.question,
            tuple(f"p{wave}-{name}" if name in own else name for name in draft.depends_on),
        )
        for draft in drafts
    )
