"""Savers for tests: as many workers on one database as a test wants, and a run's thread to store on."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import psycopg
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    empty_checkpoint,
)
from langgraph.checkpoint.base.id import uuid6
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

from graph.migrate import LANGGRAPH_SCHEMA
from graph.saver import SealedPostgresSaver
from ledger.db import Ledger, new_pool
from ledger.keys import KeyRing
from nodes.resources import Workflow
from tests.support.ledgers import KEYS, new_run

WORKFLOW = Workflow(1, "sha256:topology")


@asynccontextmanager
async def open_saver(
    database_url: str, keys: KeyRing = KEYS, worker: str = "worker", size: int = 4
) -> AsyncGenerator[SealedPostgresSaver]:
    """Open a saver with pools of its own."""
    async with (
        new_pool(database_url, size) as pool,
        new_pool(database_url, size, LANGGRAPH_SCHEMA) as saver_pool,
    ):
        yield SealedPostgresSaver(saver_pool, Ledger(pool, worker, keys=keys), WORKFLOW)


def next_checkpoint(
    saver: AsyncPostgresSaver, before: Checkpoint | None, number: int
) -> tuple[Checkpoint, ChannelVersions]:
    """Return the next checkpoint of a thread and its new versions: 5 kB in six channels, three of them new."""
    versions: dict[str, Any] = dict(before["channel_versions"]) if before else {}
    values: dict[str, Any] = {
        "question": {"text": "Why is the sky blue, and since when? " * 20},
        "products": {f"artifact{each}": "sha256:" + f"{each:x}" * 64 for each in range(1, 16)},
        "ready": [f"t{each}" for each in range(40)],
        "step": {"name": "dispatch", "number": number, "tasks": ["t1"] * 40},
        "tasks": {"running": number, "complete": 3},
        "finished": {
            f"t{each}": {"status": "complete", "findings": 3, "gaps": number} for each in range(30)
        },
        "wave": number,
    }
    changed = list(values) if before is None else ["step", "tasks", "finished", "wave"]
    new: ChannelVersions = {
        name: saver.get_next_version(versions.get(name), None) for name in changed
    }
    checkpoint = empty_checkpoint()
    checkpoint["v"] = 4
    checkpoint["id"] = str(uuid6(clock_seq=number))
    checkpoint["channel_values"] = values
    checkpoint["channel_versions"] = {**versions, **new}
    checkpoint["versions_seen"] = {"__input__": {}, "plan": dict(versions)}
    return checkpoint, new


class Story:
    """A run's thread as a saver stores it: checkpoints of its own and of a branch, and what tasks wrote on the head."""

    def __init__(self, saver: AsyncPostgresSaver, run_id: UUID) -> None:
        self.saver, self.run_id = saver, run_id
        self.heads: dict[str, RunnableConfig] = {}
        self.checkpoints: dict[str, Checkpoint] = {}

    async def put(self, ns: str = "") -> str:
        """Store the next checkpoint of a namespace and return its id."""
        before = self.checkpoints.get(ns)
        number = len(self.checkpoints) + (before["channel_values"]["wave"] if before else 0)
        checkpoint, new = next_checkpoint(self.saver, before, number)
        config = self.heads.get(ns, self.config(ns))
        metadata: CheckpointMetadata = {"source": "loop", "step": number, "parents": {}}
        self.heads[ns] = await self.saver.aput(config, checkpoint, metadata, new)
        self.checkpoints[ns] = checkpoint
        return checkpoint["id"]

    async def write(self, task_id: str, *writes: tuple[str, Any], ns: str = "") -> None:
        """Store what a task wrote on the head."""
        await self.saver.aput_writes(self.heads[ns], writes, task_id, f"~__pregel_pull, {task_id}")

    def config(self, ns: str = "", checkpoint_id: str | None = None) -> RunnableConfig:
        """Return the config that asks for the newest checkpoint of a namespace, or for a certain one."""
        names = {"thread_id": str(self.run_id), "checkpoint_ns": ns}
        return {"configurable": names | ({"checkpoint_id": checkpoint_id} if checkpoint_id else {})}


async def stored_story(saver: SealedPostgresSaver) -> Story:
    """Return the story of a new run: three checkpoints, two of a branch, and two tasks' writes, one of them a question."""
    story = Story(saver, await new_run(saver.ledger))
    for _ in range(3):
        await story.put()
    for _ in range(2):
        await story.put("branch:1")
    await story.write("task-1", ("finished", {"t1": {"status": "complete"}}), ("wave", 2))
    await story.write("task-2", ("__interrupt__", ["Is this right?"]))
    return story


async def digest_of_tables(database_url: str) -> Any:
    """Return what stands in every table that a saver writes."""
    tables = ("langgraph.checkpoints", "langgraph.checkpoint_blobs", "langgraph.checkpoint_writes")
    ours = ("ledger.checkpoint_seals", "ledger.write_seals", "ledger.checkpoint_records")
    async with await psycopg.AsyncConnection.connect(database_url) as connection:
        return [
            await (
                await connection.execute(
                    f"SELECT md5(string_agg(t::text, '' ORDER BY t::text)) FROM {table} AS t".encode()
                )
            ).fetchone()
            for table in (*tables, *ours)
        ]
