"""Questions are split into tasks that can be looked up apart."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodes.researchers.facets import plan_tasks


def asked(question: str, tasks_max: int = 6) -> list[str]:
    return [task.question for task in plan_tasks(question, tasks_max)]


def test_a_plain_question_is_one_task() -> None:
    assert asked("How big should shared_buffers be?") == ["How big should shared_buffers be?"]


def test_facets_become_independent_tasks() -> None:
    tasks = plan_tasks("What is TOAST, how does VACUUM work and when is ANALYZE used?", 6)
    assert [(task.task_id, task.question, task.depends_on) for task in tasks] == [
        ("t1", "What is TOAST?", ()),
        ("t2", "how does VACUUM work?", ()),
        ("t3", "when is ANALYZE used?", ()),
    ]


def test_a_facet_that_points_back_carries_the_subject() -> None:
    assert asked("What is max_wal_size, and how is it changed?") == [
        "What is max_wal_size?",
        "how is it changed (max_wal_size)?",
    ]


@pytest.mark.parametrize(
    ("question", "sides"),
    [
        ("How does jsonb differ from json?", ["What is jsonb?", "What is json?"]),
        (
            "What is the difference between deep and shallow copying?",
            ["What is deep copying?", "What is shallow copying?"],
        ),
        ("compare GIN with GiST", ["What is GIN?", "What is GiST?"]),
        ("GIN vs GiST", ["What is GIN?", "What is GiST?"]),
    ],
)
def test_a_comparison_asks_for_both_sides_first(question: str, sides: list[str]) -> None:
    tasks = plan_tasks(question, 6)
    assert [task.question for task in tasks] == [*sides, question]
    assert tasks[2].depends_on == ("t1", "t2")


def test_a_scene_stays_with_the_question_that_it_sets() -> None:
    assert asked("I edited pg_hba.conf, how do I make the server read it?") == [
        "I edited pg_hba.conf, how do I make the server read it"
    ]


def test_more_facets_than_tasks_stay_one_question() -> None:
    question = "What is A1, what is B2 and what is C3?"
    assert asked(question, 2) == [question]
    assert len(asked("How does A1 differ from B2?", 2)) == 1


@given(st.text(max_size=300), st.integers(1, 6))
def test_anything_at_all_gives_between_one_and_the_most_tasks(
    question: str, tasks_max: int
) -> None:
    tasks = plan_tasks(question, tasks_max)
    assert 1 <= len(tasks) <= tasks_max
    assert [task.task_id for task in tasks] == [f"t{n}" for n in range(1, len(tasks) + 1)]


@pytest.mark.parametrize(
    "question", ["ما هي قاعدة البيانات؟", "什么是数据库？", "Was ist\n\nein Index?", "x " * 50_000]
)
def test_odd_questions_are_planned(question: str) -> None:
    assert asked(question)
