"""What a run is to do outside, and under which keys: shared by the steps that decide and that carry out.

A fork has the same consequences to decide as the run that it comes from. What becomes of them was chosen when it was made:
nothing (`forbid`), what was done counts as its own (`reuse`), or done once more (`reissue`).
"""

from collections.abc import Sequence
from uuid import UUID

from ledger import artifacts, effects, forks, runs, settling
from ledger.db import Transaction
from ledger.effects import Effect, Intent, Mode, Settlement
from ledger.runs import Run
from nodes.effects import Carrier, publication_of
from nodes.options import BadInput, RunOptions
from nodes.resources import Resources
from nodes.targets.base import MARKDOWN, Publication, Target, Targets

#: Who decided that a fork has no consequences of its own.
POLICY = "the fork"
#: Who decided that a report that was written anew is not published as it was before.
REWRITTEN = "the run"


def targets_of(opened: Targets, addresses: Sequence[str]) -> list[Target]:
    """Return the targets at these addresses, each once; raises BadInput for one that cannot be used."""
    found = [opened.open(address) for address in addresses]
    return list({target.address: target for target in found}.values())


async def intend_publications(
    tx: Transaction, opened: Targets, run: Run, report: str
) -> dict[str, str]:
    """Record the publications of a run's report, unless they stand already; returns the status of each by its key."""
    publication = publication_of(run, report, await artifacts.get(tx, report), MARKDOWN)
    await _set_aside(tx, run.run_id, report)
    fork = await forks.of(tx, run.run_id)
    for target in targets_of(opened, RunOptions.model_validate(run.options).publish):
        intent = intent_of(target, publication, "publish", "publication")
        if fork is None or fork.effects == "reissue":
            await effects.intend(tx, run.run_id, intent)
        elif fork.effects == "reuse":
            await _reuse(tx, run, target, publication, intent)
        else:
            await _forbid(
                tx,
                run.run_id,
                intent,
                "this run is a fork, and the effects of forks are forbidden unless it is made with --effects",
            )
    return {each.key: each.status for each in await publications(tx, run.run_id, report)}


async def publications(tx: Transaction, run_id: UUID, report: str) -> list[Effect]:
    """Return the publications of a report of a run."""
    recorded = await effects.of_run(tx, run_id)
    return [each for each in recorded if each.mode == "publication" and each.artifact == report]


async def _set_aside(tx: Transaction, run_id: UUID, report: str) -> None:
    """Forbid what was decided for an earlier report of the run and never begun."""
    for effect in await effects.of_run(tx, run_id):
        earlier = effect.mode == "publication" and effect.artifact != report
        if earlier and effect.status == "intended" and not effect.attempts:
            why = "the report was written anew before this was sent"
            await settling.forbid(tx, effect, Settlement(settled_by=REWRITTEN, why=why))


def intent_of(target: Target, publication: Publication, step: str, mode: Mode) -> Intent:
    """Return what is to be recorded before a target is given a publication; raises BadInput for what it can never take."""
    return Intent(
        step=step,
        mode=mode,
        kind=target.kind,
        target=target.address,
        contract=target.contract,
        request=target.request(publication),
        artifact=publication.report_artifact,
        media_type=publication.media_type,
    )


async def _forbid(tx: Transaction, run_id: UUID, intent: Intent, why: str) -> None:
    key = await effects.intend(tx, run_id, intent)
    effect = await effects.get(tx, run_id, key)
    if effect.status == "intended":
        await settling.forbid(tx, effect, Settlement(settled_by=POLICY, why=why))


async def _reuse(
    tx: Transaction, run: Run, target: Target, publication: Publication, intent: Intent
) -> None:
    """Count what a run before did with the same bytes; what none of them did is not done by this one either."""
    for ancestor in (await forks.ancestry(tx, run.run_id))[1:]:
        theirs = publication_of(
            await runs.get(tx, ancestor),
            publication.report_artifact,
            publication.content,
            publication.media_type,
        )
        key = intent_of(target, theirs, intent.step, intent.mode).key(ancestor)
        if await effects.reuse(tx, run.run_id, ancestor, key):
            return
    why = "this run is a fork that reuses effects, and the run that it comes from did not carry this one out"
    await _forbid(tx, run.run_id, intent, why)


async def reconcile(resources: Resources, run_id: UUID) -> list[tuple[str, str, str]]:
    """Look into every publication that a worker left in the middle; returns key, status before and status after.

    One whose target is not set up here stays as it is: recovery asks for it.
    """
    async with resources.ledger.transaction() as tx:
        left = [each for each in await effects.of_run(tx, run_id) if each.mode == "publication"]
    carrier = Carrier(resources.ledger, run_id, resources.patience)
    told: list[tuple[str, str, str]] = []
    for effect in left:
        if effect.status in {"sending", "in_doubt"}:
            try:
                target = resources.targets.open(effect.target)
            except BadInput:
                continue
            after = await carrier.carry_out(effect, target)
            told.append((effect.key, effect.status, after.status))
    return told
