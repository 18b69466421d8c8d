"""What an edit of a review changes, as text that a person can read."""

import json
from collections.abc import Sequence
from difflib import unified_diff
from typing import Any

from ledger.questions import Review
from nodes.decisions.base import part_of
from nodes.decisions.kinds import KINDS
from nodes.decisions.report import text_of


def form_of(review: Review) -> str:
    """Return what an edit changes, as it is edited: Markdown of a report, JSON of anything else."""
    return _text(KINDS[review.kind].form(review.shown))


def difference(review: Review, edit: Any) -> str:
    """Return the unified diff of an edit, "" where it changes nothing."""
    before: Any = KINDS[review.kind].form(review.shown)
    after: Any = edit
    if text_of(edit) is None:
        part = "omit" if review.kind == "report" else next(iter(before), "")
        before = {part: before.get(part, [])}
        after = {part: part_of(edit, part)}
    return _unified(_text(before).splitlines(), _text(after).splitlines())


def changed(before: Review, after: Review) -> str:
    """Return the unified diff of what two reviews show: as people read it, or all of it where that reads the same."""
    told = [KINDS[each.kind].described(each.shown).splitlines() for each in (before, after)]
    if told[0] == told[1]:
        told = [_text(each.shown).splitlines() for each in (before, after)]
    return _unified(told[0], told[1])


def _text(form: Any) -> str:
    text = text_of(form)
    return text if text is not None else json.dumps(form, indent=2, ensure_ascii=False) + "\n"


def _unified(before: Sequence[str], after: Sequence[str]) -> str:
    return "\n".join(unified_diff(before, after, "shown", "edited", lineterm=""))
