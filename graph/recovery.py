"""Recovery: what happens between taking up a run that was begun before and working on it.

One function per step, each of which returns the report with what it found: validate, load, reconcile, restore, ask anew,
continue. A step that finds what nobody may go on from stops it, with an error that says what to do; the
report is stored either way. Nothing that was stored is overwritten: what fails is rejected, and kept.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeAlias
from uuid import UUID

from langgraph.types import StateSnapshot

from graph import forking
from graph.admitting import judged, not_migrated
from graph.choosing import choose
from graph.compatibility import Compatible, Migratable
from graph.errors import CannotMigrate, RunBlocked, RunLeft, RunWaits, UnknownWorkflow
from graph.migrating import migrate_run
from graph.refusing import refused
from graph.revalidation import revalidate
from graph.rewinding import rewind
from graph.runtime import Runtime
from graph.threads import run_config
from ledger import forks, integrity, recoveries, retries, runs
from ledger.errors import (
    CheckpointDamaged,
    CheckpointUnsealed,
    LedgerDamaged,
    LedgerError,
    NotFound,
    RecordTooNew,
    SealKeyMissing,
)
from ledger.integrity import Damage
from ledger.recoveries import Outcome, Reconciled, Report
from ledger.runs import Run
from nodes import consequences
from nodes.options import RunOptions

_log = logging.getLogger(__name__)

# Damage is usually one thing with many consequences.
TOLD_MAX = 3


@dataclass(frozen=True, slots=True)
class Stop:
    """Why a run does not go on: `paused` where something that it needs is missing, `blocked` where nothing can be trusted."""

    outcome: Outcome
    error: LedgerError


Found: TypeAlias = tuple[Report, Stop | None]
Step: TypeAlias = Callable[[Runtime, Run, Report], Awaitable[Found]]

# Named reasons to stop that a step meets by reading.
_UNREADABLE = (
    UnknownWorkflow,
    CannotMigrate,
    RunLeft,
    CheckpointUnsealed,
    RecordTooNew,
    LedgerDamaged,
    SealKeyMissing,
)


async def recover(runtime: Runtime, run: Run) -> Report:
    """Make a run that this process holds ready to be worked on, and store what was found.

    Raises RunBlocked, RunWaits, UnknownWorkflow, CheckpointUnsealed, RecordTooNew: a person has to act.
    """
    async with runtime.ledger.transaction(run.run_id) as tx:
        number = await recoveries.begin(tx, run.run_id)
    report, stop = await _walked(runtime, run)
    async with runtime.ledger.transaction(run.run_id) as tx:
        await recoveries.end(tx, run.run_id, number, stop.outcome if stop else "resumed", report)
    if stop is not None:
        if not isinstance(stop.error, RunLeft):
            await _say_blocked(runtime, run, str(stop.error))
        raise stop.error
    return report


async def _walked(runtime: Runtime, run: Run) -> Found:
    report = Report()
    for step in _STEPS:
        try:
            report, stop = await step(runtime, run, report)
        except _UNREADABLE as error:
            stop = Stop("paused" if isinstance(error, RunLeft) else "blocked", error)
        if stop is not None:
            return report.model_copy(update={"why": str(stop.error)}), stop
    return report, None


async def validate_workflow(runtime: Runtime, run: Run, report: Report) -> Found:
    """Refuse a run of another workflow, unless it is known to be harmless, or upcasts lead here."""
    async with runtime.ledger.transaction() as tx:
        verdict = await judged(runtime, tx, run.stamp)
    match verdict:
        case Compatible(reason):
            _log.info("run %s goes on under another workflow: %s", run.run_id, reason)
            return report.model_copy(update={"compatible": reason}), None
        case Migratable(steps) if runtime.migrates:
            await migrate_run(runtime, run, steps)
            return report.model_copy(update={"migrated": steps}), None
        case Migratable():
            raise not_migrated(runtime, run)
        case _:
            error = refused(runtime.definition, f"run {run.run_id}", run.stamp, verdict)
            return report, Stop("blocked", error) if error else None


async def load(runtime: Runtime, run: Run, report: Report) -> Found:
    """Choose the newest checkpoint that is whole; what is newer and is not, is rejected, and so are damaged results."""
    chosen = await choose(runtime, run)
    if chosen.is_unbegun:
        if (stop := await _finish_fork(runtime, run)) is not None:
            return report, stop
        chosen = await choose(runtime, run)
    head = chosen.head
    report = report.model_copy(
        update={
            "loaded_checkpoint": head.checkpoint_id if head else None,
            "boundary": head.boundary if head else None,
            "anchor": head.anchor if head else None,
            "rejected": chosen.rejected,
            "reruns": chosen.reruns,
        }
    )
    if not chosen.is_lost:
        return report, None
    return report, Stop(
        "blocked",
        RunBlocked(
            f"run {run.run_id} has no checkpoint that is whole; `perdure history {run.run_id}` lists them with what is"
            " wrong with each. Its question can be asked anew with `perdure run`"
        ),
    )


async def _finish_fork(runtime: Runtime, run: Run) -> Stop | None:
    """Let a fork that has its rows and no checkpoint begin where it was to; one without is never begun with its question."""
    async with runtime.ledger.transaction() as tx:
        fork = await forks.of(tx, run.run_id)
    if fork is None:
        return None
    try:
        await forking.finish(runtime, run.run_id, fork)
    except (CheckpointDamaged, NotFound) as error:
        unfinished = RunBlocked(
            f"run {run.run_id} was to be a fork, its worker died over it, and what it begins with cannot be had any more:"
            f" {error}. `perdure cancel {run.run_id}`, then fork from another checkpoint"
        )
        return Stop("blocked", unfinished)
    return None


async def validate_rows(runtime: Runtime, run: Run, report: Report) -> Found:
    """Compare every row that the run rests on with its sealed history, and every artifact with its digest."""
    async with runtime.ledger.transaction(one_moment=True) as tx:
        return _unless(run, await integrity.damage(tx, run.run_id), report)


async def validate_anchor(runtime: Runtime, run: Run, report: Report) -> Found:
    """See that the ledger still holds the version that the checkpoint rests on: nobody cut off its end."""
    async with runtime.ledger.transaction(one_moment=True) as tx:
        return _unless(run, await integrity.lost_anchor(tx, run.run_id, report.anchor), report)


async def check_finished(runtime: Runtime, run: Run) -> None:
    """Raise RunBlocked for a run whose row says that it is finished and which is not as it was sealed."""
    async with runtime.ledger.transaction(one_moment=True) as tx:
        if damage := await integrity.damage(tx, run.run_id):
            raise blocked(run.run_id, damage)


def _unless(run: Run, damage: Sequence[Damage], report: Report) -> Found:
    if not damage:
        return report, None
    told = tuple(str(each) for each in damage)
    return report.model_copy(update={"damage": told}), Stop("blocked", blocked(run.run_id, damage))


def blocked(run_id: UUID, damage: Sequence[Damage]) -> RunBlocked:
    """Return the error of a run that is not as it was sealed: what is wrong, and the way out."""
    if list(damage) == [integrity.OLDER]:
        return RunBlocked(
            f"run {run_id} was begun before rows were sealed, so nobody can say that it is unchanged. If you trust this"
            f" database, `perdure adopt {run_id} --as YOU` seals it as it is"
        )
    told = [str(each) for each in damage]
    more = f" and {len(told) - TOLD_MAX} more" if len(told) > TOLD_MAX else ""
    # Of bytes there is no second copy that a fork could begin with.
    way_out = (
        "bring the artifact back from a backup of the database, then resume the run"
        if any(each.part.startswith("artifact") for each in damage)
        else f"`perdure fork {run_id} --at CHECKPOINT` begins a new run from what was sealed before"
    )
    return RunBlocked(
        f"run {run_id} is damaged and is not resumed: {'; '.join(told[:TOLD_MAX])}{more}. `perdure verify {run_id}` lists"
        f" all; {way_out}"
    )


async def reconcile(runtime: Runtime, run: Run, report: Report) -> Found:
    """Find what earlier workers left: answers, used or not, calls without an answer, consequences in the middle.

    Those are looked into before anything else is done.
    """
    async with runtime.ledger.transaction() as tx:
        at_hand = await recoveries.at_hand(tx, run.run_id)
    told = await consequences.reconcile(runtime.resources, run.run_id)
    looked_into = tuple(
        Reconciled(key=key, before=before, after=after) for key, before, after in told
    )
    return report.model_copy(update={"at_hand": at_hand, "effects": looked_into}), None


async def restore(runtime: Runtime, run: Run, report: Report) -> Found:
    """Send the graph back for the retries that were asked for and not begun: whoever asked died over it."""
    async with runtime.ledger.transaction() as tx:
        asked = await retries.not_applied(tx, run.run_id)
    if asked:
        await rewind(runtime, run, asked)
    return report.model_copy(update={"retries": tuple(task for task, _ in asked)}), None


async def ask_anew(runtime: Runtime, run: Run, report: Report) -> Found:
    """Ask for what the run needs; without it, it waits."""
    asked = await revalidate(runtime, run)
    report = report.model_copy(update={"asked": asked})
    missing = [each.detail for each in asked if not each.ok]
    if not missing:
        return report, None
    return report, Stop("paused", RunWaits(f"run {run.run_id} waits: {'; '.join(missing)}"))


async def continue_from(runtime: Runtime, run: Run, report: Report) -> Found:
    """Say which step is next, and why."""
    options = RunOptions.model_validate(run.options)
    state = await runtime.compiled().aget_state(run_config(run.run_id, options))
    next_steps = tuple(sorted({task.name for task in state.tasks} | set(state.next)))
    return report.model_copy(update={"next": next_steps, "why": _why(state, report)}), None


def _why(state: StateSnapshot, report: Report) -> str:
    if report.loaded_checkpoint is None:
        return "no checkpoint was stored: the run begins with its question"
    step: dict[str, Any] = state.values.get("step") or {}
    reached = f"the checkpoint was stored at {report.boundary}"
    if step:
        reached += f", after the step {step.get('name')}"
    if state.interrupts:
        return f"{reached}; a review is asked, and the step goes on when it is decided"
    if not state.next:
        return f"{reached}; the results of its next step are stored, their checkpoint is not"
    if "branch" in state.next:
        ready = ", ".join(state.values.get("ready") or [])
        return f"{reached}; the tasks {ready} were sent out, and those whose branch has not ended go on"
    return f"{reached}; what follows it has not ended"


async def _say_blocked(runtime: Runtime, run: Run, reason: str) -> None:
    # The run's own row may be what is damaged: then nothing is written over it.
    with suppress(LedgerDamaged):
        async with runtime.ledger.transaction(run.run_id) as tx:
            await runs.set_status(tx, run.run_id, "blocked", reason)


# Rows first: what else is read rests on them.
_STEPS: tuple[Step, ...] = (
    validate_rows,
    validate_workflow,
    load,
    validate_anchor,
    reconcile,
    restore,
    ask_anew,
    continue_from,
)
