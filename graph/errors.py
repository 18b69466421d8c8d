"""What can go wrong in driving a run, besides the ledger's own errors; cheap to import."""

from ledger.errors import LedgerError


class RunStuck(LedgerError):
    """Going on changed nothing: the graph has no next step and the run is not finished."""


class UnknownWorkflow(LedgerError):
    """The run was begun by another version of the workflow."""
