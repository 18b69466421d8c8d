"""What the saver writes, as rows: LangGraph's values taken apart for its tables, each with what its seal covers."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    get_serializable_checkpoint_metadata,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.serde.types import _DeltaSnapshot  # pyright: ignore[reportPrivateUsage]
from typing_extensions import override

from graph.saver_loading import Blobs, Known
from graph.saver_records import STATE_VERSION_KEY, configurable_of, place
from ledger import checkpoint_seals
from ledger.db import Ledger
from nodes.state import STATE_VERSION


class PlainSerializer(JsonPlusSerializer):
    """Reads nothing but plain values and LangGraph's own: only such enter state, so no stored byte may name a type.

    LangGraph's strict mode would widen it by the types of the graph's schema, on a copy of the saver; the copy that it
    makes of the dev server's adapter calls itself for ever. Nothing to widen, no copy.
    """

    def __init__(self) -> None:
        super().__init__(allowed_msgpack_modules=None)

    @override
    def with_msgpack_allowlist(self, extra_allowlist: Iterable[tuple[str, ...] | type]) -> Self:
        return self


@dataclass(frozen=True, slots=True)
class Blob:
    """A channel's value as it is stored."""

    channel: str
    version: str
    kind: str
    body: bytes

    @property
    def sealed(self) -> tuple[str, str]:
        """Version and digest."""
        return self.version, checkpoint_seals.blob_digest(self.kind, self.body)


def split(checkpoint: Checkpoint) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a checkpoint with its primitive values inline, and the other values, as LangGraph parts them."""
    inline: dict[str, Any] = {}
    values: dict[str, Any] = {}
    for channel, value in checkpoint["channel_values"].items():
        if isinstance(value, _DeltaSnapshot):
            inline[channel], values[channel] = True, value
        elif value is None or isinstance(value, str | int | float | bool):
            inline[channel] = value
        else:
            values[channel] = value
    return {**checkpoint, "channel_values": inline}, values


def dump_blobs(
    serde: SerializerProtocol, values: Mapping[str, Any], new_versions: ChannelVersions
) -> list[Blob]:
    """Return the blobs of the channels that have a new version and a value."""
    return [
        Blob(channel, str(version), *serde.dumps_typed(values[channel]))
        for channel, version in new_versions.items()
        if channel in values
    ]


def checkpoint_row(
    config: RunnableConfig,
    inline: dict[str, Any],
    metadata: CheckpointMetadata,
    record: dict[str, Any],
    blobs: Sequence[Blob],
) -> dict[str, Any]:
    """Return what StoreCheckpoint stores, but for the seal."""
    thread_id, ns, parent = place(config)
    described = get_serializable_checkpoint_metadata(config, metadata)
    if record:
        described = cast("CheckpointMetadata", {**described, STATE_VERSION_KEY: STATE_VERSION})
    return {
        "thread_id": thread_id,
        "checkpoint_ns": ns,
        "checkpoint_id": inline["id"],
        "parent": parent,
        "checkpoint": json.dumps(inline),
        "metadata": json.dumps(described),
        "record": json.dumps(record) if record else None,
        "channels": [blob.channel for blob in blobs],
        "versions": [blob.version for blob in blobs],
        "types": [blob.kind for blob in blobs],
        "blobs": [blob.body for blob in blobs],
    }


def parts(row: Mapping[str, Any], parent: Known | None, blobs: Blobs) -> dict[str, Any]:
    """Return the parts of the seal of what checkpoint_row gave."""
    return {
        "checkpoint": checkpoint_seals.json_digest(row["checkpoint"]),
        "metadata": checkpoint_seals.json_digest(row["metadata"]),
        "type": None,
        "parent": [row["parent"], parent.seal if parent else None] if row["parent"] else None,
        "record": checkpoint_seals.record_digest(row["record"]),
        "blobs": {channel: digest for channel, (_, digest) in blobs.items() if digest is not None},
    }


def dump_writes(
    serde: SerializerProtocol,
    ledger: Ledger,
    config: RunnableConfig,
    writes: Sequence[tuple[str, Any]],
    task_id: str,
    task_path: str,
) -> dict[str, Any]:
    """Return what StoreWrites stores, each row with its seal; raises SealKeyMissing."""
    thread_id, ns, checkpoint_id = place(config)
    # One statement cannot write a row twice; of two that would be written over, the last stays.
    rows = {
        WRITES_IDX_MAP.get(channel, idx): (channel, *serde.dumps_typed(value))
        for idx, (channel, value) in enumerate(writes)
    }
    name = (thread_id, ns, checkpoint_id, task_id, task_path)
    seals = [
        checkpoint_seals.sign_write(
            *(ledger.keys, ledger.tenant, *name, str(idx), channel, kind),
            checkpoint_seals.blob_digest(kind, body),
        )
        for idx, (channel, kind, body) in rows.items()
    ]
    return {
        "tenant": ledger.tenant,
        "thread_id": thread_id,
        "checkpoint_ns": ns,
        "checkpoint_id": checkpoint_id,
        "task_id": task_id,
        "task_path": task_path,
        "idxs": list(rows),
        "channels": [channel for channel, _, _ in rows.values()],
        "types": [kind for _, kind, _ in rows.values()],
        "blobs": [body for _, _, body in rows.values()],
        "key_ids": [key_id for key_id, _ in seals],
        "seals": [seal for _, seal in seals],
        "replaced": all(channel in WRITES_IDX_MAP for channel, _ in writes),
    }


def conditions(
    config: RunnableConfig | None,
    metadata: dict[str, Any] | None,
    before: RunnableConfig | None,
    limit: int | None,
) -> dict[str, Any]:
    """Return what ListCheckpoints takes."""
    configurable = configurable_of(config) if config else {}
    return {
        "thread_id": configurable.get("thread_id"),
        "checkpoint_ns": configurable.get("checkpoint_ns"),
        "checkpoint_id": configurable.get("checkpoint_id"),
        "before": configurable_of(before).get("checkpoint_id") if before else None,
        "filter": json.dumps(metadata) if metadata else None,
        "limit": limit,
    }
