"""The review of a report: approved, its text edited, claims left out, or sent back with something to research."""

from collections.abc import Sequence
from typing import Any, cast

from ledger.questions import Review
from ledger.tasks import Task
from nodes.decisions.base import Applying, Form, ReviewKind, Way, omitted, stop
from nodes.decisions.sources import shown_ids
from nodes.decisions.withdrawing import withdraw
from nodes.options import BadInput
from nodes.revision import check_text

# A report of the longest run takes a quarter of this.
TEXT_CHARACTERS_MAX = 400_000


def _form(shown: Any) -> Form:
    return {"text": shown["report"]}


def _described(shown: Any) -> str:
    return cast("str", shown["report"])


def text_of(edit: Any) -> str | None:
    """Return the edited text of an edit, None for one that leaves out claims."""
    if isinstance(edit, dict) and "text" in edit:
        return cast("dict[str, str]", edit)["text"]
    return None


def _check(review: Review, edit: Any, _planned: Sequence[Task]) -> None:
    if isinstance(edit, dict) and "text" in edit:
        text = cast("dict[str, Any]", edit)["text"]
        if not isinstance(text, str) or not text.strip():
            raise BadInput('an edited report is {"text": MARKDOWN}, and its text is not empty')
        if len(text) > TEXT_CHARACTERS_MAX:
            raise BadInput(f"an edited report has at most {TEXT_CHARACTERS_MAX:,} characters")
        check_text(text, len(review.shown["citations"]))
        return
    omitted(edit, shown_ids(review), review)


async def _apply(applying: Applying) -> Way:
    review, decision = applying.review, applying.decision
    match decision.choice:
        case "reject":
            return await stop(applying)
        case "respond":
            return Way.PLAN
        case "edit" if text_of(decision.edit) is not None:
            return Way.REVISE
        case "edit":
            if applying.is_new:
                names = omitted(decision.edit, shown_ids(review), review)
                await withdraw(applying, names)
            # Written anew, it would lose what people wrote into it.
            return Way.REVISE if review.shown.get("revised") else Way.COMPACT
        case "approve":
            return Way.ON


REPORT = ReviewKind(
    allows=frozenset({"approve", "edit", "reject", "respond"}),
    form=_form,
    described=_described,
    check=_check,
    apply=_apply,
)
