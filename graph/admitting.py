"""Whether a worker may take a run, and go on from a checkpoint: what they bear of their workflow, held against this one.

A run that is another worker's to take is left before it is held: nothing is written to it. Every other refusal names what
differs. All surfaces come by here: whoever holds a run (graph/working.py), its recovery, forks, and whatever is loaded.
"""

from uuid import UUID

from graph.compatibility import Migratable, Newer, Unknown, Verdict, judge
from graph.errors import NewerWorkflow, RunLeft, UpgradeNeeded
from graph.refusing import refused
from graph.runtime import Runtime
from ledger import runs, workflows
from ledger.db import Transaction
from ledger.errors import NotFound
from ledger.runs import Run
from ledger.stamps import Stamp
from nodes.options import BadInput


async def admit(runtime: Runtime, tx: Transaction, run_id: UUID) -> None:
    """Refuse a run that this worker does not take, before it is held; writes nothing.

    Raises RunLeft, and BadInput for a new run that this worker would not take afterwards.
    """
    try:
        run = await runs.get(tx, run_id)
    except NotFound:
        _admit_new(runtime)
        return
    if run.status not in runs.FINISHED and (error := left(runtime, run)) is not None:
        raise error


def _admit_new(runtime: Runtime) -> None:
    versions, here = runtime.settings.versions, runtime.definition.version
    if versions and here not in versions:
        raise BadInput(
            f"a new run would be of workflow version {here}, and this worker takes only runs of {_listed(versions)}"
            " (PERDURE_VERSIONS); add it there"
        )


def left(runtime: Runtime, run: Run) -> RunLeft | None:
    """Return why a run is another worker's to take, None where it is not."""
    versions = runtime.settings.versions
    if versions and run.workflow_version not in versions:
        return RunLeft(
            f"run {run.run_id} is of workflow version {run.workflow_version}, and this worker takes only runs of"
            f" {_listed(versions)} (PERDURE_VERSIONS): it is left to another"
        )
    match judge(run.stamp, runtime.definition):
        case Newer(version):
            return NewerWorkflow(f"run {run.run_id}", version, runtime.definition.version)
        case Migratable() if not runtime.migrates:
            return not_migrated(runtime, run)
        case _:
            return None


def not_migrated(runtime: Runtime, run: Run) -> RunLeft:
    """Return why a run of an earlier version stays one."""
    if runtime.settings.migrate == "never":
        return RunLeft(
            f"run {run.run_id} is of workflow version {run.workflow_version}, and this worker migrates none"
            f" (PERDURE_MIGRATE=never): it is left to a worker of version {run.workflow_version}"
        )
    return UpgradeNeeded(run.run_id, run.workflow_version, runtime.definition.version)


async def judged(runtime: Runtime, tx: Transaction, stamp: Stamp) -> Verdict:
    """Judge a stamp; of a workflow that this code was never told about, by what the database knows of its topology."""
    verdict = judge(stamp, runtime.definition)
    if not isinstance(verdict, Unknown):
        return verdict
    return judge(stamp, runtime.definition, await workflows.topology(tx, stamp.fingerprint))


async def check(runtime: Runtime, tx: Transaction, subject: str, stamp: Stamp | None) -> None:
    """Refuse what another workflow stored, unless that is known to be harmless; `subject` names what.

    Raises UnknownWorkflow, NewerWorkflow, RunLeft.
    """
    if stamp is None:
        # Stored by LangGraph's own saver and adopted by a person: the run's row says whose it is.
        return
    verdict = await judged(runtime, tx, stamp)
    error = refused(runtime.definition, subject, stamp, verdict)
    if error is not None:
        raise error


def _listed(versions: list[int]) -> str:
    return f"version {', '.join(map(str, sorted(versions)))}"
