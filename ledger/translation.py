"""What the database's driver raises, as what it means to the ledger: here and nowhere else."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final
from uuid import UUID

import psycopg
from psycopg_pool import PoolTimeout

from ledger.errors import (
    DatabaseFull,
    DatabaseUnavailable,
    LeaseLost,
    LedgerDamaged,
    LedgerError,
    RunCancelled,
    SchemaOutdated,
    WriteConflict,
)

# A database that restarts is back within a few seconds; a worker waits that long before it gives up.
CONNECTION_WAIT_SECONDS = 30.0


@contextmanager
def wrap_errors() -> Generator[None]:
    """Turn the driver's errors into the ledger's."""
    try:
        yield
    except PoolTimeout as error:
        raise DatabaseUnavailable(
            f"no connection to the database within {CONNECTION_WAIT_SECONDS:.0f} s; is it running? `perdure doctor` tells"
        ) from error
    except psycopg.Error as error:
        raise _translated(error) from error


def _translated(error: psycopg.Error) -> LedgerError:
    make = _BY_STATE.get(error.sqlstate or "")
    return _unnamed(error) if make is None else make(error.diag.message_detail or "")


def _damaged_row(detail: str) -> LedgerError:
    run_id, _, row = detail.partition(" ")
    return LedgerDamaged(UUID(run_id), f"{row} is not as it was sealed")


def _conflict(_detail: str) -> LedgerError:
    return WriteConflict("another transaction was in the way; `perdure resume` goes on")


def _outdated(_detail: str) -> LedgerError:
    return SchemaOutdated(
        "the database lacks tables of this version; `perdure migrate` brings it up to date"
    )


#: By SQLSTATE (PostgreSQL's documentation, appendix A); those that begin with PF are raised by our own functions.
_BY_STATE: Final[dict[str, Callable[[str], LedgerError]]] = {
    "PF001": lambda owner: LeaseLost(owner or "unknown"),
    "PF002": lambda _: RunCancelled(
        "this run was cancelled; nothing more was written. `perdure show` has what was found"
    ),
    "PF003": _damaged_row,
    "40P01": _conflict,
    "40001": _conflict,
    "53100": lambda _: DatabaseFull(
        "the disk of the database is full; nothing was written. Free space, then resume the run"
    ),
    "42P01": _outdated,
    "3F000": _outdated,
    "42703": _outdated,
    "42883": _outdated,
}


def _unnamed(error: psycopg.Error) -> LedgerError:
    # The first line of the server's message; further lines may hold values.
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return DatabaseUnavailable(
            f"the database cannot be used: {reason}; `perdure doctor` looks into it"
        )
    return LedgerError(f"the database refused a statement: {type(error).__name__}: {reason}")
