"""From version 1 to version 2: reviews several at a time, effects, and a step in which decisions meet.

In version 1 a step asked for one review at most and always went on to the review's node, which let it pass where nothing
was asked; now a step sends to the nodes of the reviews that it asked for, or goes on. Its decisions are read by `decide`,
which did not exist: a review that was decided and not yet applied is applied there.
"""

from collections.abc import Mapping
from typing import Any

from graph.errors import CannotMigrate
from graph.upcasts.base import Asked, Next, Sleeping

# By the node of a review: its kind, the step that asked, and what followed where nothing was asked.
_REVIEWS: Mapping[str, tuple[str, str, str]] = {
    "review_plan": ("plan", "plan", "dispatch"),
    "review_sources": ("sources", "dispatch", "compact"),
    "review_report": ("report", "check", "intend"),
}
_KEPT = frozenset(
    {"__start__", "plan", "dispatch", "branch", "collect", "compact", "synthesize", "check"}
)


def upcast(run: Sleeping) -> Sleeping:
    """Return a run of version 1 as one of version 2."""
    values = {name: part for name, part in run.values.items() if name not in {"review", "guidance"}}
    asked: dict[str, str] = run.values.get("review") or {}
    steps: list[Next] = []
    for each in run.next:
        step, told = _moved(run, each, asked)
        steps.append(step)
        values |= told
    if run.values:
        values |= _planning(run)
    return run.model_copy(update={"values": values, "next": tuple(steps)})


def _moved(run: Sleeping, step: Next, asked: Mapping[str, str]) -> tuple[Next, dict[str, Any]]:
    """Return what a next step became, and what the state says for it."""
    if step.node in _REVIEWS:
        kind, gate, following = _REVIEWS[step.node]
        if asked.get("kind") != kind:
            return Next(node=following), {"reviews": [], "gate": gate}
        waits = _asked(run, asked)
        return Next(node=step.node, sent=waits), {"reviews": [waits], "gate": gate}
    if step.node == "publish":
        # What is published was not recorded first.
        return Next(node="intend"), {}
    if step.node not in _KEPT:
        raise CannotMigrate(f"version 1 had no step {step.node}")
    return step, {}


def _asked(run: Sleeping, asked: Mapping[str, str]) -> dict[str, Any]:
    """Return a review in the form of version 2: with what an edit of it changes."""
    found = next((each for each in run.reviews if each.review_id == asked["review_id"]), None)
    if found is None:
        raise CannotMigrate(
            f"it waits for review {asked['review_id']}, which is not one of its own"
        )
    told = {"problem": asked["problem"]} if "problem" in asked else {}
    return {
        "kind": asked["kind"],
        "review_id": asked["review_id"],
        "summary": asked["summary"],
        "form": _form(found),
        **told,
    }


def _form(review: Asked) -> dict[str, Any]:
    match review.kind:
        case "plan":
            return {"tasks": review.shown["tasks"]}
        case "report":
            return {"text": review.shown["report"]}
        case _:
            return {"omit": []}


def _planning(run: Sleeping) -> dict[str, Any]:
    """Return how many plans were made, and whose words are planned next: by their review, no longer the words."""
    said = run.values.get("guidance", [])
    if not any(each.node == "plan" for each in run.next):
        made = int("tasks" in run.values) + len(said)
        return {"plans": made, "guidance": []}
    if not said:
        return {"guidance": []}
    # Of the decided reviews, the one that sent the run back is the last.
    decided = [each.review_id for each in run.reviews if each.decided]
    if not decided:
        raise CannotMigrate(
            "what was answered at a review is to be planned, and the review is gone"
        )
    return {"plans": len(said), "guidance": decided[-1:]}
