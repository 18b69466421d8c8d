"""A plan is accepted only if it can be worked to its end."""

import pytest

from ledger.tasks import Task
from nodes.material import TaskDraft
from nodes.options import TASKS_MAX, BadInput, RunOptions, checked_question
from nodes.plans import edited, renumbered, validated


def _task(task_id: str, question: str, status: str = "pending") -> Task:
    return Task.model_validate(
        {
            "task_id": task_id,
            "position": 0,
            "question": question,
            "depends_on": (),
            "worker": "branch",
            "status": status,
            "attempts": 0,
            "reason": None,
        }
    )


def test_a_plan_with_dependencies_in_any_order_is_accepted() -> None:
    plan = (TaskDraft("b", "B?", ("a",)), TaskDraft("a", "A?"))
    assert validated(plan) == plan


@pytest.mark.parametrize(
    ("drafts", "complaint"),
    [
        ((), "1 to"),
        (tuple(TaskDraft(f"t{n}", "?") for n in range(TASKS_MAX + 1)), "1 to"),
        ((TaskDraft("a", "A?"), TaskDraft("a", "B?")), "same id"),
        ((TaskDraft("a", "A?", ("z",)),), "depends on z"),
        ((TaskDraft("a", "A?", ("b",)), TaskDraft("b", "B?", ("a",))), "wait for each other"),
        ((TaskDraft("a", " "),), "empty"),
    ],
)
def test_a_plan_that_cannot_be_worked_is_refused(
    drafts: tuple[TaskDraft, ...], complaint: str
) -> None:
    with pytest.raises(BadInput, match=complaint):
        validated(drafts)


def test_a_changed_task_takes_a_new_id_and_its_dependants_follow() -> None:
    plan = edited(
        [
            {"id": "t1", "question": "New?"},
            {"id": "t2", "question": "After?", "depends_on": ["t1"]},
        ],
        [_task("t1", "Old?")],
    )
    assert plan == (TaskDraft("t1.edited", "New?"), TaskDraft("t2", "After?", ("t1.edited",)))


def test_an_unchanged_task_that_waits_for_a_changed_one_waits_for_the_new_one() -> None:
    """The recorded task would wait for what was set aside, and so for nothing."""
    after = _task("t2", "After?").model_copy(update={"depends_on": ("t1",)})
    plan = edited(
        [
            {"id": "t1", "question": "New?"},
            {"id": "t2", "question": "After?", "depends_on": ["t1"]},
        ],
        [_task("t1", "Old?"), after],
    )
    assert plan == (
        TaskDraft("t1.edited", "New?"),
        TaskDraft("t2.edited", "After?", ("t1.edited",)),
    )


def test_a_task_that_was_set_aside_and_is_wanted_again_is_another() -> None:
    """Under its old id it would stay set aside, and under a name that is taken it would be what has that name."""
    existing = [_task("t1", "Old?", "superseded"), _task("t1.edited", "New?", "complete")]
    assert edited([{"id": "t1", "question": "Old?"}], existing) == (
        TaskDraft("t1.edited2", "Old?"),
    )


def test_an_unchanged_task_keeps_its_id() -> None:
    assert edited([{"id": "t1", "question": "Old?"}], [_task("t1", "Old?")]) == (
        TaskDraft("t1", "Old?"),
    )


def test_a_later_plan_meets_no_task_of_an_earlier_one() -> None:
    drafts = (TaskDraft("t1", "A?"), TaskDraft("t2", "B?", ("t1",)))
    assert renumbered(drafts, 1) == drafts
    assert renumbered(drafts, 2) == (TaskDraft("p2-t1", "A?"), TaskDraft("p2-t2", "B?", ("p2-t1",)))


@pytest.mark.parametrize(
    "review", ["none", "auto", "plan", "sources,report", "plan, sources ,report"]
)
def test_known_review_policies_are_accepted(review: str) -> None:
    assert " " not in RunOptions(review=review).review


@pytest.mark.parametrize("review", ["", "no", "none,plan", "auto,none", "Plan", "plan,,report"])
def test_an_unknown_review_policy_is_refused(review: str) -> None:
    with pytest.raises(ValueError, match="is none of"):
        RunOptions(review=review)


def test_the_policy_auto_asks_where_something_needs_a_person_and_a_list_always() -> None:
    assert [
        RunOptions(review="auto").asks("sources", needed=needed) for needed in (False, True)
    ] == [False, True]
    assert [RunOptions(review="plan").asks("plan", needed=needed) for needed in (False, True)] == [
        True,
        True,
    ]
    assert not RunOptions(review="none").asks("report", needed=True)


def test_a_question_keeps_its_text_and_loses_the_space_around_it() -> None:
    assert checked_question("  Was ist ein \u200fשלום\u200f?\n") == "Was ist ein \u200fשלום\u200f?"
