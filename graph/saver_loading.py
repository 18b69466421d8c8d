"""From stored rows to LangGraph's view of a checkpoint: verified first, then read."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from langgraph.checkpoint.base import Checkpoint, CheckpointTuple, PendingWrite, writes_sort_key
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.types import TASKS

from graph.saver_records import config_of
from ledger import checkpoint_checks
from ledger.errors import CheckpointDamaged, CheckpointUnsealed, RecordTooNew
from ledger.keys import KeyRing
from ledger.records import SCHEMA_VERSION
from ledger.stored_checkpoints import Stored

#: By channel: the version, and the digest of its blob, None where it has none.
Blobs = dict[str, tuple[str, str | None]]


@dataclass(frozen=True, slots=True)
class Known:
    """What a checkpoint's children need to know of it."""

    seal: str
    blobs: Blobs

    @classmethod
    def of(cls, stored: Stored) -> "Known":
        """Return it of a checkpoint that was verified."""
        assert stored.seal is not None
        checkpoint = json.loads(stored.checkpoint or "{}")
        versions: dict[str, Any] = checkpoint.get("channel_versions") or {}
        # The parts that were sealed are those that are stored, or it had not been verified.
        sealed = json.loads(stored.parts or "{}")["blobs"]
        blobs: Blobs = {
            channel: (str(version), sealed.get(channel)) for channel, version in versions.items()
        }
        return cls(stored.seal, blobs)


def check(keys: KeyRing, tenant: str, stored: Stored) -> None:
    """Verify a checkpoint that has a trace, with its pending writes.

    Raises CheckpointDamaged, CheckpointUnsealed, RecordTooNew, SealKeyMissing.
    """
    if stored.rejected is not None:
        raise CheckpointDamaged(stored.name, [f"it was rejected ({stored.rejected})"])
    if checkpoint_checks.is_unsealed(stored):
        raise CheckpointUnsealed(stored.name)
    newer = checkpoint_checks.newer_record(keys, tenant, stored, SCHEMA_VERSION)
    if newer is not None:
        raise RecordTooNew(stored.name, newer, SCHEMA_VERSION)
    if problems := checkpoint_checks.problems(keys, tenant, stored):
        raise CheckpointDamaged(stored.name, problems)
    if of_writes := checkpoint_checks.write_problems(keys, tenant, stored):
        told = [problem for problems in of_writes.values() for problem in problems]
        raise CheckpointDamaged(stored.name, told, list(of_writes))


def loaded(serde: SerializerProtocol, stored: Stored) -> CheckpointTuple:
    """Return LangGraph's view of a checkpoint that was verified."""
    thread_id, ns, checkpoint_id = stored.name
    checkpoint = json.loads(stored.checkpoint or "{}")
    values = {
        channel: serde.loads_typed((kind, cast("bytes", body)))
        for channel, kind, body in zip(
            stored.blob_channels or (), stored.blob_types or (), stored.blobs or (), strict=True
        )
        if kind != "empty"
    }
    checkpoint["channel_values"] = {**(checkpoint.get("channel_values") or {}), **values}
    return CheckpointTuple(
        config_of(thread_id, ns, checkpoint_id),
        cast("Checkpoint", checkpoint),
        json.loads(stored.metadata or "{}"),
        config_of(thread_id, ns, stored.parent) if stored.parent else None,
        pending_writes(serde, stored),
    )


def pending_writes(serde: SerializerProtocol, stored: Stored) -> list[PendingWrite]:
    """Return the pending writes of a checkpoint that was verified, in LangGraph's order."""
    rows = zip(
        stored.write_tasks or (),
        stored.write_idxs or (),
        stored.write_paths or (),
        stored.write_channels or (),
        stored.write_types or (),
        stored.writes or (),
        strict=True,
    )
    ordered = sorted(rows, key=lambda row: writes_sort_key(row[2] or "", row[0], row[1]))
    return [
        (task, cast("str", channel), serde.loads_typed((cast("str", kind), cast("bytes", body))))
        for task, _, _, channel, kind, body in ordered
    ]


def with_pending_sends(
    found: CheckpointTuple, before: Sequence[PendingWrite], next_version: Any
) -> CheckpointTuple:
    """Return a checkpoint of LangGraph's format 3 or older as later formats have it: it left its sends to its parent."""
    sends = [value for _, channel, value in before if channel == TASKS]
    if not sends:
        return found
    versions = found.checkpoint["channel_versions"]
    checkpoint = {
        **found.checkpoint,
        "channel_values": {**found.checkpoint["channel_values"], TASKS: sends},
        "channel_versions": {**versions, TASKS: max(versions.values(), default=next_version)},
    }
    return found._replace(checkpoint=cast("Checkpoint", checkpoint))
