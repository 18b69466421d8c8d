"""What differs and is a person's to settle: findings that disagree, and attempts at one task that found other things."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from ledger import findings, retries, reviews
from ledger.canonical import Json
from ledger.db import Transaction
from nodes import recorded
from nodes.asking import Question
from nodes.material import Claim, Disagreement


async def conflicts(
    tx: Transaction, run_id: UUID, claims: Sequence[Claim], disagreements: Sequence[Disagreement]
) -> list[Question]:
    """Return a question for each disagreement that nobody has settled, and for each retry that a person decides."""
    settled = [set(_ids(shown)) for shown in await _settled(tx, run_id)]
    left = [
        pair
        for pair in disagreements
        if not any(set(pair.finding_ids) <= together for together in settled)
    ]
    questions = [
        Question("conflict", _shown(reason, claims, ids)) for reason, ids in _grouped(claims, left)
    ]
    for task_id in await retries.undecided(tx, run_id):
        found = await findings.standing(tx, run_id, task_id)
        own = [each.finding_id for each in found if each.kind == "claim"]
        shown = _shown(both_stand(task_id), claims, own)
        questions.append(Question("conflict", {**shown, "task": task_id}))
    return questions


def _grouped(
    claims: Sequence[Claim], disagreements: Sequence[Disagreement]
) -> list[tuple[str, list[str]]]:
    """Return disagreements with their findings, one for the same two texts, whichever tasks found them."""
    text_of = {claim.finding_id: claim.text for claim in claims}
    found: dict[frozenset[str], tuple[str, list[str]]] = {}
    for pair in disagreements:
        texts = frozenset(text_of[name] for name in pair.finding_ids)
        _, ids = found.setdefault(texts, (pair.reason, []))
        ids += [name for name in pair.finding_ids if name not in ids]
    return list(found.values())


async def kept_apart(tx: Transaction, run_id: UUID) -> list[str]:
    """Return what a person let stand although it differs, in words for the report, as far as all of it stands."""
    standing = {each.finding_id for each in await findings.standing(tx, run_id)}
    return [
        str(shown["reason"])
        for shown in await _settled(tx, run_id, choices=("approve",))
        if set(_ids(shown)) <= standing
    ]


def both_stand(task_id: str) -> str:
    """Say that attempts at one task came to different things."""
    return f"task {task_id} was researched again and came to something else"


async def _settled(
    tx: Transaction, run_id: UUID, choices: Sequence[str] = ("approve", "edit")
) -> list[Any]:
    return [
        review.shown
        for review in reversed(await reviews.newest_first(tx, run_id))
        if review.kind == "conflict"
        and review.decision is not None
        and review.decision.choice in choices
    ]


def _ids(shown: Any) -> list[str]:
    return [each["id"] for each in shown["claims"]]


def _shown(reason: str, claims: Sequence[Claim], ids: Sequence[str]) -> dict[str, Json]:
    differing = [claim for claim in claims if claim.finding_id in ids]
    return {"reason": reason, "claims": recorded.shown_claims(differing)}
