"""Another model for a run that was begun: its next calls are made with that one, and what was accepted stays.

Operations are named by what is asked, so that no answer is asked for again; each attempt keeps the model that made it.
"""

from uuid import UUID

from graph.errors import ModelChangeRefused
from graph.leaving import check_leaving
from graph.runtime import Runtime
from graph.working import holding
from ledger import runs
from ledger.runs import Run
from nodes.decisions.kinds import check_person


async def change_model(runtime: Runtime, run_id: UUID, model: str, by: str | None = None) -> None:
    """Have an unfinished run think with another model from now on; `by` is who wants it, for the audit log.

    The model that it had is not asked: it may be gone. Raises BadInput for one that nobody knows, or that its endpoint does
    not, and where what was found on this machine would leave it past the run's rules; CredentialRefused, ModelChangeRefused, NotFound, RunHeld and RunBlocked.
    """
    if by is not None:
        check_person(by)
    # A name with a typing error would be in the way of every later resume.
    await runtime.resources.researchers.check_now(model)
    async with runtime.ledger.transaction() as tx:
        # Before the run is taken: what is refused changes nothing of it.
        run = await runs.get(tx, run_id)
    await _check(runtime, run, model)
    if run.options["model"] == model:
        return
    async with holding(runtime, run_id):
        async with runtime.ledger.transaction() as tx:
            run = await runs.get(tx, run_id)
        await _check(runtime, run, model)
        async with runtime.ledger.transaction(run_id, actor=by) as tx:
            await runs.change_model(tx, run, model)


async def _check(runtime: Runtime, run: Run, model: str) -> None:
    if run.status in runs.FINISHED:
        raise ModelChangeRefused(
            f"run {run.run_id} is {run.status} and stays as it is; `perdure fork {run.run_id} --at CHECKPOINT` begins a new"
            f" run from one of its checkpoints, and that one can go on with {model}"
        )
    await check_leaving(runtime, run, model)
