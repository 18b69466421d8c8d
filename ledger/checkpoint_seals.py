"""Seals of LangGraph's checkpoints: what they cover, and how they are made.

A seal is a keyed digest (HMAC) over the *parts* of a checkpoint: digests of its row, of its record and of every blob that
it refers to, and its parent with the parent's seal. The parts are stored with it, so that what fails can be named. Each
pending write has a seal of its own.
"""

import hashlib
import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, TypeAlias

from ledger.errors import CheckpointDamaged
from ledger.keys import KeyRing
from ledger.stored_checkpoints import Stored

Parts: TypeAlias = "dict[str, Any]"

#: What a digest is said to be of JSON that cannot be read.
UNREADABLE = "unreadable"
_NULL = "\0"  # no text of PostgreSQL has this character


def json_digest(text: str | None) -> str:
    """Return the digest of what a JSON text says, whoever spelled it: Python, or PostgreSQL from its jsonb.

    The same for 1.0, 1 and 1e0, and in any order of keys; UNREADABLE for what no reader takes.
    """
    try:
        value = _READER.decode(text or "")
        return _sha256(spelled(value).encode())
    except (ValueError, RecursionError):
        return UNREADABLE


def _number(text: str) -> float | int:
    number = float(text)
    # PostgreSQL spells 1e+23 as a one and 23 zeros; the exact integer, not that of the nearest double.
    return int(Decimal(text)) if number.is_integer() else number


# Made once: every checkpoint that is stored or loaded is read and spelled several times.
_READER = json.JSONDecoder(parse_float=_number)
_WRITER = json.JSONEncoder(sort_keys=True, separators=(",", ":"))


def record_digest(text: str | None) -> str | None:
    """Return the digest of a record's columns, None where there is no record; columns that are null count for nothing.

    So a record keeps its digest when a later version adds a column.
    """
    if text is None:
        return None
    try:
        columns = _READER.decode(text)
        return _sha256(spelled({k: v for k, v in columns.items() if v is not None}).encode())
    except (ValueError, RecursionError, AttributeError):
        return UNREADABLE


def blob_digest(kind: str | None, body: bytes | None) -> str:
    """Return the digest of a serialised value and its type."""
    null = body is None
    return _sha256(f"{text_of(kind)}\0{int(null)}\0".encode() + (body or b""))


def sign_write(keys: KeyRing, tenant: str, *columns: str | None) -> tuple[str, str]:
    """Return the id of the key and the seal over a pending write's columns; raises SealKeyMissing."""
    return keys.sign("write", tenant, *map(text_of, columns))


def seal_row(
    keys: KeyRing, tenant: str, name: tuple[str, str, str], parts: Parts
) -> dict[str, Any]:
    """Return what SealCheckpoint stores; raises SealKeyMissing, and CheckpointDamaged for what nobody could read."""
    thread_id, ns, checkpoint_id = name
    if UNREADABLE in (parts["checkpoint"], parts["metadata"], parts["record"]):
        # Any other unreadable text would have the same seal.
        raise CheckpointDamaged(name, ["it cannot be read, so it is not sealed"])
    text = spelled(parts)
    key_id, seal = keys.sign("checkpoint", tenant, *name, text)
    return {
        "tenant": tenant,
        "thread_id": thread_id,
        "checkpoint_ns": ns,
        "checkpoint_id": checkpoint_id,
        "parts": text,
        "key_id": key_id,
        "seal": seal,
    }


def write_seal_rows(
    keys: KeyRing, tenant: str, stored: Stored, thread_id: str
) -> list[dict[str, Any]]:
    """Return what SealWrite stores for each pending write, in this thread's name; raises SealKeyMissing."""
    rows: list[dict[str, Any]] = []
    for number in range(len(stored.write_tasks or ())):
        _, *columns = write_columns(stored, number)
        key_id, seal = sign_write(keys, tenant, thread_id, *columns)
        rows.append(
            {
                "tenant": tenant,
                "thread_id": thread_id,
                "checkpoint_ns": stored.checkpoint_ns,
                "checkpoint_id": stored.checkpoint_id,
                "task_id": at(stored.write_tasks, number),
                "idx": at(stored.write_idxs, number),
                "key_id": key_id,
                "seal": seal,
            }
        )
    return rows


def parts_of(stored: Stored, parent: tuple[str, str | None] | None) -> Parts:
    """Return the parts of a checkpoint as it is stored now, with this parent.

    A blob is found by its channel and the version that the checkpoint names, so the version needs no digest of its own.
    """
    return {
        "checkpoint": json_digest(stored.checkpoint),
        "metadata": json_digest(stored.metadata),
        "type": stored.row_type,
        "parent": list(parent) if parent else None,
        "record": record_digest(stored.record),
        "blobs": {
            channel: blob_digest(kind, body)
            for channel, kind, body in zip(
                stored.blob_channels or (),
                stored.blob_types or (),
                stored.blobs or (),
                strict=True,
            )
        },
    }


def write_columns(stored: Stored, number: int) -> list[str | None]:
    """Return what a pending write's seal covers."""
    kind: str | None = at(stored.write_types, number)
    return [
        *stored.name,
        at(stored.write_tasks, number),
        at(stored.write_paths, number),
        str(at(stored.write_idxs, number)),
        at(stored.write_channels, number),
        kind,
        blob_digest(kind, at(stored.writes, number)),
    ]


def spelled(value: Mapping[str, Any]) -> str:
    """Return the one spelling of a JSON value, for digests and seals."""
    return _WRITER.encode(value)


def text_of(value: str | None) -> str:
    """Return a column as a part of a seal, NULL apart from any text."""
    return _NULL if value is None else value


def at(column: list[Any] | None, number: int) -> Any:
    """Return an entry of a column, None of one that has no entries."""
    return column[number] if column is not None else None


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
