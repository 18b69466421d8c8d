"""Notices: whoever a run was told to notify hears that a person is needed, or that the run is done.

A notice is decided with the step that it tells of, and sent by a relay once that step's checkpoint is stored: the run does
not wait for it, and none is sent of what never came to be.
"""

from ledger import artifacts, effects
from ledger.db import Transaction
from ledger.runs import Run
from nodes.consequences import intent_of, targets_of
from nodes.effects import publication_of
from nodes.options import BadInput, RunOptions
from nodes.targets.base import MARKDOWN, Target, Targets

#: A file is there once; of a run there may be many notices.
NOT_FOR_NOTICES = frozenset({"file"})


async def intend_notices(
    tx: Transaction, opened: Targets, run: Run, about: str, text: str
) -> dict[str, str]:
    """Record what is to be told about something (`about` names it within the run); returns the status of each by its key."""
    addresses = RunOptions.model_validate(run.options).notify
    if not addresses:
        return {}
    content = text.encode()
    artifact = await artifacts.put(tx, content, MARKDOWN)
    publication = publication_of(run, artifact, content, MARKDOWN)
    told: dict[str, str] = {}
    for target in notice_targets(opened, addresses):
        intent = intent_of(target, publication, f"notice {about}", "notice")
        told[await effects.intend(tx, run.run_id, intent)] = "intended"
    return told


def notice_targets(opened: Targets, addresses: tuple[str, ...]) -> list[Target]:
    """Return the targets of notices; raises BadInput for one that takes a single report only."""
    found = targets_of(opened, addresses)
    for target in found:
        if target.kind in NOT_FOR_NOTICES:
            raise BadInput(
                f"{target.address} takes one report, and a run may send many notices; notify https://…, mailto:… or"
                " postgres:TABLE"
            )
    return found


async def checked_targets(opened: Targets, options: RunOptions) -> RunOptions:
    """Return the options with absolute addresses; raises BadInput for a target that cannot be used, before there is a run."""
    found = {
        "publish": targets_of(opened, options.publish),
        "notify": notice_targets(opened, options.notify),
    }
    for target in [each for targets in found.values() for each in targets]:
        await target.check()
    named = {name: tuple(each.address for each in targets) for name, targets in found.items()}
    return options.model_copy(update=named)


def of_completion(run: Run) -> str:
    """Return what is told of a run that is done."""
    return f"Run {run.run_id} is done.\n\nIt was asked: {run.question}\n\n`perdure show {run.run_id}` shows its report.\n"


def of_review(run: Run, kind: str, review_id: str) -> str:
    """Return what is told of a review that waits for a person."""
    return (
        f"Run {run.run_id} waits for a review of its {kind}.\n\nIt was asked: {run.question}\n\n"
        f"`perdure review {review_id}` shows what is to be decided.\n"
    )
