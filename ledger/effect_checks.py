"""Whether what is recorded of a run's consequences holds together: keys, attempts, outcomes, and the bytes that they are about."""

from collections.abc import Iterator
from uuid import UUID

from ledger import artifacts, effects
from ledger.canonical import canonical, digest
from ledger.db import Transaction
from ledger.effects import Effect
from ledger.errors import ArtifactCorrupt, NotFound
from ledger.sql import load

_KEY = load("effects")["KeyStandsFor"]


async def problems(tx: Transaction, run_id: UUID) -> tuple[int, list[str]]:
    """Return how many effects a run has, and what is wrong with them, in words."""
    recorded = await effects.of_run(tx, run_id)
    found = [f"{each.key} {problem}" for each in recorded for problem in _problems(each)]
    for each in recorded:
        row = await tx.maybe(_KEY, key=each.key)
        if row is None or row["request_digest"] != each.request_digest:
            found.append(f"{each.key} stands for another request")
        try:
            await artifacts.get(tx, each.artifact)
        except (NotFound, ArtifactCorrupt):
            found.append(f"{each.key} is about bytes that are missing or not what they were")
    return len(recorded), found


def _problems(effect: Effect) -> Iterator[str]:
    if digest(canonical(effect.request)) != effect.request_digest:
        yield "has a request that does not match its digest"
    if [each.number for each in effect.attempts] != list(range(1, len(effect.attempts) + 1)):
        yield "has attempts that are not numbered from 1"
    if effect.status == "confirmed" and not _was_confirmed(effect):
        yield "is confirmed, and nobody said so"


def _was_confirmed(effect: Effect) -> bool:
    """Whether the target, a person, or the run that is reused said that it was carried out."""
    said = any(each.outcome == "confirmed" for each in effect.attempts)
    return said or effect.settlement is not None or effect.reused_from is not None
