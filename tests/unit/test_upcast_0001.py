"""What a run of version 1 becomes in version 2, wherever it stood."""

from typing import Any

import pytest

from graph.errors import CannotMigrate
from graph.upcasts.base import Asked, Next, Sleeping
from graph.upcasts.v0001 import upcast

VALUES: dict[str, Any] = {
    "question": {"text": "Why?"},
    "step": {"name": "plan"},
    "tasks": {"pending": 1},
    "wave": 0,
    "finished": {},
}
SHOWN: dict[str, Any] = {
    "plan": {"tasks": [{"id": "t1", "question": "Why?", "depends_on": []}]},
    "sources": {"sources": [], "claims": [], "disagreements": []},
    "report": {"report": "# Why\n", "claims": [], "sources": [], "citations": []},
}
FORMS = {
    "plan": {"tasks": SHOWN["plan"]["tasks"]},
    "sources": {"omit": []},
    "report": {"text": "# Why\n"},
}
# By the node of a review in version 1: the step that asks now, and what follows where nothing was asked.
NODES = {
    "plan": ("plan", "dispatch"),
    "sources": ("dispatch", "compact"),
    "report": ("check", "intend"),
}


def asleep(node: str, reviews: tuple[Asked, ...] = (), **values: Any) -> Sleeping:
    """Return a run of version 1 before a step."""
    return Sleeping(values={**VALUES, **values}, next=(Next(node=node),), reviews=reviews)


def review(kind: Any, *, decided: bool = False) -> Asked:
    """Return a review of version 1."""
    return Asked(review_id=f"rev_{kind}", kind=kind, shown=SHOWN[kind], decided=decided)


@pytest.mark.parametrize("kind", NODES)
def test_a_review_that_is_asked_is_sent_to_its_node(kind: str) -> None:
    asked = {"kind": kind, "review_id": f"rev_{kind}", "summary": "so it is"}
    run = upcast(asleep(f"review_{kind}", (review(kind),), review=asked))
    sent = {**asked, "form": FORMS[kind]}
    assert run.next == (Next(node=f"review_{kind}", sent=sent),)
    assert (run.values["reviews"], run.values["gate"]) == ([sent], NODES[kind][0])
    assert "review" not in run.values


@pytest.mark.parametrize("kind", NODES)
@pytest.mark.parametrize("asked", [{}, {"kind": "other", "review_id": "rev_other"}])
def test_a_review_that_is_not_asked_is_passed(kind: str, asked: dict[str, str]) -> None:
    run = upcast(asleep(f"review_{kind}", review=asked))
    assert run.next == (Next(node=NODES[kind][1]),)
    assert run.values["reviews"] == []


def test_what_was_wrong_with_an_answer_is_still_told() -> None:
    asked = {"kind": "plan", "review_id": "rev_plan", "summary": "", "problem": "no words"}
    run = upcast(asleep("review_plan", (review("plan"),), review=asked))
    assert run.values["reviews"][0]["problem"] == "no words"


def test_the_report_is_recorded_before_it_is_published() -> None:
    assert upcast(asleep("publish")).next == (Next(node="intend"),)


def test_words_are_planned_by_the_review_at_which_they_were_said() -> None:
    said = (review("plan", decided=True), review("report", decided=True))
    run = upcast(asleep("plan", said, guidance=["one", "two"]))
    assert (run.values["guidance"], run.values["plans"]) == (["rev_report"], 2)
    later = upcast(asleep("dispatch", said, guidance=["one", "two"]))
    assert (later.values["guidance"], later.values["plans"]) == ([], 3)


def test_a_run_that_begins_begins() -> None:
    begins = Next(node="__start__", sent={"question": "Why?"})
    assert upcast(Sleeping(values={}, next=(begins,))) == Sleeping(values={}, next=(begins,))


def test_branches_go_on_with_their_tasks() -> None:
    out = tuple(Next(node="branch", sent={"task_id": each}) for each in ("t1", "t2"))
    run = Sleeping(values={**VALUES, "ready": ["t1", "t2"]}, next=out)
    assert upcast(run).next == out


@pytest.mark.parametrize(
    ("run", "why"),
    [
        (asleep("ponder"), "had no step ponder"),
        (
            asleep("review_plan", review={"kind": "plan", "review_id": "rev_x", "summary": ""}),
            "not one of its own",
        ),
        (asleep("plan", guidance=["one"]), "the review is gone"),
    ],
)
def test_what_version_1_never_stored_is_refused(run: Sleeping, why: str) -> None:
    with pytest.raises(CannotMigrate, match=why):
        upcast(run)
