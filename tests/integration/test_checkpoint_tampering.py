"""Every single change of what a load reads is found and named, and none is loaded."""

import re
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from graph import checkpoints
from graph.checkpoints import Inspected
from ledger.db import Transaction
from ledger.errors import CheckpointDamaged
from ledger.payloads import PlainCodec
from tests.support.checkpoint_tampering import checkpoint_changes
from tests.support.ledgers import KEYS
from tests.support.savers import Story, open_saver, stored_story
from tests.support.tampering import unguarded

#: What the problem says, by the table that was changed.
NAMED = {
    "langgraph.checkpoints": "its row|its parent changed|its seal is missing",
    "langgraph.checkpoint_blobs": "blob of channel [a-z]+ (changed|is missing)",
    "langgraph.checkpoint_writes": "pending write of task",
    "ledger.checkpoint_seals": "seal",
    "ledger.write_seals": "pending write of task",
    "ledger.checkpoint_records": "its record|its seal is missing",
}
#: A blob that no checkpoint names is read by nobody.
HARMLESS = {"langgraph.checkpoint_blobs: copied"}


def told(found: dict[str, list[Inspected]]) -> list[str]:
    """Every problem of every checkpoint."""
    return [
        problem
        for each in (one for ns in found.values() for one in ns)
        for problem in (
            *each.problems,
            *(text for told in each.write_problems.values() for text in told),
        )
    ]


async def test_every_single_change_is_found_and_named(database_url: str) -> None:
    async with open_saver(database_url) as saver:
        mine, other = await stored_story(saver), await stored_story(saver)
    connection: psycopg.AsyncConnection[Any]
    async with (
        await psycopg.AsyncConnection.connect(database_url, row_factory=dict_row) as connection,
        connection.transaction(force_rollback=True),
    ):
        await unguarded(connection)
        tx = Transaction(connection, "default", "test", None, PlainCodec(), KEYS)
        assert told(await checkpoints.inspect(tx, mine.run_id)) == []
        changes = await checkpoint_changes(connection, mine.run_id, other.run_id)
        for change in changes:
            async with connection.transaction(force_rollback=True):
                await change.apply(connection)
                problems = told(await checkpoints.inspect(tx, mine.run_id))
            if change.name in HARMLESS:
                assert problems == []
            else:
                assert any(re.search(NAMED[change.table], one) for one in problems), (
                    change.name,
                    problems,
                )
    assert len(changes) > 100
    assert {change.table for change in changes} == set(NAMED)


#: Changes of the newest checkpoint, and what a load then says.
OF_THE_HEAD = {
    "inline value": (
        "UPDATE langgraph.checkpoints SET checkpoint = jsonb_set(checkpoint, '{channel_values,wave}', '9')",
        r"its row changed \(checkpoint\)",
    ),
    "metadata": ("UPDATE langgraph.checkpoints SET metadata = metadata || '{\"step\": 7}'", "metadata"),
    "parent": ("UPDATE langgraph.checkpoints SET parent_checkpoint_id = NULL", "its parent changed"),
    "type": ("UPDATE langgraph.checkpoints SET type = 'pickle'", r"its row changed \(type\)"),
    "no object": (
        "UPDATE langgraph.checkpoints SET checkpoint = '{\"channel_versions\": 5}'",
        r"its row changed \(checkpoint\)",
    ),
    "a number of 5,000 digits": (
        "UPDATE langgraph.checkpoints SET checkpoint = jsonb_set(checkpoint, '{v}', ('1' || repeat('0', 5000))::jsonb)",
        r"its row changed \(checkpoint\)",
    ),
    "no JSON object": ("UPDATE langgraph.checkpoints SET checkpoint = '7'", r"its row changed"),
    "deep": (
        "UPDATE langgraph.checkpoints SET checkpoint = (repeat('[', 3000) || repeat(']', 3000))::jsonb",
        "its row changed",
    ),
    "row": ("DELETE FROM langgraph.checkpoints", "its row is missing"),
    "blob byte": (
        "UPDATE langgraph.checkpoint_blobs SET blob = set_byte(blob, 9, 65) WHERE channel = 'step'",
        "blob of channel step changed",
    ),
    "blob type": (
        "UPDATE langgraph.checkpoint_blobs SET type = 'pickle' WHERE channel = 'step'",
        "blob of channel step changed",
    ),
    "blob": (
        "DELETE FROM langgraph.checkpoint_blobs WHERE channel = 'question'",
        "blob of channel question is missing",
    ),
    "blob of nothing": (
        "UPDATE langgraph.checkpoint_blobs SET blob = NULL WHERE channel = 'ready'",
        "blob of channel ready changed",
    ),
    "blobs exchanged": (
        ("UPDATE langgraph.checkpoint_blobs AS a SET blob = b.blob FROM langgraph.checkpoint_blobs AS b"
        " WHERE a.channel = 'tasks' AND b.channel = 'tasks' AND a.version <> b.version"),
        "blob of channel tasks changed",
    ),
    "write": ("DELETE FROM langgraph.checkpoint_writes WHERE idx = 1", "write of task task-1 is missing"),
    "question": (
        "UPDATE langgraph.checkpoint_writes SET blob = set_byte(blob, 3, 65) WHERE task_id = 'task-2'",
        "pending write of task task-2 changed",
    ),
    "write without a seal": (
        ("INSERT INTO langgraph.checkpoint_writes SELECT thread_id, checkpoint_ns, checkpoint_id, 'task-3', 0, channel,"
        " type, blob, task_path FROM langgraph.checkpoint_writes WHERE idx = 1"),
        "pending write of task task-3 has no seal",
    ),
    "seal": ("DELETE FROM ledger.checkpoint_seals WHERE parts->>'parent' IS NOT NULL", "its seal is missing"),
    "parts": ("UPDATE ledger.checkpoint_seals SET parts = '{}'", "its seal does not verify"),
    "parts that are none": ("UPDATE ledger.checkpoint_seals SET parts = '5'", "parts of its seal"),
    "key": ("UPDATE ledger.checkpoint_seals SET key_id = 'k_0123456789ab'", "names another key"),
    "parent's seal": (
        ("DELETE FROM ledger.checkpoint_seals WHERE checkpoint_id < (SELECT max(checkpoint_id) FROM"
        " ledger.checkpoint_seals WHERE checkpoint_ns = '')"),
        "its parent's seal is missing",
    ),
    "record": ("DELETE FROM ledger.checkpoint_records", "its record is missing"),
    "boundary": ("UPDATE ledger.checkpoint_records SET boundary = 'output_stored'", "its record changed"),
    "time": ("UPDATE ledger.checkpoint_records SET created_at = 'infinity'", "its record changed"),
    "version": ("UPDATE ledger.checkpoint_records SET schema_version = 99", "its record changed"),
}  # fmt: skip


@pytest.mark.parametrize(("damage", "problem"), OF_THE_HEAD.values(), ids=OF_THE_HEAD.keys())
async def test_a_damaged_checkpoint_is_not_loaded(
    database_url: str, damage: str, problem: str
) -> None:
    async with open_saver(database_url) as saver:
        story = await stored_story(saver)
        await tamper(database_url, damage)
        with pytest.raises(CheckpointDamaged, match=problem) as caught:
            await saver.aget_tuple(story.config())
        with pytest.raises(CheckpointDamaged):
            await loaded_by_id(story)
    assert caught.value.checkpoint_id == story.checkpoints[""]["id"]
    assert str(story.run_id) in str(caught.value)


async def loaded_by_id(story: Story) -> None:
    """Load the head by its id."""
    await story.saver.aget_tuple(story.config("", story.checkpoints[""]["id"]))


async def tamper(database_url: str, statement: str) -> None:
    """Change rows as somebody would who owns the tables."""
    async with await psycopg.AsyncConnection.connect(database_url) as connection:
        await connection.execute("SET session_replication_role = replica")
        await connection.execute(statement.encode())


async def test_damage_of_another_thread_is_none_of_ours(database_url: str) -> None:
    async with open_saver(database_url) as saver:
        damaged, sound = await stored_story(saver), await stored_story(saver)
        await tamper(
            database_url,
            f"DELETE FROM ledger.checkpoint_seals WHERE thread_id = '{damaged.run_id}'",
        )
        assert await saver.aget_tuple(sound.config()) is not None
        with pytest.raises(CheckpointDamaged, match="its seal is missing"):
            await saver.aget_tuple(damaged.config())


async def test_without_any_trace_of_seals_a_run_whose_rows_are_sealed_is_damaged_all_the_same(
    database_url: str,
) -> None:
    async with open_saver(database_url) as saver:
        story = await stored_story(saver)
        for table in ("checkpoint_seals", "checkpoint_records", "write_seals"):
            await tamper(database_url, f"DELETE FROM ledger.{table}")
            with pytest.raises(CheckpointDamaged):
                await saver.aget_tuple(story.config())
