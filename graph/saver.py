"""The saver: LangGraph's checkpoints in LangGraph's own tables, each with our record of it in the same transaction.

A worker that holds its run stores nothing once another has taken the run over: the fence is checked at the head of the
transaction. One saver is one lock, so every worker has its own.
"""

from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any, Self
from uuid import UUID

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from psycopg import AsyncCursor
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb
from typing_extensions import override

from graph.boundaries import boundary_of
from ledger.db import Ledger, Pool, wrap_errors
from ledger.faults import FaultPoint
from ledger.records import RECORD, SCHEMA_VERSION
from ledger.sql import load
from nodes.resources import Workflow

_CHECK = load("session")["CheckFenceOnly"]

#: What the transaction that is being opened in this task writes before anything else.
_head: ContextVar[tuple[tuple[Any, dict[str, Any]], ...]] = ContextVar("_head", default=())


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


class RecordingPostgresSaver(AsyncPostgresSaver):
    """AsyncPostgresSaver that checks the fence and writes the checkpoint record with each checkpoint."""

    def __init__(self, pool: Pool, ledger: Ledger, workflow: Workflow) -> None:
        super().__init__(pool, serde=PlainSerializer())
        self.ledger = ledger
        self.workflow = workflow

    @override
    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        record = self._record(config, checkpoint, metadata)
        faults = self.ledger.faults
        faults.reach(FaultPoint.BEFORE_CHECKPOINT)
        with wrap_errors(), _first(*self._fence(config), (RECORD.text, record)):
            stored = await super().aput(config, checkpoint, metadata, new_versions)
        faults.reach(FaultPoint.AFTER_CHECKPOINT)
        return stored

    @override
    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        faults = self.ledger.faults
        faults.reach(FaultPoint.BEFORE_WRITES)
        with wrap_errors(), _first(*self._fence(config)):
            await super().aput_writes(config, writes, task_id, task_path)
        faults.reach(FaultPoint.AFTER_WRITES)

    @asynccontextmanager
    @override
    async def _cursor(self, *, pipeline: bool = False) -> AsyncGenerator[AsyncCursor[DictRow]]:
        # A pipeline on an autocommit connection is one implicit transaction: what comes first decides over all.
        async with super()._cursor(pipeline=pipeline) as cursor:
            for statement, values in _head.get():
                await cursor.execute(statement, values)
            yield cursor

    def _fence(self, config: RunnableConfig) -> tuple[tuple[Any, dict[str, Any]], ...]:
        run_id = _run_id(config)
        if run_id not in self.ledger.held:
            return ()
        values = {"tenant": self.ledger.tenant, "run_id": run_id, "fence": self.ledger.held[run_id]}
        return ((_CHECK.text, values),)

    def _record(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata
    ) -> dict[str, Any]:
        configurable = _configurable(config)
        run_id = _run_id(config)
        values = checkpoint["channel_values"]
        step: dict[str, Any] = values.get("step") or {}
        tasks: dict[str, int] = values.get("tasks") or {}
        return {
            "tenant": self.ledger.tenant,
            "run_id": run_id,
            "checkpoint_ns": configurable.get("checkpoint_ns", ""),
            "checkpoint_id": checkpoint["id"],
            "parent_checkpoint": configurable.get("checkpoint_id"),
            "schema_version": SCHEMA_VERSION,
            "workflow_version": self.workflow.version,
            "fingerprint": self.workflow.fingerprint,
            "boundary": boundary_of(values, configurable.get("checkpoint_ns", "")),
            "phase": str(step.get("name", "begin")),
            "step": metadata.get("step", 0),
            "tasks": Jsonb(tasks),
            "fence": self.ledger.held.get(run_id),
        }


class _first:  # noqa: N801  # reads as a word of the with statement
    """Puts statements at the head of the transaction that the body opens."""

    def __init__(self, *statements: tuple[Any, dict[str, Any]]) -> None:
        self.statements = statements

    def __enter__(self) -> None:
        self.token = _head.set(self.statements)

    def __exit__(self, *error: object) -> None:
        _head.reset(self.token)


def _run_id(config: RunnableConfig) -> UUID:
    return UUID(_configurable(config)["thread_id"])


def _configurable(config: RunnableConfig) -> dict[str, Any]:
    assert "configurable" in config  # LangGraph calls a saver with nothing else
    return config["configurable"]
