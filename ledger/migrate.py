"""Brings the schema `ledger` up to date from numbered files, forward only.

A file and the record that it was applied commit together; the digest of every applied file is checked, because a
released migration is never edited. Undo is a new file.
"""

import asyncio
import hashlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.resources import files
from typing import LiteralString, cast

from ledger.db import Connection
from ledger.errors import MigrationDrift, SchemaOutdated
from ledger.sql import load

_SQL = load("migrate")
_CREATE, _APPLIED, _RECORD = (
    _SQL["CreateSchema"],
    _SQL["AppliedMigrations"],
    _SQL["RecordMigration"],
)
_TRY_LOCK, _UNLOCK = _SQL["TryMigrationLock"], _SQL["ReleaseMigrationLock"]

# Short against a migration's own second, long against a round trip.
POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Migration:
    """One numbered file."""

    version: int
    name: str
    text: LiteralString
    sha256: str


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
    _check(known, applied)
    for migration in known[len(applied) :]:
        async with connection.transaction():
            await connection.execute(migration.text)
            await connection.execute(_RECORD.text, vars_of(migration))
    return len(known) - len(applied)


async def pending(connection: Connection) -> int:
    """Return how many migrations are missing; raises as apply_pending does. Writes nothing."""
    known = migrations()
    if not await _first(connection, _SQL["HasMigrations"].text):
        return len(known)
    applied = await _applied(connection)
    _check(known, applied)
    return len(known) - len(applied)


def vars_of(migration: Migration) -> dict[str, object]:
    """Return the record of a migration."""
    return {"version": migration.version, "name": migration.name, "sha256": migration.sha256}


def _check(known: tuple[Migration, ...], applied: dict[int, str]) -> None:
    if len(applied) > len(known):
        raise SchemaOutdated(
            f"the database has {len(applied)} migrations, this code knows {len(known)}: it was upgraded by a newer"
            " version of perdure; install that version"
        )
    for migration in known[: len(applied)]:
        if applied.get(migration.version) != migration.sha256:
            raise MigrationDrift(
                f"migration {migration.name} was applied with other contents than this installation has; a released"
                " migration is never edited, so reinstall the version that the database was made with"
            )


async def _applied(connection: Connection) -> dict[int, str]:
    cursor = await connection.execute(_APPLIED.text)
    return {row["version"]: row["sha256"] for row in await cursor.fetchall()}


async def _first(connection: Connection, text: LiteralString) -> bool:
    row = await (await connection.execute(text)).fetchone()
    assert row is not None
    return bool(row["answer"])
