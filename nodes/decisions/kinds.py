"""The kinds of reviews by their names, and what a decision about any of them has to be."""

from collections.abc import Mapping, Sequence

from ledger.questions import DEADLINE, Decision, Kind, Review
from ledger.tasks import Task
from ledger.votes import same_person
from nodes.decisions.base import ReviewKind
from nodes.decisions.conflict import CONFLICT
from nodes.decisions.effect import EFFECT
from nodes.decisions.plan import PLAN, instruction_of
from nodes.decisions.report import REPORT
from nodes.decisions.sensitive import SENSITIVE
from nodes.decisions.sources import SOURCES
from nodes.options import BadInput, checked_answer

KINDS: Mapping[Kind, ReviewKind] = {
    "plan": PLAN,
    "sources": SOURCES,
    "conflict": CONFLICT,
    "sensitive": SENSITIVE,
    "report": REPORT,
    "effect": EFFECT,
}


def checked_decision(review: Review, decision: Decision, planned: Sequence[Task]) -> None:
    """Raise BadInput for a decision that cannot be carried out: it is refused before it is recorded."""
    kind = KINDS[review.kind]
    if not decision.decided_by.strip() or same_person(decision.decided_by, DEADLINE):
        raise BadInput(f"a decision says who decided, and nobody is called {DEADLINE!r}")
    if decision.choice not in kind.allows:
        allowed = ", ".join(sorted(kind.allows))
        raise BadInput(
            f"a review of the kind {review.kind} takes {allowed}, and not {decision.choice}"
        )
    if decision.choice == "respond":
        checked_answer(decision.response or "")
    if decision.choice == "edit":
        kind.check(review, decision.edit, planned)
    if decision.choice == "reject" and review.kind == "plan":
        instruction = instruction_of(decision.response, decision.comment)
        if instruction is not None:
            checked_answer(instruction)
