"""What can go wrong in driving a run, besides the ledger's own errors; cheap to import."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from ledger.errors import LedgerError

#: A change of the workflow touches many places; the first say which change it was.
DIFFERENCES_TOLD_MAX: Final = 5


class RunStuck(LedgerError):
    """Going on changed nothing: the graph has no next step and the run is not finished."""


class RunBlocked(LedgerError):
    """What is stored of the run cannot be trusted, and there is nothing to fall back to: a person has to act."""


class RunWaits(LedgerError):
    """Something that the run needs is missing, such as a valid key; it goes on when that is there again."""


class RetryRefused(LedgerError):
    """A branch cannot be researched anew as the run stands."""


class ModelChangeRefused(LedgerError):
    """The run is finished: no other model has anything to do in it."""


class CannotMigrate(LedgerError):
    """A run cannot be brought to another version of the workflow; an upcast raises it with the reason, in words."""


class UnknownWorkflow(LedgerError):
    """The run was begun by a workflow that nothing leads here from; going on could skip a step or repeat one.

    `differences` name every place where the two differ; the message has the first of them.
    """

    def __init__(self, subject: str, version: int, differences: Sequence[str]) -> None:
        self.differences = tuple(differences)
        told = "; ".join(self.differences[:DIFFERENCES_TOLD_MAX])
        more = len(self.differences) - DIFFERENCES_TOLD_MAX
        rest = f"; and {more} more" if more > 0 else ""
        super().__init__(
            f"{subject} is of workflow version {version} with another topology, so it is stopped for review: {told}{rest}. Going on here could skip a step or"
            " repeat one; a worker of the version that began it goes on with it"
        )


class RunLeft(LedgerError):
    """The run is another worker's to take: nothing was written to it."""


class NewerWorkflow(RunLeft):
    """The run is of a later version of the workflow; `version` is the one that is needed."""

    def __init__(self, subject: str, version: int, known: int) -> None:
        self.version = version
        super().__init__(
            f"{subject} is of workflow version {version}, and this code knows versions up to {known}: the run is left as it"
            f" is. Install the perdure that has version {version}, or let a worker that has it take the run"
        )


class UpgradeNeeded(RunLeft):
    """The run is of an earlier version of the workflow, and a person says when it is migrated."""

    def __init__(self, run_id: UUID, version: int, here: int) -> None:
        super().__init__(
            f"run {run_id} is of workflow version {version}, this worker works version {here}: it is left as it is."
            f" `perdure upgrade {run_id}` brings it to version {here}"
        )


class StateInvalid(LedgerError):
    """What a step would read of the run's state is not of the form that this version wrote: it was not entered."""

    def __init__(self, node: str, problems: Sequence[str]) -> None:
        self.node = node
        self.problems = tuple(problems)
        super().__init__(
            f"step {node} was not begun, because the run's state is not what this version stores: {'; '.join(problems)}."
            " `perdure history RUN` lists the checkpoints, and `perdure fork RUN --at CHECKPOINT` begins from an earlier one"
        )


class SettlementRefused(LedgerError):
    """A person's word about an effect cannot count: nothing would follow from it, or one person is not enough."""
