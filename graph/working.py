"""Working a run: held by one worker for as long as it is worked, and its row says afterwards how it stands.

The same for every surface: the command line, a notebook, LangGraph's server.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from uuid import UUID

from graph.errors import RunStuck, UnknownWorkflow
from graph.runtime import Runtime
from ledger import leases, runs
from ledger.db import wrap_errors
from ledger.errors import NotFound, OperationFailed, RunCancelled
from ledger.runs import Run
from nodes.options import BadInput


@asynccontextmanager
async def working(
    runtime: Runtime, run_id: UUID, *, new: bool = False
) -> AsyncGenerator[Run | None]:
    """Hold a run and yield its row, or None where it has none yet; `new` is for a caller that is about to write it.

    Raises RunHeld, TakeoverBlocked, UnknownWorkflow, and LeaseLost soon after another has taken the run over. What
    trying again would meet again marks the run failed, with the reason; a lost database or lease leaves it as it is, to
    be resumed.
    """
    async with leases.hold(runtime.ledger, run_id):
        run = None if new else await _taken_up(runtime, run_id)
        try:
            # LangGraph's own statements fail with the driver's errors.
            with wrap_errors():
                yield run
        except (BadInput, OperationFailed, RunStuck) as error:
            with suppress(RunCancelled):
                await _failed(runtime, run_id, str(error))
            raise


async def _taken_up(runtime: Runtime, run_id: UUID) -> Run | None:
    async with runtime.ledger.transaction() as tx:
        try:
            run = await runs.get(tx, run_id)
        except NotFound:
            return None
        if run.status in runs.FINISHED:
            return run
        if run.fingerprint != runtime.resources.workflow.fingerprint:
            raise UnknownWorkflow(
                f"run {run_id} was begun by workflow version {run.workflow_version} with another topology; resuming it"
                " here could skip steps. Install the version of perdure that began it"
            )
        if run.status != "paused":
            # A paused run goes on when its review is decided; the review's step says so.
            await runs.set_status(tx, run_id, "running")
        return run


async def _failed(runtime: Runtime, run_id: UUID, reason: str) -> None:
    # Fenced: of a run that was taken over, or cancelled, nothing more is said here.
    async with runtime.ledger.transaction(run_id) as tx:
        try:
            run = await runs.get(tx, run_id)
        except NotFound:
            return
        # What was refused on a run that waits for a person, or is finished, has not changed it.
        if run.status == "running":
            await runs.set_status(tx, run_id, "failed", reason)
