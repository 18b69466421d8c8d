"""How a step asks for reviews: the questions are recorded, the run waits from then on, and state says for what.

What leads from a step to its reviews, and from those on, stands here too: pure functions of what the step wrote.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from langgraph.types import Send

from ledger import reviews, runs
from ledger.canonical import Json, canonical, digest
from ledger.db import Transaction
from ledger.questions import Kind
from nodes.decisions.kinds import KINDS
from nodes.options import RunOptions
from nodes.state import AskedReview, ResearchState, Update

#: What follows each step that asks, once its reviews are decided or none is asked.
AFTER: Mapping[str, str] = {
    "plan": "dispatch",
    "dispatch": "compact",
    "check": "intend",
    "revise": "intend",
}


@dataclass(frozen=True, slots=True)
class Question:
    """One review to ask for: `shown` is all that a person sees."""

    kind: Kind
    shown: Json


async def ask(
    tx: Transaction,
    run_id: UUID,
    gate: str,
    options: RunOptions,
    questions: Sequence[Question],
    decided_before: int,
) -> Update:
    """Record the questions that the step `gate` asks at once, and return the state that makes the run wait for them.

    The run is paused in the same transaction, whoever works it: the command line, a notebook or LangGraph's server.
    """
    names = [
        reviews.review_id(run_id, each.kind, digest(canonical(each.shown)), decided_before)
        for each in questions
    ]
    for question in questions:
        await reviews.ask(
            tx,
            run_id,
            question.kind,
            question.shown,
            decided_before,
            rules=options.rules(question.kind),
            beside=names,
        )
    if questions:
        await runs.set_status(tx, run_id, "paused")
    asked = [_asked(name, question) for name, question in zip(names, questions, strict=True)]
    return {"reviews": asked, "gate": gate}


def _asked(name: str, question: Question) -> AskedReview:
    kind = KINDS[question.kind]
    return {
        "kind": question.kind,
        "review_id": name,
        "summary": kind.described(question.shown),
        "form": kind.form(question.shown),
    }


def to_reviews(state: ResearchState) -> list[Send] | str:
    """Route to the reviews that a step asked for, or to what follows it: a pure function, see `to_branches`."""
    return [node_of(asked) for asked in state.get("reviews", [])] or AFTER[state.get("gate", "")]


def node_of(asked: AskedReview) -> Send:
    """Return the sending of a review to the node of its kind."""
    return Send(f"review_{asked['kind']}", asked)
