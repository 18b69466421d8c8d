"""Seals of LangGraph's checkpoints: what is covered, how it is signed, and what is wrong with a stored one.

A seal is a keyed digest (HMAC) over the *parts* of a checkpoint: digests of its row, of its record and of every blob that
it refers to, and its parent with the parent's seal. The parts are stored with it, so that what fails can be named. Each
pending write has a seal of its own. Nothing that is stored is trusted to have a shape before its seal was verified.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias, cast

from ledger.errors import SealKeyMissing
from ledger.keys import KeyRing

Parts: TypeAlias = "dict[str, Any]"

#: What a digest is said to be of JSON that cannot be read.
UNREADABLE = "unreadable"
_KEY_ID = re.compile(r"k_[0-9a-f]{12}")
_NULL = "\0"  # no text of PostgreSQL has this character


@dataclass(frozen=True, slots=True)
class Stored:
    """One checkpoint as `ledger.stored_checkpoint` finds it, whatever is missing."""

    thread_id: str
    checkpoint_ns: str
    checkpoint_id: str
    has_row: bool
    parent: str | None
    row_type: str | None
    checkpoint: str | None
    metadata: str | None
    blob_channels: list[str] | None
    blob_versions: list[str] | None
    blob_types: list[str] | None
    blobs: list[bytes | None] | None
    write_tasks: list[str] | None
    write_idxs: list[int] | None
    write_paths: list[str | None] | None
    write_channels: list[str | None] | None
    write_types: list[str | None] | None
    writes: list[bytes | None] | None
    write_found: list[bool] | None
    write_key_ids: list[str | None] | None
    write_seals: list[str | None] | None
    key_id: str | None
    seal: str | None
    parts: str | None
    has_parent: bool
    parent_seal: str | None
    record: str | None
    rejected: str | None
    thread_sealed: bool

    @property
    def name(self) -> tuple[str, str, str]:
        """What it is called."""
        return (self.thread_id, self.checkpoint_ns, self.checkpoint_id)

    @property
    def has_trace(self) -> bool:
        """Whether any table knows of it."""
        return self.has_row or self.seal is not None or self.record is not None


def json_digest(text: str | None) -> str:
    """Return the digest of what a JSON text says, whoever spelled it: Python, or PostgreSQL from its jsonb.

    The same for 1.0, 1 and 1e0, and in any order of keys; UNREADABLE for what no reader takes.
    """
    try:
        value = json.loads(text or "", parse_float=_number)
        return _sha256(spelled(value).encode())
    except (ValueError, RecursionError):
        return UNREADABLE


def _number(text: str) -> float | int:
    number = float(text)
    # PostgreSQL spells 1e+23 as a one and 23 zeros; the exact integer, not that of the nearest double.
    return int(Decimal(text)) if number.is_integer() else number


def record_digest(text: str | None) -> str | None:
    """Return the digest of a record's columns, None where there is no record; columns that are null count for nothing.

    So a record keeps its digest when a later version adds a column.
    """
    if text is None:
        return None
    try:
        columns = json.loads(text, parse_float=_number)
        return _sha256(spelled({k: v for k, v in columns.items() if v is not None}).encode())
    except (ValueError, RecursionError, AttributeError):
        return UNREADABLE


def blob_digest(kind: str | None, body: bytes | None) -> str:
    """Return the digest of a serialised value and its type."""
    null = body is None
    return _sha256(f"{_text(kind)}\0{int(null)}\0".encode() + (body or b""))


def sign_checkpoint(
    keys: KeyRing, tenant: str, name: tuple[str, str, str], parts: Parts
) -> tuple[str, str]:
    """Return the id of the key and the seal over a checkpoint's parts; raises SealKeyMissing."""
    return keys.sign("checkpoint", tenant, *name, spelled(parts))


def sign_write(keys: KeyRing, tenant: str, *columns: str | None) -> tuple[str, str]:
    """Return the id of the key and the seal over a pending write's columns; raises SealKeyMissing."""
    return keys.sign("write", tenant, *map(_text, columns))


def seal_row(
    keys: KeyRing, tenant: str, name: tuple[str, str, str], parts: Parts
) -> dict[str, Any]:
    """Return what SealCheckpoint stores; raises SealKeyMissing."""
    thread_id, ns, checkpoint_id = name
    key_id, seal = sign_checkpoint(keys, tenant, name, parts)
    return {
        "tenant": tenant,
        "thread_id": thread_id,
        "checkpoint_ns": ns,
        "checkpoint_id": checkpoint_id,
        "parts": spelled(parts),
        "key_id": key_id,
        "seal": seal,
    }


def write_seal_rows(
    keys: KeyRing, tenant: str, stored: Stored, thread_id: str
) -> list[dict[str, Any]]:
    """Return what SealWrite stores for each pending write, in this thread's name; raises SealKeyMissing."""
    rows: list[dict[str, Any]] = []
    for number in range(len(stored.write_tasks or ())):
        _, *columns = _write_columns(stored, number)
        key_id, seal = sign_write(keys, tenant, thread_id, *columns)
        rows.append(
            {
                "tenant": tenant,
                "thread_id": thread_id,
                "checkpoint_ns": stored.checkpoint_ns,
                "checkpoint_id": stored.checkpoint_id,
                "task_id": _at(stored.write_tasks, number),
                "idx": _at(stored.write_idxs, number),
                "key_id": key_id,
                "seal": seal,
            }
        )
    return rows


def parts_of(stored: Stored, parent: tuple[str, str | None] | None) -> Parts:
    """Return the parts of a checkpoint as it is stored now, with this parent."""
    return {
        "checkpoint": json_digest(stored.checkpoint),
        "metadata": json_digest(stored.metadata),
        "type": stored.row_type,
        "parent": list(parent) if parent else None,
        "record": record_digest(stored.record),
        "blobs": {
            channel: [version, blob_digest(kind, body)]
            for channel, version, kind, body in zip(
                stored.blob_channels or (),
                stored.blob_versions or (),
                stored.blob_types or (),
                stored.blobs or (),
                strict=True,
            )
        },
    }


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


def _blob_differences(sealed: dict[str, list[str]], found: dict[str, list[str]]) -> list[str]:
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
    key_id, seal = _at(stored.write_key_ids, number), _at(stored.write_seals, number)
    if not _at(stored.write_found, number):
        return "is missing"
    if key_id is None or seal is None:
        return "has no seal"
    columns = _write_columns(stored, number)
    broken = _seal_problem(keys, key_id, seal, "write", tenant, *map(_text, columns))
    return "changed" if broken else None


def _write_columns(stored: Stored, number: int) -> list[str | None]:
    kind: str | None = _at(stored.write_types, number)
    return [
        *stored.name,
        _at(stored.write_tasks, number),
        _at(stored.write_paths, number),
        str(_at(stored.write_idxs, number)),
        _at(stored.write_channels, number),
        kind,
        blob_digest(kind, _at(stored.writes, number)),
    ]


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


def spelled(value: Mapping[str, Any]) -> str:
    """Return the one spelling of a JSON value, for digests and seals."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _text(value: str | None) -> str:
    return _NULL if value is None else value


def _at(column: list[Any] | None, number: int) -> Any:
    return column[number] if column is not None else None


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
