"""Brings the schema `ledger` up to date from numbered files, forward only.

A file and the record that it was applied commit together; the digest of every applied file is checked, because a
released migration is never edited. Undo is a new file.

A file that says in its first line that it expands only adds what older code does without: that code goes on beside newer
code, on one database. Any other file ends that: older code finds it in `schema_migrations` and refuses the database.
"""

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.resources import files
from typing import LiteralString, cast

from ledger.db import Connection
from ledger.errors import MigrationDrift, SchemaOutdated
from ledger.sql import load

_SQL = load("migrate")
_CREATE, _APPLIED = _SQL["CreateSchema"], _SQL["AppliedMigrations"]
_RECORD, _RECORD_EXPANSION = _SQL["RecordMigration"], _SQL["RecordExpansion"]
_TRY_LOCK, _UNLOCK = _SQL["TryMigrationLock"], _SQL["ReleaseMigrationLock"]

# Short against a migration's own second, long against a round trip.
POLL_SECONDS = 0.05

#: How a file begins that older code can do without.
EXPANDS = "-- Expands"


@dataclass(frozen=True, slots=True)
class Migration:
    """One numbered file."""

    version: int
    name: str
    text: LiteralString
    sha256: str

    @property
    def expands(self) -> bool:
        """Whether code that does not know it works on the database all the same."""
        return self.text.startswith(EXPANDS)


@dataclass(frozen=True, slots=True)
class Applied:
    """A migration that a database has had."""

    version: int
    sha256: str
    expands: bool


def migrations() -> tuple[Migration, ...]:
    """Return the migrations of this code, oldest first; their numbers have no gap."""
    folder = files("ledger").joinpath("migrations")
    found = tuple(
        _migration(entry.name, entry.read_text(encoding="utf-8"))
        for entry in sorted(folder.iterdir(), key=lambda entry: entry.name)
        if entry.name.endswith(".sql")
    )
    assert [migration.version for migration in found] == list(range(1, len(found) + 1))
    return found


def _migration(name: str, text: str) -> Migration:
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    # The text comes from a file of this package; mypy does not tell LiteralString from str.
    literal = cast("LiteralString", text)  # type: ignore[redundant-cast]
    return Migration(int(name.split("_", maxsplit=1)[0]), name, literal, sha256)


@asynccontextmanager
async def only_one(connection: Connection) -> AsyncGenerator[None]:
    """Hold the migration lock.

    Polled, because a session that waits inside pg_advisory_lock() holds a snapshot, CREATE INDEX CONCURRENTLY waits
    for old snapshots, and LangGraph's setup() runs it: the two would deadlock.
    """
    while not await _first(connection, _TRY_LOCK.text):  # noqa: ASYNC110  # another process holds it: no event of ours
        await asyncio.sleep(POLL_SECONDS)
    try:
        yield
    finally:
        await connection.execute(_UNLOCK.text)


async def apply_pending(connection: Connection) -> int:
    """Apply the migrations that are missing and return their number; the caller holds the migration lock.

    Raises MigrationDrift if an applied file has changed, SchemaOutdated if the database is newer than this code.
    """
    async with connection.transaction():
        await connection.execute(_CREATE.text)
    known = migrations()
    applied = await _applied(connection)
    missing = _missing(known, applied)
    for migration in missing:
        async with connection.transaction():
            await connection.execute(migration.text)
            record = _RECORD_EXPANSION if migration.expands else _RECORD
            await connection.execute(record.text, vars_of(migration))
    return len(missing)


async def pending(connection: Connection) -> int:
    """Return how many migrations are missing; raises as apply_pending does. Writes nothing."""
    known = migrations()
    if not await _first(connection, _SQL["HasMigrations"].text):
        return len(known)
    applied = await _applied(connection)
    return len(_missing(known, applied))


def vars_of(migration: Migration) -> dict[str, object]:
    """Return the record of a migration."""
    return {"version": migration.version, "name": migration.name, "sha256": migration.sha256}


def _missing(known: Sequence[Migration], applied: Mapping[int, Applied]) -> list[Migration]:
    """Return what a database lacks; raises SchemaOutdated, MigrationDrift."""
    if strange := [each for each in applied.values() if each.version > len(known)]:
        _refuse([each for each in strange if not each.expands], len(known))
    for migration in known:
        had = applied.get(migration.version)
        if had is not None and had.sha256 != migration.sha256:
            raise MigrationDrift(
                f"migration {migration.name} was applied with other contents than this installation has; a released"
                " migration is never edited, so reinstall the version that the database was made with"
            )
    return [migration for migration in known if migration.version not in applied]


def _refuse(breaking: Sequence[Applied], known: int) -> None:
    if breaking:
        raise SchemaOutdated(
            f"the database has had migration {max(each.version for each in breaking)}, this code knows {known}: it was"
            " upgraded by a newer version of perdure, which older ones do not work beside; install that version"
        )


async def _applied(connection: Connection) -> dict[int, Applied]:
    cursor = await connection.execute(_APPLIED.text)
    return {row["version"]: Applied(**row) for row in await cursor.fetchall()}


async def _first(connection: Connection, text: LiteralString) -> bool:
    row = await (await connection.execute(text)).fetchone()
    assert row is not None
    return bool(row["answer"])
