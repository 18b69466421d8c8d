"""The kinds of reviews by their names, and what a decision about any of them has to be."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from ledger.questions import DEADLINE, Decision, Kind, Review
from ledger.tasks import Task
from ledger.votes import known_as, same_person
from nodes.decisions.base import ReviewKind
from nodes.decisions.conflict import CONFLICT
from nodes.decisions.effect import EFFECT
from nodes.decisions.plan import PLAN, instruction_of
from nodes.decisions.report import REPORT
from nodes.decisions.sensitive import SENSITIVE
from nodes.decisions.sources import SOURCES
from nodes.options import BadInput, check_text, checked_answer

KINDS: Mapping[Kind, ReviewKind] = {
    "plan": PLAN,
    "sources": SOURCES,
    "conflict": CONFLICT,
    "sensitive": SENSITIVE,
    "report": REPORT,
    "effect": EFFECT,
}

#: Names of people are shorter, and so are those of services that decide for them.
NAME_CHARACTERS_MAX = 200


def checked_decision(review: Review, decision: Decision, planned: Sequence[Task]) -> None:
    """Raise BadInput for a decision that cannot be carried out: it is refused before it is recorded."""
    kind = KINDS[review.kind]
    check_person(decision.decided_by)
    check_text(decision.comment or "", "comment")
    if decision.choice not in kind.allows:
        allowed = ", ".join(sorted(kind.allows))
        raise BadInput(
            f"a review of the kind {review.kind} takes {allowed}, and not {decision.choice}"
        )
    if decision.choice == "respond":
        checked_answer(decision.response or "")
    if decision.choice == "edit":
        _check_one_thing(review, decision.edit)
        kind.check(review, decision.edit, planned)
    if decision.choice == "reject" and review.kind == "plan":
        instruction = instruction_of(decision.response, decision.comment)
        if instruction is not None:
            checked_answer(instruction)


def _check_one_thing(review: Review, edit: Any) -> None:
    """Raise BadInput for an edit of which only a part would be done."""
    given = list(cast("dict[str, Any]", edit)) if isinstance(edit, dict) else []
    # What becomes of an effect has a form with two parts.
    if review.kind != "effect" and len(given) > 1:
        raise BadInput(
            f"an edit says one thing, and this one says {len(given)} ({', '.join(given)[:200]!r});"
            f" `perdure review {review.review_id}` shows the form of an edit"
        )


def check_person(name: str) -> None:
    """Raise BadInput for a name that is no person's."""
    check_text(name, "name of who decides")
    if len(name) > NAME_CHARACTERS_MAX or len(name.splitlines()) > 1:
        raise BadInput(
            f"the name of who decides is one line of at most {NAME_CHARACTERS_MAX} characters: it stands in reports"
        )
    if not known_as(name) or same_person(name, DEADLINE):
        raise BadInput(f"a decision says who decided, and nobody is called {DEADLINE!r}")
