"""The review of a consequence, one for each: whether it is carried out (`release`), or what became of it (`settle`).

A rejection never stops the run: the report is written, and only this is not done. What a person settles on the command
line (`perdure effects settle`) is recorded as the decision of this review, too, so whichever comes first counts.
"""

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, TypeAlias

from pydantic import BaseModel, ConfigDict, ValidationError

from ledger import effects, settling
from ledger.canonical import Json
from ledger.effects import Effect, Settlement
from ledger.errors import EffectClosed, NotFound
from ledger.questions import Decision, Review
from ledger.tasks import Task
from nodes.decisions.base import Applying, Form, ReviewKind, Way
from nodes.options import BadInput, check_text

RELEASE, SETTLE = "release", "settle"
# Of the attempts at one effect the last ones say how it stands.
ATTEMPTS_SHOWN_MAX = 10

Shown: TypeAlias = dict[str, Json]


class _Settled(BaseModel):
    """An edit: the target's name for what happened, or that it is to be sent again."""

    model_config = ConfigDict(extra="forbid")

    happened: str | None = None
    again: bool = False


def to_release(effect: Effect) -> Shown:
    """Return what a person sees who decides whether an effect is carried out."""
    return {"act": RELEASE, **_told(effect), "request": effect.request}


def to_settle(effect: Effect) -> Shown:
    """Return what a person sees who says what became of an effect."""
    attempts: list[Json] = [
        {
            "number": each.number,
            "act": each.act,
            "started_at": each.started_at.isoformat(),
            "outcome": each.outcome,
        }
        for each in effect.attempts[-ATTEMPTS_SHOWN_MAX:]
    ]
    return {"act": SETTLE, **_told(effect), "reason": effect.reason, "attempts": attempts}


def _told(effect: Effect) -> Shown:
    return {
        "key": effect.key,
        "kind": effect.kind,
        "target": effect.target,
        "contract": effect.contract.kind,
        "status": effect.status,
        "artifact": effect.artifact,
    }


def as_decision(happened: str | None, said: Settlement, *, again: bool) -> Decision:
    """Return what a person said on the command line as a decision about the review of the same effect."""
    if happened is None and not again:
        return Decision(choice="reject", decided_by=said.settled_by, comment=said.why)
    edit = {"again": True} if again else {"happened": happened}
    return Decision(choice="edit", decided_by=said.settled_by, comment=said.why, edit=edit)


_ON_RELEASE = "Approve: it is carried out. Reject: it is not, and the run goes on."
_ON_SETTLING = (
    'Edit: {"happened": "the target\'s name for it"} if it was carried out, {"again": true} if it was not and is to be sent'
    " once more. Approve: it was carried out, and has no name. Reject: it was not, and is not to be."
)
_ABOUT = {
    RELEASE: ("## May this be done?", _ON_RELEASE),
    SETTLE: ("## What became of this?", _ON_SETTLING),
}


def _form(shown: Any) -> Form:
    return {"happened": "", "again": False} if shown["act"] == SETTLE else {}


def _described(shown: Any) -> str:
    heading, advice = _ABOUT[shown["act"]]
    told = [
        f"- {name}: {_verbatim(value)}"
        for name, value in shown.items()
        if name not in {"act", "attempts"} and value is not None
    ]
    tried = [
        f"- call {each['number']} ({each['act']}, {each['started_at']}): {each['outcome']}"
        for each in shown.get("attempts", [])
    ]
    return "\n".join([heading, "", *told, *tried, "", advice])


def _verbatim(value: Json) -> str:
    """Return a value as code: so that it is no markup, and can be copied as it is."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return "`" + " ".join(text.replace("`", "'").split()) + "`"


def _check(review: Review, edit: Any, _planned: Sequence[Task]) -> None:
    if review.shown["act"] == RELEASE:
        raise BadInput("a consequence is approved or rejected as it is")
    _settled(edit)


def _settled(edit: Any) -> _Settled:
    form = '{"happened": "the target\'s name for it"} or {"again": true}'
    try:
        said = _Settled.model_validate(edit)
    except ValidationError as error:
        raise BadInput(f"an edit here is {form}") from error
    if said.again == bool((said.happened or "").strip()):
        raise BadInput(f"an edit here says one of two things: {form}")
    check_text(said.happened or "", "target's name for it")
    return said


async def _apply(applying: Applying) -> Way:
    if applying.is_new:
        # Of a fork: the effect is that of the run that it comes from. It decides, and asks for, its own.
        with suppress(NotFound):
            effect = await effects.get(applying.tx, applying.run_id, applying.review.shown["key"])
            # Settled on the command line meanwhile, or withdrawn: what was said first counts.
            with suppress(EffectClosed):
                await _done(applying, effect)
    return Way.ON


async def _done(applying: Applying, effect: Effect) -> None:
    decision = applying.decision
    why = decision.comment or f"review {applying.review.review_id}: {decision.choice}"
    said = Settlement(settled_by=decision.decided_by, why=why)
    if applying.review.shown["act"] == RELEASE:
        if decision.choice == "reject":
            await settling.forbid(applying.tx, effect, said)
        return
    settled = _settled(decision.edit) if decision.choice == "edit" else _Settled()
    if decision.choice == "reject":
        await settling.did_not_happen(applying.tx, effect, said)
    elif settled.again:
        await settling.again(applying.tx, effect, said)
    else:
        # A target that gave it no name is known by the key.
        await settling.happened(applying.tx, effect, settled.happened or effect.key, said)


EFFECT = ReviewKind(
    allows=frozenset({"approve", "edit", "reject"}),
    form=_form,
    described=_described,
    check=_check,
    apply=_apply,
)
