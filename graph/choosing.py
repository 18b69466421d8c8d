"""Which checkpoint a run goes on from: the newest that is whole, of the graph itself and of each branch that is out.

What is newer and not whole is rejected, and so are damaged results of single steps, which then run again: the journal has
the answers to their calls.
"""

from dataclasses import dataclass
from uuid import UUID

from langgraph.types import StateSnapshot

from graph import checkpoints
from graph.checkpoints import Inspected
from graph.runtime import Runtime
from graph.threads import run_config
from ledger.db import Transaction
from ledger.errors import CheckpointUnsealed, RecordTooNew
from ledger.records import SCHEMA_VERSION
from ledger.recoveries import Rejected
from ledger.runs import Run
from nodes.options import RunOptions


@dataclass(frozen=True, slots=True)
class Chosen:
    """The checkpoint to go on from, None where there is none that is whole, and the state that it holds."""

    head: Inspected | None
    state: StateSnapshot | None
    #: Everything that was found not to be whole, now and at earlier recoveries.
    rejected: tuple[Rejected, ...]
    #: The steps whose stored results were damaged, so that they run again.
    reruns: tuple[str, ...]

    @property
    def is_unbegun(self) -> bool:
        """Whether no checkpoint was ever stored."""
        return self.head is None and not self.rejected

    @property
    def is_lost(self) -> bool:
        """Whether there were checkpoints and none of them is whole."""
        return self.head is None and bool(self.rejected)


async def choose(runtime: Runtime, run: Run) -> Chosen:
    """Choose, and reject what is not whole; raises CheckpointUnsealed, RecordTooNew, SealKeyMissing."""
    async with runtime.ledger.transaction(run.run_id) as tx:
        head, reruns = await newest_whole(tx, run.run_id, "")
    state = None
    if head is not None:
        config = run_config(run.run_id, RunOptions.model_validate(run.options))
        state = await runtime.compiled().aget_state(config)
        for ns in _branches(state):
            async with runtime.ledger.transaction(run.run_id) as tx:
                reruns += (await newest_whole(tx, run.run_id, ns))[1]
    async with runtime.ledger.transaction() as tx:
        rejected = await checkpoints.rejected(tx, run.run_id)
    return Chosen(head, state, tuple(rejected), tuple(reruns))


async def newest_whole(
    tx: Transaction, run_id: UUID, ns: str
) -> tuple[Inspected | None, list[str]]:
    """Return the newest checkpoint of a namespace that is whole, and the steps whose results were not.

    Rejects what is not whole; raises CheckpointUnsealed, RecordTooNew, SealKeyMissing.
    """
    while (head := await checkpoints.head(tx, run_id, ns)) is not None:
        name = (str(run_id), ns, head.checkpoint_id)
        if head.unsealed:
            raise CheckpointUnsealed(name)
        if head.newer is not None:
            raise RecordTooNew(name, head.newer, SCHEMA_VERSION)
        if not head.problems:
            break
        await checkpoints.reject(tx, run_id, ns, head.checkpoint_id, "; ".join(head.problems))
    if head is None or not head.write_problems:
        return head, []
    await checkpoints.reject_writes(tx, run_id, ns, head.checkpoint_id, head.write_problems)
    told = [
        f"step {task_id}: {'; '.join(problems)}"
        for task_id, problems in head.write_problems.items()
    ]
    return head, told


def _branches(state: StateSnapshot) -> list[str]:
    """Return the namespaces of the branches that are out: those of the graph's unfinished tasks."""
    configs = [task.state for task in state.tasks if isinstance(task.state, dict)]
    return [str(config.get("configurable", {}).get("checkpoint_ns", "")) for config in configs]
