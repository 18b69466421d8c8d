"""The saver: LangGraph's checkpoints in LangGraph's own tables, each with our record and our seal in the same transaction.

A worker that holds its run stores nothing once another has taken the run over: the fence is checked at the head of the
transaction. What is loaded was verified: row, blobs, pending writes, parent's seal and record, missing ones included. Any
number of calls work at once, each on a connection of the pool.
"""

from collections import OrderedDict
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
)
from psycopg import AsyncCursor
from psycopg.rows import DictRow, dict_row
from typing_extensions import override

from graph import saver_loading, saver_records, saver_rows
from graph.saver_loading import Blobs, Known
from graph.saver_records import place
from graph.saver_rows import PlainSerializer
from graph.saver_upkeep import Upkeep
from ledger import checkpoint_seals
from ledger.db import Ledger, Pool
from ledger.faults import FaultPoint
from ledger.sql import Statement, load
from ledger.stored_checkpoints import Stored
from ledger.translation import CONNECTION_WAIT_SECONDS, wrap_errors
from nodes.resources import Workflow

_CHECK = load("session")["CheckFenceOnly"]
_CHECK_UNHELD = load("session")["CheckUnheld"]
_SQL = load("checkpoint_seals")
#: Stores what `SealedPostgresSaver.row` gives, with the fence `held`: one transaction, or a part of one.
STORE = _SQL["StoreCheckpoint"]
_STORE_WRITES, _BLOBS, _LOAD, _LIST = (
    _SQL["StoreWrites"],
    _SQL["BlobsOf"],
    _SQL["LoadCheckpoint"],
    _SQL["ListCheckpoints"],
)

# Parents of what is stored next: one for each run and each of its branches that this worker has at hand.
KNOWN_MAX = 256


# The first of LangGraph's checkpoint formats that holds what it sends; before, the parent's pending writes did.
FORMAT_WITH_SENDS = 4


class SealedPostgresSaver(Upkeep):
    """AsyncPostgresSaver that fences, records and seals what it stores, and verifies what it loads.

    Raises CheckpointDamaged, CheckpointUnsealed, RecordTooNew, SealKeyMissing, LeaseLost, DatabaseUnavailable.
    """

    def __init__(self, pool: Pool, ledger: Ledger, workflow: Workflow) -> None:
        super().__init__(pool, serde=PlainSerializer())
        self.pool = pool
        self.ledger = ledger
        self.workflow = workflow
        self._known: OrderedDict[tuple[str, str, str], Known] = OrderedDict()

    @override
    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        thread_id, ns, _ = place(config)
        row, known = await self.row(config, checkpoint, metadata, new_versions)
        faults = self.ledger.faults
        faults.reach(FaultPoint.BEFORE_CHECKPOINT)
        await self._write(thread_id, STORE, row)
        faults.reach(FaultPoint.AFTER_CHECKPOINT)
        self._remember((thread_id, ns, checkpoint["id"]), known)
        return saver_records.config_of(thread_id, ns, checkpoint["id"])

    async def row(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
        stamped: Mapping[str, Any] | None = None,
    ) -> tuple[dict[str, Any], Known]:
        """Return what STORE stores of a checkpoint but for the fence, sealed, and what its children need to know of it.

        `stamped` is what its record says besides what the checkpoint says.
        """
        thread_id, ns, parent_id = place(config)
        inline, values = saver_rows.split(checkpoint)
        blobs = saver_rows.dump_blobs(self.serde, values, new_versions)
        digests = {blob.channel: blob.sealed for blob in blobs}
        parent = await self._parent(thread_id, ns, parent_id)
        others = await self._unwritten(thread_id, ns, checkpoint, new_versions, digests, parent)
        record = saver_records.record(self.ledger, self.workflow, config, checkpoint, metadata)
        record |= stamped or {}
        row = saver_rows.checkpoint_row(config, inline, metadata, record, blobs)
        return row, self._sealed(row, parent, {**others, **digests})

    @override
    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        rows = saver_rows.dump_writes(self.serde, self.ledger, config, writes, task_id, task_path)
        faults = self.ledger.faults
        faults.reach(FaultPoint.BEFORE_WRITES)
        await self._write(rows["thread_id"], _STORE_WRITES, rows)
        faults.reach(FaultPoint.AFTER_WRITES)

    @override
    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        stored = await self._load(*place(config))
        return await self._tuple(stored) if stored is not None else None

    @override
    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        wanted = saver_rows.conditions(config, filter, before, limit)
        with wrap_errors():
            async with self._cursor() as cursor:
                await cursor.execute(_LIST.text, {**wanted, "tenant": self.ledger.tenant})
                rows = await cursor.fetchall()
        for row in rows:
            stored = Stored(**row)
            saver_loading.check(self.ledger.keys, self.ledger.tenant, stored)
            yield await self._tuple(stored)

    @override
    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        # LangGraph's own reads rows that nobody verified; the general one walks from parent to parent by aget_tuple.
        return await BaseCheckpointSaver.aget_delta_channel_history(
            self, config=config, channels=channels
        )

    @asynccontextmanager
    @override
    async def _cursor(self, *, pipeline: bool = False) -> AsyncGenerator[AsyncCursor[DictRow]]:
        # LangGraph's holds a lock of the saver, so that a pool of ten serves one call at a time.
        async with self.pool.connection(timeout=CONNECTION_WAIT_SECONDS) as connection:
            if not pipeline:
                async with connection.cursor(binary=True, row_factory=dict_row) as cursor:
                    yield cursor
                return
            # On an autocommit connection a pipeline is one implicit transaction: what comes first decides over all.
            async with (
                connection.pipeline(),
                connection.cursor(binary=True, row_factory=dict_row) as cursor,
            ):
                yield cursor

    @override
    async def fence(self, cursor: AsyncCursor[DictRow], thread_id: str) -> None:
        run_id = saver_records.run_of(thread_id)
        if run_id is not None and run_id in self.ledger.held:
            await cursor.execute(_CHECK.text, self._fence_values(run_id))
        elif run_id is not None:
            values = {"tenant": self.ledger.tenant, "run_id": run_id}
            await cursor.execute(_CHECK_UNHELD.text, values)

    def _fence_values(self, run_id: UUID) -> dict[str, Any]:
        return {
            "tenant": self.ledger.tenant,
            "run_id": run_id,
            "fence": self.ledger.held[run_id],
        }

    async def _write(self, thread_id: str, statement: Statement, values: dict[str, Any]) -> None:
        run_id = saver_records.run_of(thread_id)
        held = self.ledger.held.get(run_id) if run_id else None
        with wrap_errors():
            # One statement on an autocommit connection is one transaction; it checks the fence before anything else.
            async with self._cursor() as cursor:
                await cursor.execute(statement.text, {**values, "held": held})

    def _sealed(self, row: dict[str, Any], parent: Known | None, blobs: Blobs) -> Known:
        """Put the seal into the row of a checkpoint and return what its children need to know."""
        parts = saver_rows.parts(row, parent, blobs)
        name = (row["thread_id"], row["checkpoint_ns"], row["checkpoint_id"])
        row |= checkpoint_seals.seal_row(self.ledger.keys, self.ledger.tenant, name, parts)
        return Known(row["seal"], blobs)

    async def _parent(self, thread_id: str, ns: str, parent_id: str | None) -> Known | None:
        if parent_id is None:
            return None
        name = (thread_id, ns, parent_id)
        if name not in self._known and (await self._load(*name)) is None:
            return None
        return self._known[name]

    async def _unwritten(
        self,
        thread_id: str,
        ns: str,
        checkpoint: Checkpoint,
        new_versions: ChannelVersions,
        written: Mapping[str, Any],
        parent: Known | None,
    ) -> Blobs:
        """Return version and digest of what is not written now: the parent's, None for a new version without a value."""
        told: Blobs = {}
        asked: dict[str, str] = {}
        for channel, number in checkpoint["channel_versions"].items():
            version = str(number)
            before = parent.blobs.get(channel) if parent else None
            if channel in written:
                continue
            if before is not None and before[0] == version:
                told[channel] = before
            elif channel in new_versions:
                told[channel] = (version, None)
            else:
                asked[channel] = version
        if asked:
            told |= await self._stored_blobs(thread_id, ns, asked)
        return told

    async def _stored_blobs(self, thread_id: str, ns: str, asked: dict[str, str]) -> Blobs:
        values = {
            "thread_id": thread_id,
            "checkpoint_ns": ns,
            "channels": list(asked),
            "versions": list(asked.values()),
        }
        with wrap_errors():
            async with self._cursor() as cursor:
                await cursor.execute(_BLOBS.text, values)
                rows = await cursor.fetchall()
        found = {
            row["channel"]: checkpoint_seals.blob_digest(row["type"], row["blob"]) for row in rows
        }
        return {channel: (version, found.get(channel)) for channel, version in asked.items()}

    async def _load(self, thread_id: str, ns: str, checkpoint_id: str | None) -> Stored | None:
        """Return what is stored of a checkpoint (None: the newest), verified; None where nobody knows of it."""
        values = {
            "tenant": self.ledger.tenant,
            "thread_id": thread_id,
            "checkpoint_ns": ns,
            "checkpoint_id": checkpoint_id,
        }
        with wrap_errors():
            async with self._cursor() as cursor:
                await cursor.execute(_LOAD.text, values)
                row = await cursor.fetchone()
        if row is None or not (stored := Stored(**row)).has_trace:
            return None
        saver_loading.check(self.ledger.keys, self.ledger.tenant, stored)
        self._remember(stored.name, Known.of(stored))
        return stored

    @override
    def forget(self) -> None:
        self._known.clear()

    def _remember(self, name: tuple[str, str, str], known: Known) -> None:
        self._known[name] = known
        self._known.move_to_end(name)
        if len(self._known) > KNOWN_MAX:
            self._known.popitem(last=False)

    async def _tuple(self, stored: Stored) -> CheckpointTuple:
        found = saver_loading.loaded(self.serde, stored)
        if found.checkpoint["v"] >= FORMAT_WITH_SENDS or stored.parent is None:
            return found
        parent = await self._load(stored.thread_id, stored.checkpoint_ns, stored.parent)
        before = saver_loading.pending_writes(self.serde, parent) if parent else []
        return saver_loading.with_pending_sends(found, before, self.get_next_version(None, None))
