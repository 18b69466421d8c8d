"""How a step asks for reviews: the questions are recorded, the run waits from then on, and state says for what.

What leads from a step to its reviews, and from those on, stands here too: pure functions of what the step wrote.

LangGraph's own doors (a state that somebody edits, a command that says where to go) lead past a node that waits. What a
person was asked is a row, so the steps behind a gate look there, and go back to what is still open.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from langgraph.types import Send

from ledger import reviews, runs
from ledger.canonical import Json, canonical, digest
from ledger.db import Transaction
from ledger.questions import Kind, Review
from nodes.decisions.effect import RELEASE
from nodes.decisions.kinds import KINDS
from nodes.notices import intend_notices, of_review
from nodes.options import RunOptions
from nodes.state import AskedReview, ResearchState, Update
from nodes.targets.base import Targets

#: What follows each step that asks, once its reviews are decided or none is asked.
AFTER: Mapping[str, str] = {
    "plan": "dispatch",
    "dispatch": "compact",
    "check": "intend",
    "revise": "intend",
    "intend": "publish",
    "publish": "publish",
}

#: The gates in the order in which a run comes to them, and the one at which each kind is asked.
_GATES: tuple[str, ...] = ("plan", "dispatch", "check", "intend", "publish")
_GATE_OF: Mapping[Kind, str] = {
    "plan": "plan",
    "sources": "dispatch",
    "conflict": "dispatch",
    "report": "check",
    "sensitive": "check",
}


@dataclass(frozen=True, slots=True)
class Question:
    """One review to ask for: `shown` is all that a person sees; a deadline decides it unless it `waits`."""

    kind: Kind
    shown: Json
    waits: bool = False


@dataclass(frozen=True, slots=True)
class Gate:
    """A step that asks: its `name`, what its run was started with, how many decisions were applied before."""

    name: str
    run_id: UUID
    options: RunOptions
    decided_before: int
    targets: Targets


async def ask(tx: Transaction, gate: Gate, questions: Sequence[Question]) -> Update:
    """Record the questions that a step asks at once, and return the state that makes the run wait for them.

    The run is paused in the same transaction, whoever works it: the command line, a notebook or LangGraph's server. Whoever
    the run was to notify is told of each.
    """
    names = [
        reviews.review_id(
            gate.run_id, each.kind, digest(canonical(each.shown)), gate.decided_before
        )
        for each in questions
    ]
    for question in questions:
        rules = gate.options.rules(question.kind)
        await reviews.ask(
            tx,
            gate.run_id,
            question.kind,
            question.shown,
            gate.decided_before,
            rules=rules.model_copy(update={"due_seconds": None}) if question.waits else rules,
            beside=names,
        )
    told: dict[str, str] = {}
    if questions:
        await runs.set_status(tx, gate.run_id, "paused")
        run = await runs.get(tx, gate.run_id)
        for name, question in zip(names, questions, strict=True):
            told |= await intend_notices(
                tx, gate.targets, run, name, of_review(run, question.kind, name)
            )
    asked = [_asked(name, question) for name, question in zip(names, questions, strict=True)]
    return {"reviews": asked, "gate": gate.name, "effects": told}


async def open_reviews(
    tx: Transaction, run_id: UUID, but: Collection[str] = ()
) -> list[AskedReview]:
    """Return what people were asked and have not decided, but these."""
    return [
        _asked(each.review_id, Question(each.kind, each.shown))
        for each in await _open(tx, run_id)
        if each.review_id not in but
    ]


async def passed_by(tx: Transaction, run_id: UUID, name: str) -> Update:
    """Return the state that makes the run wait at the earliest gate before `name` with an open review; empty for none."""
    gates: dict[str, list[AskedReview]] = {}
    for each in await _open(tx, run_id):
        asked = _asked(each.review_id, Question(each.kind, each.shown))
        gates.setdefault(_gate_of(each), []).append(asked)
    for gate in _GATES[: _GATES.index(name)]:
        if gate in gates:
            await runs.set_status(tx, run_id, "paused")
            return {"reviews": gates[gate], "gate": gate}
    return {}


async def _open(tx: Transaction, run_id: UUID) -> list[Review]:
    return [each for each in await reviews.newest_first(tx, run_id) if each.status == "open"]


def _gate_of(review: Review) -> str:
    asks_release = review.kind == "effect" and review.shown["act"] == RELEASE
    return _GATE_OF.get(review.kind, "intend" if asks_release else "publish")


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
