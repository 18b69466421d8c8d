"""Rows for tables that are not ours: one per idempotency key, in the ledger's own database or in another one.

The table's unique key makes the row: of two that insert it, one does, and the other compares digests. In our own
database the row commits with the caller's transaction; elsewhere it commits by itself, so a connection that breaks
meanwhile leaves doubt, which a look-up by the key ends.
"""

import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import psycopg
from psycopg.rows import DictRow, dict_row
from psycopg.sql import SQL, Composed, Identifier
from typing_extensions import override

from ledger.db import Connection, Transaction
from ledger.errors import DatabaseUnavailable, DeliveryRefused
from ledger.translation import wrap_delivery_errors, wrap_errors, wrap_refusals

#: What a table for reports has; `idempotency_key` is its primary key, or unique.
COLUMNS: Final = (
    "idempotency_key",
    "run_id",
    "question",
    "report_artifact",
    "markdown",
    "request_digest",
)
#: Whether the row was made now, was there before, or is another one.
Delivered: TypeAlias = Literal["made", "there", "differs"]

# 63 bytes are all that PostgreSQL keeps of a name.
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_$]{0,62}")
# Tables that live by rules of their own.
_NOT_FOR_REPORTS: Final = frozenset({"ledger", "langgraph", "pg_catalog", "information_schema"})
# libpq waits no less.
_CONNECT_SECONDS_MIN = 2

_INSERT: Final = SQL(
    "INSERT INTO {table} (idempotency_key, run_id, question, report_artifact, markdown, request_digest)"
    " VALUES (%(idempotency_key)s, %(run_id)s, %(question)s, %(report_artifact)s, %(markdown)s, %(request_digest)s)"
    " ON CONFLICT (idempotency_key) DO NOTHING RETURNING request_digest"
)
_SELECT: Final = SQL(
    "SELECT request_digest FROM {table} WHERE idempotency_key = %(idempotency_key)s"
)
_CHECK_NOW: Final = SQL("SET CONSTRAINTS ALL IMMEDIATE")
_PRESENT: Final = SQL(
    "SELECT attribute.attname FROM pg_attribute AS attribute"
    " WHERE attribute.attrelid = to_regclass(%(table)s) AND attribute.attnum > 0 AND NOT attribute.attisdropped"
)
_BOUND: Final = SQL(
    "SELECT set_config('statement_timeout', %(limit)s, false), set_config('lock_timeout', %(limit)s, false)"
)


@dataclass(frozen=True, slots=True)
class Table:
    """A table by its schema and name, each exactly as the database has it."""

    schema: str
    name: str

    @override
    def __str__(self) -> str:
        return f"{self.schema}.{self.name}"

    @property
    def shortly(self) -> str:
        """Its name, with the schema unless that is public."""
        return self.name if self.schema == "public" else str(self)

    def into(self, statement: SQL) -> Composed:
        """Return a statement about this table."""
        return statement.format(table=Identifier(self.schema, self.name))


def table(text: str) -> Table | None:
    """Return the table that a text names, in the schema public unless it says another; None if it names none."""
    schema, dot, name = text.rpartition(".")
    found = Table(schema if dot else "public", name)
    whole = all(_NAME.fullmatch(part) for part in (found.schema, found.name))
    return found if whole and found.schema.lower() not in _NOT_FOR_REPORTS else None


async def deliver_in(tx: Transaction, where: Table, row: Mapping[str, Any]) -> Delivered:
    """Insert a row in the caller's transaction, with which it commits.

    Raises DeliveryRefused where the table takes no such row; the transaction can go on.
    """
    with wrap_refusals():
        async with tx.connection.transaction():
            delivered = await _insert(tx.connection, where, row)
            # What the table checks at the end of a transaction would end the caller's.
            await tx.connection.execute(_CHECK_NOW)
            return delivered


async def look_up_in(tx: Transaction, where: Table, key: str) -> str | None:
    """Return the request digest of the row of a key; raises DeliveryRefused for a table that cannot be read."""
    with wrap_refusals():
        async with tx.connection.transaction():
            return await _select(tx.connection, where, key)


async def missing_in(tx: Transaction, where: Table) -> tuple[str, ...]:
    """Return the columns that the table lacks; all of them if there is no table."""
    return await _missing(tx.connection, where)


async def deliver(url: str, where: Table, row: Mapping[str, Any], seconds: float) -> Delivered:
    """Insert a row in another database, within so many seconds, after which the server has given it up, too.

    Raises DatabaseUnavailable, WriteConflict or DatabaseFull where surely nothing was written, DeliveryRefused where
    the same would be refused again, and DeliveryInDoubt.
    """
    async with _connected(url, seconds) as connection:
        with wrap_delivery_errors():
            return await _insert(connection, where, row)


async def look_up(url: str, where: Table, key: str, seconds: float) -> str | None:
    """Return the request digest of the row of a key in another database; raises as `deliver` does."""
    async with _connected(url, seconds) as connection:
        with wrap_delivery_errors():
            return await _select(connection, where, key)


async def reachable(url: str, seconds: float) -> None:
    """Connect to another database and leave it; raises DatabaseUnavailable."""
    async with _connected(url, seconds):
        pass


async def missing(url: str, where: Table, seconds: float) -> tuple[str, ...]:
    """Return the columns that a table of another database lacks; raises DatabaseUnavailable."""
    async with _connected(url, seconds) as connection:
        with wrap_errors():
            return await _missing(connection, where)


@asynccontextmanager
async def _connected(url: str, seconds: float) -> AsyncGenerator[Connection]:
    """Open a connection whose statements are bounded; half of the time is for opening it."""
    half = seconds / 2
    try:
        with wrap_errors():
            connection = await psycopg.AsyncConnection[DictRow].connect(
                url,
                autocommit=True,
                prepare_threshold=None,
                row_factory=dict_row,
                connect_timeout=max(_CONNECT_SECONDS_MIN, int(half)),
            )
            await connection.execute(_BOUND, {"limit": f"{max(1, int(half * 1000))}ms"})
    except DatabaseUnavailable as error:
        # The driver's own words tell who logs in there.
        raise DatabaseUnavailable(
            "the other database cannot be reached, or refuses this user"
        ) from error
    try:
        yield connection
    finally:
        await connection.close()


async def _insert(connection: Connection, where: Table, row: Mapping[str, Any]) -> Delivered:
    cursor = await connection.execute(where.into(_INSERT), row)
    if await cursor.fetchone() is not None:
        return "made"
    there = await _select(connection, where, row["idempotency_key"])
    if there is None:
        raise DeliveryRefused(
            f"{where} neither took the row nor has one with its key: a trigger or policy drops it"
        )
    return "there" if there == row["request_digest"] else "differs"


async def _select(connection: Connection, where: Table, key: str) -> str | None:
    cursor = await connection.execute(where.into(_SELECT), {"idempotency_key": key})
    found = await cursor.fetchone()
    return None if found is None else str(found["request_digest"])


async def _missing(connection: Connection, where: Table) -> tuple[str, ...]:
    quoted = Identifier(where.schema, where.name).as_string(connection)
    cursor = await connection.execute(_PRESENT, {"table": quoted})
    present = {row["attname"] for row in await cursor.fetchall()}
    return tuple(column for column in COLUMNS if column not in present)
