"""What is wrong with a stored checkpoint, in words that name the part.

Nothing that is stored is trusted to have a shape before its seal was verified: garbage is damage, never a traceback. A key
that sealed and is not here says nothing about damage, so it is an error of its own.
"""

import json
import re
from collections.abc import AsyncGenerator
from typing import Any, cast
from uuid import UUID

from ledger.checkpoint_seals import (
    Parts,
    at,
    parts_of,
    record_digest,
    spelled,
    text_of,
    write_columns,
)
from ledger.db import Transaction
from ledger.errors import SealKeyMissing
from ledger.keys import KeyRing
from ledger.sql import load
from ledger.stored_checkpoints import Stored

_BEFORE = load("checkpoint_seals")["CheckpointsBefore"]

# Checkpoints in memory at once, each of a few kB and with its writes.
BATCH = 50

_KEY_ID = re.compile(r"k_[0-9a-f]{12}")


async def walk(tx: Transaction, run_id: UUID) -> AsyncGenerator[Stored]:
    """Yield every checkpoint of a run that any table knows of, by namespace (its own first), newest first."""
    passed = 0
    while True:
        rows = await tx.many(_BEFORE, thread_id=str(run_id), passed=passed, limit=BATCH)
        for row in rows:
            yield Stored(**row)
        passed += len(rows)
        if len(rows) < BATCH:
            return


def sealed_parts(keys: KeyRing, tenant: str, stored: Stored) -> tuple[Parts, str | None]:
    """Return the parts that a checkpoint was sealed with, and what is wrong with the seal, or None.

    Raises SealKeyMissing where the key that sealed it is not here.
    """
    parts = _object(stored.parts)
    if stored.key_id is None or stored.seal is None or parts is None:
        return {}, "the parts of its seal cannot be read"
    signed = ("checkpoint", tenant, *stored.name, spelled(parts))
    problem = _seal_problem(keys, stored.key_id, stored.seal, *signed)
    return parts, problem


def problems(keys: KeyRing, tenant: str, stored: Stored) -> list[str]:
    """Return what is wrong with a checkpoint that has a trace, but for its pending writes; raises SealKeyMissing."""
    if stored.seal is None:
        return ["its seal is missing"] + ([] if stored.has_row else ["its row is missing"])
    parts, broken = sealed_parts(keys, tenant, stored)
    if broken:
        return [broken]
    if not stored.has_row:
        return ["its row is missing"]
    found = parts_of(stored, _parent_now(stored, parts))
    return [
        problem
        for part in ("checkpoint", "metadata", "type", "parent", "record", "blobs")
        for problem in _differences(part, parts.get(part), found[part])
    ]


def _parent_now(stored: Stored, parts: Parts) -> tuple[str, str | None] | None:
    if stored.parent is None:
        return None
    if stored.has_parent:
        return stored.parent, stored.parent_seal
    # A parent that was pruned with everything that belongs to it.
    sealed = cast("list[str | None] | None", parts.get("parent"))
    return stored.parent, sealed[1] if sealed else None


def _differences(part: str, sealed: Any, found: Any) -> list[str]:
    if sealed == found:
        return []
    match part:
        case "blobs":
            return _blob_differences(sealed or {}, found)
        case "parent":
            same = bool(sealed) and bool(found) and sealed[0] == found[0]
            return (
                [f"its parent's seal {'changed' if found[1] else 'is missing'}"]
                if same
                else ["its parent changed"]
            )
        case "record":
            gone = found is None
            return ["its record is missing" if gone else "its record changed"]
        case "checkpoint":
            return ["its row changed (checkpoint)"]
        case _:
            return [f"its row changed ({part})"]


def _blob_differences(sealed: dict[str, str], found: dict[str, str]) -> list[str]:
    return [
        f"blob of channel {channel} {'is missing' if channel not in found else 'changed' if channel in sealed else 'was added'}"
        for channel in sorted(sealed.keys() | found.keys())
        if sealed.get(channel) != found.get(channel)
    ]


def write_problems(keys: KeyRing, tenant: str, stored: Stored) -> dict[str, list[str]]:
    """Return what is wrong with a checkpoint's pending writes, by their task; raises SealKeyMissing."""
    told: dict[str, list[str]] = {}
    for number, task in enumerate(stored.write_tasks or ()):
        if problem := _write_problem(keys, tenant, stored, number):
            told.setdefault(task, []).append(f"pending write of task {task} {problem}")
    return told


def all_problems(keys: KeyRing, tenant: str, stored: Stored) -> list[str]:
    """Return what is wrong with a checkpoint and its pending writes; raises SealKeyMissing."""
    of_writes = write_problems(keys, tenant, stored) if stored.seal is not None else {}
    return problems(keys, tenant, stored) + [each for told in of_writes.values() for each in told]


def _write_problem(keys: KeyRing, tenant: str, stored: Stored, number: int) -> str | None:
    key_id, seal = at(stored.write_key_ids, number), at(stored.write_seals, number)
    if not at(stored.write_found, number):
        return "is missing"
    if key_id is None or seal is None:
        return "has no seal"
    columns = write_columns(stored, number)
    broken = _seal_problem(keys, key_id, seal, "write", tenant, *map(text_of, columns))
    return "changed" if broken else None


def newer_record(keys: KeyRing, tenant: str, stored: Stored, known: int) -> int | None:
    """Return the version of a record that is newer than this one, if its seal says so, or None."""
    version = (_object(stored.record) or {}).get("schema_version")
    if not isinstance(version, int) or version <= known:
        return None
    parts, broken = sealed_parts(keys, tenant, stored)
    return version if not broken and parts.get("record") == record_digest(stored.record) else None


def is_unsealed(stored: Stored) -> bool:
    """Say whether a checkpoint was never sealed: nothing of its thread is, and its record, if any, is of version 1."""
    if stored.seal is not None or stored.thread_sealed:
        return False
    version = (_object(stored.record) or {}).get("schema_version")
    return stored.record is None or version == 1


def record_of(stored: Stored) -> dict[str, Any] | None:
    """Return the columns of a checkpoint's record, None where there is none or it cannot be read."""
    return _object(stored.record)


def is_readable(stored: Stored) -> bool:
    """Say whether a checkpoint that nobody sealed has the shape of one, with an id that is its own."""
    checkpoint = _object(stored.checkpoint) or {}
    has_versions = isinstance(checkpoint.get("channel_versions"), dict)
    own = checkpoint.get("id") == stored.checkpoint_id and isinstance(checkpoint.get("v"), int)
    return own and has_versions and _object(stored.metadata) is not None


def _seal_problem(keys: KeyRing, key_id: str, seal: str, *parts: str) -> str | None:
    if key_id in keys.ids:
        return None if keys.verifies(key_id, seal, *parts) else "its seal does not verify"
    if any(keys.verifies(known, seal, *parts) for known in keys.ids):
        return "its seal names another key"
    if _KEY_ID.fullmatch(key_id) is None:
        return "its seal names no key"
    raise SealKeyMissing(key_id)


def _object(text: str | None) -> dict[str, Any] | None:
    try:
        value: Any = json.loads(text or "")
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None
