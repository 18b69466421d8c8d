"""The seal that a transaction puts on what it changed of a run, before it commits.

A seal covers the digest of the transaction's changes and the seal before it. Nothing is sealed on top of a head that
does not verify: a worker with another key, or on a damaged chain, writes nothing.
"""

from collections.abc import Collection, Mapping
from typing import TypeAlias
from uuid import UUID

import psycopg
from psycopg.rows import DictRow

from ledger.errors import LedgerDamaged
from ledger.keys import KeyRing
from ledger.sql import load

#: A version of a run's rows and its seal.
Anchor: TypeAlias = tuple[int, str]

_SQL = load("sealing")
_CHANGED, _SEAL, _USED = _SQL["ChangedVersions"], _SQL["SealVersion"], _SQL["UsedKeys"]


def parts(
    tenant: str, run_id: UUID, version: int, before: str | None, content: str
) -> tuple[str, ...]:
    """Return what a seal is made over; `before` is the seal of the version before, None for the first."""
    return ("rows", tenant, str(run_id), str(version), before or "", content)


async def seal(
    connection: psycopg.AsyncConnection[DictRow],
    tenant: str,
    keys: KeyRing,
    run_ids: Collection[UUID],
    newest: Mapping[UUID, Anchor],
) -> dict[UUID, Anchor]:
    """Seal what the open transaction changed of these runs and return the new versions with their seals.

    Raises SealKeyMissing, and LedgerDamaged where the version before does not verify or is not the `newest` one known.
    """
    cursor = await connection.execute(_CHANGED.text, {"tenant": tenant, "run_ids": list(run_ids)})
    sealed: dict[UUID, Anchor] = {}
    for row in await cursor.fetchall():
        run_id, version = row["run_id"], row["version"]
        _check_before(tenant, keys, row, newest.get(run_id))
        key_id, made = keys.sign(*parts(tenant, run_id, version, row["seal"], row["content"]))
        values = {"tenant": tenant, "run_id": run_id, "version": version, "key_id": key_id}
        await connection.execute(_SEAL.text, {**values, "content": row["content"], "seal": made})
        sealed[run_id] = version, made
    return sealed


def _check_before(tenant: str, keys: KeyRing, row: DictRow, known: Anchor | None) -> None:
    run_id, before = row["run_id"], row["version"] - 1
    if known and (before < known[0] or (before == known[0] and row["seal"] != known[1])):
        raise LedgerDamaged(run_id, f"version {known[0]} was there and is gone")
    if before and row["seal"] is None:
        raise LedgerDamaged(run_id, f"version {before} has no seal")
    if (row["head_key_id"], row["head_seal"]) != (row["key_id"], row["seal"]):
        raise LedgerDamaged(run_id, f"the head does not name the seal of version {before}")
    if not before:
        return
    over = parts(tenant, run_id, before, row["earlier_seal"], row["content_before"])
    if not keys.verifies(row["key_id"], row["seal"], *over):
        raise LedgerDamaged(run_id, f"the seal of version {before} does not verify")


async def used_keys(connection: psycopg.AsyncConnection[DictRow], tenant: str) -> list[str]:
    """Return the ids of all keys that ever sealed for a tenant, the oldest first."""
    cursor = await connection.execute(_USED.text, {"tenant": tenant})
    return [row["key_id"] for row in await cursor.fetchall()]
