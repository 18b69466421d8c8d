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
    DeliveryInDoubt,
    DeliveryRefused,
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


@contextmanager
def wrap_refusals() -> Generator[None]:
    """Turn what a table of the user's own answers to a row that it does not take into DeliveryRefused; the rest passes."""
    try:
        yield
    except psycopg.Error as error:
        if (error.sqlstate or "")[:2] not in _REFUSING_CLASSES:
            raise
        raise _refusal(error) from error


@contextmanager
def wrap_delivery_errors() -> Generator[None]:
    """Turn what happens to a statement that commits by itself in another database into what became of it."""
    try:
        yield
    except psycopg.Error as error:
        state = error.sqlstate or ""
        if state[:2] in _REFUSING_CLASSES:
            raise _refusal(error) from error
        if not state or state[:2] == "08" or state in _ENDED_WITHOUT_ANSWER:
            raise DeliveryInDoubt(
                "the connection to the other database broke while a row was written"
            ) from error
        if state == "53100":
            raise DatabaseFull("the disk of the other database is full") from error
        raise WriteConflict(
            f"the other database took the row back ({type(error).__name__})"
        ) from error


#: Data, constraints, privileges, missing things, read by class: the same row would be refused again.
_REFUSING_CLASSES: Final = frozenset({"0A", "22", "23", "28", "3F", "42", "44", "P0"})
#: A completion that the server does not know, and sessions that it ends, which may be waiting for a replica to commit.
_ENDED_WITHOUT_ANSWER: Final = frozenset({"40003", "57P01", "57P02", "57P03", "57P05"})


def _refusal(error: psycopg.Error) -> DeliveryRefused:
    # Of names and rights the server's message tells what is missing; elsewhere it may hold values.
    named = (error.sqlstate or "")[:2] in {"42", "3F"}
    reason = error.diag.message_primary if named else None
    return DeliveryRefused(f"the table takes no such row: {reason or type(error).__name__}")


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
