"""Working a run: held by one worker for as long as it is worked, and its row says afterwards how it stands.

The same for every surface: the command line, a notebook, LangGraph's server.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from uuid import UUID

from graph.admitting import admit
from graph.errors import RunLeft, RunStuck, StateInvalid
from graph.recovery import blocked, check_finished, recover
from graph.runtime import Runtime
from ledger import integrity, leases, runs
from ledger.errors import (
    CredentialRefused,
    EffectsUnsettled,
    NotFound,
    OperationFailed,
    RunCancelled,
)
from ledger.runs import Run, Status
from ledger.translation import wrap_errors
from nodes.models.courses import RunPostponed
from nodes.options import BadInput


@asynccontextmanager
async def holding(runtime: Runtime, run_id: UUID) -> AsyncGenerator[None]:
    """Hold a run whose rows are as they were sealed, and whose workflow may be worked here.

    Raises RunLeft, RunHeld, TakeoverBlocked, SealKeyMissing, RunBlocked, LeaseLost.
    """
    async with runtime.ledger.transaction() as tx:
        # Before anything is written: who cannot check what was sealed does not take the run from those who can.
        await integrity.check_key(tx, run_id)
        if damage := await integrity.foreign_changes(tx, run_id):
            raise blocked(run_id, damage)
    await _admitted(runtime, run_id)
    async with leases.hold(runtime.ledger, run_id):
        yield


async def _admitted(runtime: Runtime, run_id: UUID) -> None:
    """Refuse what is another worker's to take; whoever wrote into a run's row that it is one's is not believed."""
    try:
        async with runtime.ledger.transaction() as tx:
            await admit(runtime, tx, run_id)
    except RunLeft:
        async with runtime.ledger.transaction(one_moment=True) as tx:
            damage = await integrity.damaged_rows(tx, run_id)
        if damage and damage != [integrity.OLDER]:
            raise blocked(run_id, damage) from None
        raise


@asynccontextmanager
async def working(
    runtime: Runtime, run_id: UUID, *, new: bool = False
) -> AsyncGenerator[Run | None]:
    """Hold a run and yield its row, or None where it has none yet; `new` is for a caller that is about to write it.

    A run that was begun before is recovered first. Raises what `holding` and `recover` raise,
    and LeaseLost soon after another has taken the run over. What trying again would meet again marks the run failed, with
    the reason; what a person can mend marks it blocked; a lost database or lease leaves it as it is, to be resumed.
    """
    async with holding(runtime, run_id):
        run = None if new else await _taken_up(runtime, run_id)
        try:
            # LangGraph's own statements fail with the driver's errors.
            with wrap_errors():
                yield run
        except (CredentialRefused, EffectsUnsettled) as error:
            await _stopped(runtime, run_id, "blocked", str(error))
            raise
        except StateInvalid as error:
            # Also one that waited for a person: what they decided leads nowhere while its state cannot be read.
            await _stopped(runtime, run_id, "blocked", str(error), leaves=("running", "paused"))
            raise
        except RunPostponed as error:
            await _stopped(runtime, run_id, "blocked", error.reason, error.seconds)
            async with runtime.ledger.transaction() as tx:
                run = await runs.get(tx, run_id)
            raise RunPostponed(error.reason, error.seconds, run.try_again_at) from error
        except (BadInput, OperationFailed, RunStuck) as error:
            await _stopped(runtime, run_id, "failed", str(error))
            raise


async def _taken_up(runtime: Runtime, run_id: UUID) -> Run | None:
    async with runtime.ledger.transaction() as tx:
        try:
            run = await runs.get(tx, run_id)
        except NotFound:
            return None
    if run.status in runs.FINISHED:
        await check_finished(runtime, run)
        return run
    await recover(runtime, run)
    async with runtime.ledger.transaction(run_id) as tx:
        if run.status != "paused":
            # A paused run goes on when its review is decided; the review's step says so.
            await runs.set_status(tx, run_id, "running")
        return await runs.get(tx, run_id)


async def _stopped(
    runtime: Runtime,
    run_id: UUID,
    status: Status,
    reason: str,
    again_in: float | None = None,
    leaves: tuple[Status, ...] = ("running",),
) -> None:
    # Fenced: of a run that was taken over, or cancelled, nothing more is said here.
    with suppress(RunCancelled):
        async with runtime.ledger.transaction(run_id) as tx:
            try:
                run = await runs.get(tx, run_id)
            except NotFound:
                return
            # What was refused on a run that waits for a person, or is finished, has not changed it.
            if run.status in leaves:
                await runs.set_status(tx, run_id, status, reason, again_in)
