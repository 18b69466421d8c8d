"""What is done to whole threads: delete, prune, copy. Seals and records stay in step, in the same transaction.

What is kept or copied was verified; nothing damaged is sealed anew.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.postgres.base import (
    PRUNE_SNAPSHOT_SQL,
    PRUNE_STRATEGIES,
    _aexecute,  # pyright: ignore[reportPrivateUsage]
    _keep_latest,  # pyright: ignore[reportPrivateUsage]
    _refuse_delta_threads,  # pyright: ignore[reportPrivateUsage]
)
from psycopg import AsyncCursor
from psycopg.rows import DictRow
from typing_extensions import override

from graph import saver_loading
from graph.saver_records import run_of
from ledger import checkpoint_seals
from ledger.db import Ledger
from ledger.sql import load
from ledger.stored_checkpoints import Stored
from ledger.translation import wrap_errors

_SQL = load("checkpoint_seals")
_LIST, _LOAD, _NAMESPACES = _SQL["ListCheckpoints"], _SQL["LoadCheckpoint"], _SQL["NamespacesOf"]
_DELETE, _DELETE_REJECTED, _FORGET = (
    _SQL["DeleteThreads"],
    _SQL["DeleteRejected"],
    _SQL["ForgetPruned"],
)
_THREADS, _DELETE_RUNS, _UNUSED = (
    _SQL["ThreadsOfRuns"],
    _SQL["DeleteForRuns"],
    _SQL["DeleteUnusedBlobs"],
)
_COPY, _SEAL, _SEAL_WRITE, _RECORD = (
    _SQL["CopyThread"],
    _SQL["SealCheckpoint"],
    _SQL["SealWrite"],
    _SQL["AddRecord"],
)

_EVERYTHING = dict.fromkeys(("checkpoint_ns", "checkpoint_id", "before", "filter", "limit"))

Cursor = AsyncCursor[DictRow]


class Upkeep(AsyncPostgresSaver, ABC):
    """The part of the saver that works on whole threads."""

    ledger: Ledger

    @abstractmethod
    async def fence(self, cursor: Cursor, thread_id: str) -> None:
        """Refuse the transaction if another worker took over a run that this one holds."""

    @abstractmethod
    def forget(self) -> None:
        """Drop what is remembered of stored checkpoints: they are no longer as they were."""

    @override
    async def adelete_thread(self, thread_id: str) -> None:
        await self._delete([str(thread_id)])

    @override
    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        if isinstance(thread_ids, str):
            raise TypeError("thread_ids must be a sequence of thread IDs, not a str")
        if strategy not in PRUNE_STRATEGIES:
            raise ValueError(f"Unknown prune strategy: {strategy!r}")
        names = [str(thread_id) for thread_id in thread_ids]
        if strategy == "delete":
            await self._delete(names)
            return
        with wrap_errors():
            async with self._cursor() as cursor:
                await _aexecute(cursor, _refuse_delta_threads(names))
            for thread_id in names:
                async with self._cursor() as cursor, cursor.connection.transaction():
                    await cursor.execute(PRUNE_SNAPSHOT_SQL)
                    await self.fence(cursor, thread_id)
                    await self._prune(cursor, thread_id)
        self.forget()

    @override
    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        values = {"tenant": self.ledger.tenant, "run_ids": [str(run_id) for run_id in run_ids]}
        with wrap_errors():
            async with self._cursor() as cursor, cursor.connection.transaction():
                await cursor.execute(_THREADS.text, values)
                names = [row["thread_id"] for row in await cursor.fetchall()]
                await _aexecute(cursor, _refuse_delta_threads(names))
                for name in names:
                    await self.fence(cursor, name)
                await cursor.execute(_DELETE_RUNS.text, values)
                await cursor.execute(_UNUSED.text, {"thread_ids": names})
        self.forget()

    @override
    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        names = {"thread_id": str(source_thread_id), "target": str(target_thread_id)}
        with wrap_errors():
            async with self._cursor() as cursor, cursor.connection.transaction():
                await cursor.execute(PRUNE_SNAPSHOT_SQL)
                await self.fence(cursor, names["target"])
                found = await self._everything(cursor, names["thread_id"])
                for stored in found:
                    saver_loading.check(self.ledger.keys, self.ledger.tenant, stored)
                await cursor.execute(_COPY.text, {**names, "tenant": self.ledger.tenant})
                # Parents first: a seal covers that of the parent.
                seals: dict[tuple[str, str], str] = {}
                for stored in reversed(found):
                    await self._seal_copy(cursor, stored, names["target"], seals)

    async def _delete(self, thread_ids: list[str]) -> None:
        values = {
            "tenant": self.ledger.tenant,
            "thread_ids": thread_ids,
            "run_ids": [run_id for name in thread_ids if (run_id := run_of(name))],
        }
        with wrap_errors():
            async with self._cursor(pipeline=True) as cursor:
                for name in thread_ids:
                    await self.fence(cursor, name)
                await cursor.execute(_DELETE.text, values)
        self.forget()

    async def _prune(self, cursor: Cursor, thread_id: str) -> None:
        values = {"tenant": self.ledger.tenant, "thread_id": thread_id}
        await cursor.execute(_NAMESPACES.text, values)
        kept: set[tuple[str, str, str]] = set()
        for row in await cursor.fetchall():
            head = {**values, "checkpoint_ns": row["checkpoint_ns"], "checkpoint_id": None}
            await cursor.execute(_LOAD.text, head)
            if (found := await cursor.fetchone()) is not None:
                stored = Stored(**found)
                saver_loading.check(self.ledger.keys, self.ledger.tenant, stored)
                kept.add(stored.name)
        await cursor.execute(_DELETE_REJECTED.text, values)
        await _aexecute(cursor, _keep_latest(thread_id))
        await cursor.execute(_FORGET.text, values)
        for stored in await self._everything(cursor, thread_id):
            if stored.name not in kept:
                saver_loading.check(self.ledger.keys, self.ledger.tenant, stored)
            elif stored.parent is None:
                await self._seal(cursor, stored, checkpoint_seals.parts_of(stored, None))

    async def _everything(self, cursor: Cursor, thread_id: str) -> list[Stored]:
        values = {**_EVERYTHING, "tenant": self.ledger.tenant, "thread_id": thread_id}
        await cursor.execute(_LIST.text, values)
        return [Stored(**row) for row in await cursor.fetchall()]

    async def _seal(
        self, cursor: Cursor, stored: Stored, parts: dict[str, Any], thread_id: str | None = None
    ) -> str:
        name = (thread_id or stored.thread_id, stored.checkpoint_ns, stored.checkpoint_id)
        values = checkpoint_seals.seal_row(self.ledger.keys, self.ledger.tenant, name, parts)
        await cursor.execute(_SEAL.text, values)
        seal: str = values["seal"]
        return seal

    async def _seal_copy(
        self, cursor: Cursor, stored: Stored, target: str, seals: dict[tuple[str, str], str]
    ) -> None:
        ns = stored.checkpoint_ns
        parent = (stored.parent, seals.get((ns, stored.parent))) if stored.parent else None
        record = _record_of_copy(stored, target)
        parts = checkpoint_seals.parts_of(stored, parent)
        parts["record"] = checkpoint_seals.record_digest(record)
        if record is not None:
            await cursor.execute(_RECORD.text, {"record": record})
        seals[ns, stored.checkpoint_id] = await self._seal(cursor, stored, parts, target)
        rows = checkpoint_seals.write_seal_rows(
            self.ledger.keys, self.ledger.tenant, stored, target
        )
        await cursor.executemany(_SEAL_WRITE.text, rows)


def _record_of_copy(stored: Stored, target: str) -> str | None:
    """Return the record of a checkpoint in another run's name: no worker holds that, and its ledger is another."""
    if stored.record is None or run_of(target) is None:
        return None
    record = {**json.loads(stored.record), "run_id": target}
    return json.dumps({**record, **dict.fromkeys(("fence", "ledger_version", "ledger_seal"))})
