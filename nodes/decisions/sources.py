"""The review of what was read and found: a source or a claim is left out, a flagged source is taken as it is."""

from collections.abc import Sequence
from typing import Any

from ledger import audit, sources
from ledger.canonical import Json
from ledger.questions import Review
from ledger.tasks import Task
from nodes.decisions.base import Applying, Form, ReviewKind, Way, omitted, stop
from nodes.decisions.withdrawing import look_again, way, withdraw
from nodes.report import address, escaped


def _form(_shown: Any) -> Form:
    return {"omit": []}


def _described(shown: Any) -> str:
    read = [
        f"- `{each['id']}`: <{address(each['uri'])}>"
        + ("" if each["status"] == "retained" else f" **{each['status']}**")
        for each in shown["sources"]
    ]
    disagreements = [f"- {escaped(each['reason'])}" for each in shown["disagreements"]]
    return "\n".join(
        [
            *("## Sources", "", *read),
            *("", "## Claims", "", *claim_lines(shown["claims"])),
            *(["", "## Disagreements", "", *disagreements] if disagreements else []),
        ]
    )


def claim_lines(claims: Sequence[Any]) -> list[str]:
    """Return claims as lines of Markdown, with the ids that an edit may name."""
    return [
        f"- `{each['id']}`: {escaped(each['claim'])} (from {', '.join(each['sources'])})"
        for each in claims
    ]


def shown_ids(review: Review) -> list[str]:
    """Return the ids of the claims and sources that a review shows."""
    return [each["id"] for part in ("claims", "sources") for each in review.shown[part]]


def _check(review: Review, edit: Any, _planned: Sequence[Task]) -> None:
    omitted(edit, shown_ids(review), review)


async def _apply(applying: Applying) -> Way:
    review, decision = applying.review, applying.decision
    if decision.choice == "reject":
        return await stop(applying)
    if decision.choice == "respond":
        return Way.PLAN
    names: list[str] = []
    if decision.choice == "edit":
        names = omitted(decision.edit, shown_ids(review), review)
    if applying.is_new:
        await _accept(applying, names)
        if names:
            await sources.exclude(applying.tx, applying.run_id, names, review.review_id)
            await look_again(applying, await withdraw(applying, names))
    return await way(applying)


async def _accept(applying: Applying, names: Sequence[str]) -> None:
    """Say of the flagged sources that stay that a person has taken them."""
    kept = [
        each["id"]
        for each in applying.review.shown["sources"]
        if each["status"] != "retained" and each["id"] not in names
    ]
    await sources.accept(applying.tx, applying.run_id, kept, applying.review.review_id)
    if kept:
        detail: dict[str, Json] = {"review": applying.review.review_id, "sources": kept}
        await audit.append(applying.tx, applying.run_id, "sources_accepted", detail)


SOURCES = ReviewKind(
    allows=frozenset({"approve", "edit", "reject", "respond"}),
    form=_form,
    described=_described,
    check=_check,
    apply=_apply,
)
