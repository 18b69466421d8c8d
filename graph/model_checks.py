"""The checks of `perdure doctor` that ask the endpoint of the model, and what is kept of them.

What was verified or refuted is kept, and replaces what was known before; a question that could not be answered changes
nothing, so that an endpoint that is away today is still known as it was verified yesterday.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from graph import models
from graph.cluster import EmbeddedPostgresFailed
from graph.opening import open_ledger
from graph.settings import Settings, SettingsInvalid
from ledger import endpoints
from ledger.endpoints import Finding, Kept
from ledger.errors import CredentialRefused, LedgerError
from ledger.verification import Check
from nodes.models.outcomes import QUESTIONS, Outcome
from nodes.models.verification import examine
from nodes.options import BadInput
from nodes.researchers.extractive import NAME

# A person waits for the answers.
IDLE_SECONDS_MAX = 60.0


@dataclass(frozen=True, slots=True)
class ModelCheck(Check):
    """A check of a model; `checked_at` is when it was last verified or refuted (ISO 8601), if it ever was and is kept."""

    verified: bool
    checked_at: str | None


async def model_checks(settings: Settings) -> Sequence[Check]:
    """Ask the endpoint of the model that is set, where it needs one."""
    if settings.model == NAME:
        return (Check("model", ok=True, detail=f"{settings.model}: needs no language model"),)
    idle_seconds = min(settings.model_idle_seconds, IDLE_SECONDS_MAX)
    opened = models.endpoints(settings.model_copy(update={"model_idle_seconds": idle_seconds}))
    try:
        model = opened.of(settings.model).model
        outcomes = await examine(model)
    except (BadInput, CredentialRefused) as error:
        return (Check("model", ok=False, detail=str(error)),)
    finally:
        await opened.close()
    kept = await _kept(settings, model.profile.endpoint, outcomes)
    ordered = sorted(outcomes, key=lambda each: QUESTIONS.index(each.question))
    return [_check(model.profile.endpoint, each, kept) for each in ordered]


async def _kept(
    settings: Settings, endpoint: str, outcomes: Sequence[Outcome]
) -> Mapping[str, Kept]:
    """Keep what was found out and return all that is known; nothing where the database is away, of which its check tells."""
    found = [
        Finding(each.question, each.verdict == "verified", each.detail)
        for each in outcomes
        if each.verdict != "not verified"
    ]
    try:
        async with open_ledger(settings) as ledger, ledger.transaction() as tx:
            await endpoints.keep(tx, endpoint, found)
            return await endpoints.kept(tx, endpoint)
    except (LedgerError, EmbeddedPostgresFailed, SettingsInvalid):
        return {}


def _check(endpoint: str, outcome: Outcome, kept: Mapping[str, Kept]) -> ModelCheck:
    known = kept.get(outcome.question)
    verified = outcome.verdict == "verified"
    when = known.verdict if known else outcome.verdict
    detail = f"{when}: {outcome.detail}"
    if outcome.verdict == "not verified":
        before = f" ({when} before)" if known else ""
        detail = f"not verified: {outcome.detail}{before}"
    checked_at = known.checked_at.isoformat() if known else None
    if outcome.question == "answer":
        # A model that does not answer now is of no use now, whatever the reason.
        return ModelCheck("model", verified, f"{endpoint}: {detail}", verified, checked_at)
    name = f"model: {outcome.question}"
    return ModelCheck(name, outcome.verdict != "refuted", detail, verified, checked_at)
