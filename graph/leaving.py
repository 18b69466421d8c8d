"""What a run found on this machine leaves it only where no rule of the run says that it may hold something sensitive.

A model elsewhere is given no passage that a rule covers, so that what it finds may leave. What a model here, or none, found
was given everything; a run that goes on with another model, or with the same at another address, would send it out.
"""

from collections.abc import Sequence
from uuid import UUID

from graph.runtime import Runtime
from ledger import findings, journal
from ledger.db import Transaction
from ledger.journal import Operation
from ledger.runs import Run
from nodes.models.profile import is_here
from nodes.options import BadInput, RunOptions
from nodes.thinking import KIND


async def check_leaving(runtime: Runtime, run: Run, model: str) -> None:
    """Raise BadInput where going on with this model would send out what was found here, past the rules of the run."""
    if not RunOptions.model_validate(run.options).sensitive:
        return
    if not runtime.resources.researchers.leaves(model):
        return
    async with runtime.ledger.transaction() as tx:
        tasks = await _found_here(tx, run.run_id)
    if tasks:
        raise BadInput(
            f"run {run.run_id} has rules for what is sensitive, and what its tasks {', '.join(tasks)} found was found on this"
            f" machine without them: {model} would send it elsewhere. Go on with a model on this machine"
            f" (`perdure resume {run.run_id} --model NAME`; `extractive` is one), or ask anew with `perdure run --model {model}`"
        )


async def _found_here(tx: Transaction, run_id: UUID) -> list[str]:
    """Return the tasks with claims that a model on this machine took out of documents, or nobody's model."""
    claims = [each for each in await findings.standing(tx, run_id) if each.kind == "claim"]
    extracted: dict[str, set[bool]] = {}
    for each in await journal.operations(tx, run_id):
        if each.kind == KIND and each.request["prompt"] == "extract":
            extracted.setdefault(each.task_id, set()).update(_were_here([each]))
    named = dict.fromkeys(claim.task_id for claim in claims)
    return [task_id for task_id in named if extracted.get(task_id, {True}) != {False}]


def _were_here(operations: Sequence[Operation]) -> set[bool]:
    """Return of each accepted answer whether its endpoint was on this machine."""
    return {
        is_here(str(attempt.settings.get("endpoint", "")))
        for each in operations
        for attempt in each.attempts
        if attempt.accepted
    }
