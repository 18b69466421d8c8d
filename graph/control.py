"""What a person does to a run besides starting and resuming it: one branch once more, a consequence settled."""

from typing import Final
from uuid import UUID

from graph.errors import RetryRefused, SettlementRefused
from graph.rewinding import rewind
from graph.runs import Outcome, outcome, work
from graph.runtime import Runtime
from graph.waiting import open_settlements
from graph.working import working
from ledger import (
    effects,
    retries,
    reviews,
    runs,
    settling,
    tasks,
)
from ledger.db import Transaction
from ledger.effects import Effect, Settlement
from ledger.errors import NotFound
from ledger.retries import Rule
from ledger.runs import Run
from nodes.decisions.effect import as_decision
from nodes.decisions.kinds import check_person
from nodes.options import RunOptions, check_text

#: LangGraph's channel of what was sent out and not yet run.
TASKS: Final = "__pregel_tasks"
_ENDED = frozenset({"complete", "blocked", "retryable"})


async def retry_run(runtime: Runtime, run_id: UUID, task_id: str, rule: Rule) -> Outcome:
    """Research one branch of an unfinished run anew, and work the run on; all other branches stay as they are.

    Raises RetryRefused, NotFound, RunHeld and whatever `resume_run` does.
    """
    standing = await outcome(runtime, run_id)
    async with runtime.ledger.transaction() as tx:
        # Before the run is taken: what is refused changes nothing of it.
        await _check(tx, standing.run, task_id)
    if standing.run.status == "paused" and not standing.reviews:
        raise RetryRefused(
            f"run {run_id} has a decision that was not carried out yet; `perdure resume {run_id}` does, then try again"
        )
    async with working(runtime, run_id) as run:
        assert run is not None
        async with runtime.ledger.transaction(run_id) as tx:
            number = await _requested(tx, run, task_id, rule)
        await rewind(runtime, run, [(task_id, number)])
        return await work(runtime, run)


async def _requested(tx: Transaction, run: Run, task_id: str, rule: Rule) -> int:
    await _check(tx, run, task_id)
    number = await retries.request(tx, run.run_id, task_id, rule)
    # What was asked about the findings as they stood is asked again about those that stand then.
    await runs.close_reviews(tx, run.run_id)
    await runs.set_status(tx, run.run_id, "running")
    await runs.set_phase(tx, run.run_id, "research")
    return number


async def _check(tx: Transaction, run: Run, task_id: str) -> None:
    """Raise RetryRefused or NotFound for a task that cannot be researched anew."""
    if run.status in runs.FINISHED:
        raise RetryRefused(
            f"run {run.run_id} is {run.status} and stays as it is; `perdure fork {run.run_id} --at CHECKPOINT` begins a new"
            f" run from one of its checkpoints (`perdure history {run.run_id}`), and that run's branches can be tried again"
        )
    planned = {task.task_id: task for task in await tasks.everything(tx, run.run_id)}
    if task_id not in planned:
        raise NotFound(
            f"run {run.run_id} has no task {task_id[:80]!r}; it has: {', '.join(planned) or 'none yet'}"
        )
    if planned[task_id].status not in _ENDED:
        raise RetryRefused(
            f"task {task_id} is {planned[task_id].status}: it has not ended, and `perdure resume {run.run_id}` works it"
        )


async def settle_effect(
    runtime: Runtime, key: str, happened: str | None, said: Settlement, *, again: bool = False
) -> Effect:
    """Record what a person says became of an effect: the target's name for it, or None where it did not happen.

    With `again` it is sent once more when its run goes on. Raises NotFound, BadInput, EffectClosed, SettlementRefused.
    """
    async with runtime.ledger.transaction(actor=said.settled_by) as tx:
        effect = await effects.find(tx, key)
        run = await runs.get(tx, effect.run_id)
        check_person(said.settled_by)
        check_text(said.why, "reason")
        check_text(happened or "", "target's name for it")
        if again and effect.mode == "publication" and run.status in runs.FINISHED:
            raise SettlementRefused(
                f"run {run.run_id} is {run.status}, so nothing would send effect {effect.key} again; `perdure fork"
                f" {run.run_id} --at CHECKPOINT --effects reissue` begins a run that does"
            )
        if effect.status == "sending" and run.status in runs.FINISHED:
            # Nobody will look into it any more: its run was cancelled.
            await effects.doubt(tx, effect, len(effect.attempts), "its run was cancelled", 0.0)
        if await _agreed(tx, effect, run, happened, said, again=again):
            if happened is not None:
                await settling.happened(tx, effect, happened, said)
            elif again:
                await settling.again(tx, effect, said)
            else:
                await settling.did_not_happen(tx, effect, said)
        return await effects.get(tx, effect.run_id, effect.key)


async def _agreed(
    tx: Transaction,
    effect: Effect,
    run: Run,
    happened: str | None,
    said: Settlement,
    *,
    again: bool,
) -> bool:
    """Record what was said as a decision of the review that asks for it; returns whether that settles it.

    Where two people have to say the same, the first one's word is kept and settles nothing yet; one's alone is refused
    where no review is open to keep it.
    """
    for asked in await open_settlements(tx, effect.run_id):
        if asked.shown["key"] == effect.key:
            decision = as_decision(happened, said, again=again)
            return (await reviews.decide(tx, asked, decision)).decision is not None
    persons = RunOptions.model_validate(run.options).rules("effect").persons
    is_asked = effect.mode == "publication" and run.status not in runs.FINISHED
    if persons > 1 and is_asked and effect.status in {"in_doubt", "failed", "awaiting_person"}:
        raise SettlementRefused(
            f"{persons} different people have to say the same of effect {effect.key}, and no review of it is open:"
            f" `perdure resume {run.run_id}` looks into it, and asks where only people can tell"
        )
    return True
