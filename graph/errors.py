"""What can go wrong in driving a run, besides the ledger's own errors; cheap to import."""

from ledger.errors import LedgerError


class RunStuck(LedgerError):
    """Going on changed nothing: the graph has no next step and the run is not finished."""


class RunBlocked(LedgerError):
    """What is stored of the run cannot be trusted, and there is nothing to fall back to: a person has to act."""


class RunWaits(LedgerError):
    """Something that the run needs is missing, such as a valid key; it goes on when that is there again."""


class RetryRefused(LedgerError):
    """A branch cannot be researched anew as the run stands."""


class CannotMigrate(LedgerError):
    """A run cannot be brought to another version of the workflow; an upcast raises it with the reason, in words."""


class UnknownWorkflow(LedgerError):
    """The run was begun by another version of the workflow."""


class SettlementRefused(LedgerError):
    """A person's word about an effect cannot count: nothing would follow from it, or one person is not enough."""
