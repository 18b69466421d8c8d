"""What a run's rows were at every moment of it: taken out of one database, and put into another to be played there.

The rows come from the history that seals cover. What was put in is nobody's run: nothing of it is recorded or sealed, so a
scratch database only.
"""

import asyncio
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from psycopg.types.json import Jsonb

from ledger import artifacts
from ledger.db import Connection, Transaction
from ledger.errors import NotFound
from ledger.sql import load

_SQL = load("recordings")
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
#: The fence of whoever plays a run in a scratch database.
FENCE: Final = 1
# Two seconds: what is under way then is stuck.
_LOOKS_MAX, _BETWEEN_LOOKS_SECONDS = 400, 0.005

Row = dict[str, Any]
#: A table and a key within it.
Name = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Change:
    """A row as a version of the run's ledger left it, None where it was deleted; payloads are JSON, not bytes."""

    version: int
    table: str
    key: str
    row: Row | None


@dataclass(frozen=True, slots=True)
class Content:
    """The bytes of an artifact, and what they are."""

    content: bytes
    media_type: str


async def changes(tx: Transaction, run_id: UUID) -> list[Change]:
    """Return every change of a run's rows, oldest first; raises NotFound for a run from before changes were kept."""
    head = await tx.maybe(_SQL["IsRecorded"], run_id=run_id)
    if head is None or not head["recorded"]:
        raise NotFound(
            f"run {run_id} was begun before the history of rows was kept, so nobody can say how its ledger stood at its"
            " checkpoints; it is migrated with `perdure upgrade`, and cannot be replayed"
        )
    return [
        Change(row["version"], row["table_name"], row["row_key"], _readable(tx, row["row"]))
        for row in await tx.many(_SQL["ListChanges"], run_id=run_id)
    ]


def as_of(history: Sequence[Change], version: int) -> dict[Name, Row]:
    """Return the rows as they stood at a version of the ledger."""
    standing: dict[Name, Row] = {}
    for change in history:
        if change.version > version:
            break
        if change.row is None:
            standing.pop((change.table, change.key), None)
        else:
            standing[change.table, change.key] = change.row
    return standing


async def contents(tx: Transaction, text: str) -> dict[str, Content]:
    """Return the artifacts that a text names, and those that they name."""
    found: dict[str, Content] = {}
    wanted = set(_DIGEST.findall(text))
    while wanted := wanted - found.keys():
        rows = await tx.many(_SQL["ExistingArtifacts"], artifact_ids=sorted(wanted))
        kinds = {row["artifact_id"]: row["media_type"] for row in rows}
        read = await artifacts.get_many(tx, list(kinds))
        found |= {name: Content(content, kinds[name]) for name, content in read.items()}
        wanted = {
            each
            for name, content in read.items()
            if kinds[name] == "application/json"
            for each in _DIGEST.findall(content.decode())
        }
    return found


async def beside_triggers(connection: Connection) -> None:
    """Let a connection of a scratch database put rows in as they are."""
    await connection.execute(_SQL["BesideTriggers"].text)


async def put(connection: Connection, tenant: str, run_id: UUID, rows: Mapping[Name, Row]) -> None:
    """Let a scratch database hold these rows of one run and no others; the run is held under FENCE."""
    by_table: dict[str, list[Row]] = {}
    for (table, _), row in rows.items():
        by_table.setdefault(table, []).append(row)
    await _alone(connection)
    async with connection.transaction():
        await connection.execute(_SQL["ClearRows"].text)
        values = {"tenant": tenant, "run_id": run_id, "fence": FENCE, "put": Jsonb(by_table)}
        await connection.execute(_SQL["PutRows"].text, values)


async def _alone(connection: Connection) -> None:
    """Wait until nothing of a step that was broken off is under way: a branch beside the one that diverged may write yet."""
    for _ in range(_LOOKS_MAX):
        row = await (await connection.execute(_SQL["OthersAtWork"].text)).fetchone()
        if row is None or not row["found"]:
            return
        await asyncio.sleep(_BETWEEN_LOOKS_SECONDS)
    await connection.execute(_SQL["EndOthers"].text)


def stored(tx: Transaction, row: Row, tenant: str) -> Row:
    """Return a row as a database holds it, of what `changes` gave."""
    made: Row = {"tenant": tenant}
    for name, value in row.items():
        if name == "body" or name.endswith("_body"):
            packed = tx.pack(value)
            made |= {name: f"\\x{packed['body'].hex()}", _key_of(name): packed["key_id"]}
        else:
            made[name] = value
    return made


def named(rows: Collection[Name], table: str) -> list[str]:
    """Return the keys of one table."""
    return [key for of, key in rows if of == table]


def _readable(tx: Transaction, row: Row | None) -> Row | None:
    """Return a row with its payloads as JSON; which database and tenant it was of is left out."""
    if row is None:
        return None
    made: Row = {}
    for name, value in row.items():
        if name == "body" or name.endswith("_body"):
            if value is not None:
                content = bytes.fromhex(value.removeprefix("\\x"))
                made[name] = json.loads(tx.codec.decode(row[_key_of(name)], content))
        elif name not in {"tenant", "key_id"} and not name.endswith("_key_id"):
            made[name] = value
    return made


def _key_of(body: str) -> str:
    return body.removesuffix("body") + "key_id"
