"""What the saver stores is sealed, what it loads was verified, and nobody who lost a run stores anything."""

import asyncio
from typing import Any, LiteralString

import psycopg
import pytest
from psycopg.rows import dict_row

from graph import checkpoints
from ledger import checkpoint_seals, leases, records
from ledger.errors import (
    CheckpointDamaged,
    LeaseLost,
    RecordTooNew,
    SealKeyMissing,
)
from ledger.keys import KeyRing
from ledger.sql import load
from ledger.stored_checkpoints import Stored
from tests.support.ledgers import KEYS, SEAL_KEY, new_run
from tests.support.savers import Story, digest_of_tables, open_saver, stored_story

NEW_KEY = "0e0e" * 16


async def test_what_is_loaded_is_what_was_stored(database_url: str) -> None:
    async with open_saver(database_url) as saver:
        story = await stored_story(saver)
        found = await saver.aget_tuple(story.config())
    assert found is not None
    assert found.checkpoint == story.checkpoints[""]
    assert found.pending_writes == [
        ("task-1", "finished", {"t1": {"status": "complete"}}),
        ("task-1", "wave", 2),
        ("task-2", "__interrupt__", ["Is this right?"]),
    ]


async def test_another_worker_goes_on_from_what_it_did_not_store(database_url: str) -> None:
    """It reads the parent's seal, and digests of blobs that it never had in its hands."""
    async with open_saver(database_url) as saver, open_saver(database_url) as second:
        story = await stored_story(saver)
        story.saver = second
        await story.put()
        for worker in (saver, second):
            assert (await worker.aget_tuple(story.config())) is not None
        async with saver.ledger.transaction() as tx:
            assert all(each.is_valid for each in (await checkpoints.inspect(tx, story.run_id))[""])


async def test_two_savers_store_at_once_on_threads_of_their_own(database_url: str) -> None:
    async with open_saver(database_url) as first, open_saver(database_url) as second:
        stories = [Story(saver, await new_run(first.ledger)) for saver in (first, second) * 3]

        async def tell(story: Story) -> None:
            for _ in range(5):
                await story.put()
                await story.write("task", ("wave", 1))

        await asyncio.gather(*map(tell, stories))
        for story in stories:
            assert len([one async for one in first.alist(story.config())]) == 5


async def test_calls_on_one_saver_do_not_wait_for_each_other(database_url: str) -> None:
    """One is held up inside the database by a lock; another is answered meanwhile."""
    async with open_saver(database_url) as saver:
        story, other = await stored_story(saver), await stored_story(saver)
        async with await psycopg.AsyncConnection.connect(database_url) as blocker:
            await blocker.execute(
                "SELECT FROM langgraph.checkpoints WHERE thread_id = %s FOR UPDATE",
                (str(story.run_id),),
            )
            held_up = asyncio.create_task(saver.adelete_thread(str(story.run_id)))
            while not await _waits(blocker):
                pass
            assert await saver.aget_tuple(other.config()) is not None
            assert not held_up.done()
            await blocker.rollback()
            await held_up
        assert await saver.aget_tuple(story.config()) is None


async def _waits(connection: psycopg.AsyncConnection[Any]) -> bool:
    cursor = await connection.execute(
        "SELECT EXISTS (SELECT FROM pg_locks JOIN pg_stat_activity USING (pid)"
        " WHERE NOT granted AND datname = current_database())"
    )
    row = await cursor.fetchone()
    return bool(row and row[0])


async def test_a_worker_that_lost_the_run_stores_nothing(database_url: str) -> None:
    async with open_saver(database_url) as frozen, open_saver(database_url, worker="b") as second:
        story = await stored_story(frozen)
        frozen.ledger.held[story.run_id] = 1
        async with leases.hold(second.ledger, story.run_id) as fence:
            frozen.ledger.held[story.run_id] = fence - 1
            before = await digest_of_tables(database_url)
            run = str(story.run_id)
            for late in (
                story.put,
                lambda: story.put("branch:1"),
                lambda: story.write("task-3", ("wave", 3)),
                lambda: frozen.adelete_thread(run),
                lambda: frozen.aprune([run]),
                lambda: frozen.acopy_thread(run, run),
            ):
                with pytest.raises(LeaseLost):
                    await late()
            assert await digest_of_tables(database_url) == before
            assert await second.aget_tuple(story.config()) is not None


async def test_a_new_key_signs_and_the_old_one_still_verifies(database_url: str) -> None:
    rotated = KeyRing.of([NEW_KEY, SEAL_KEY])
    async with open_saver(database_url) as old, open_saver(database_url, rotated) as new:
        story = await stored_story(old)
        story.saver = new
        await story.put()
        await story.write("task-4", ("wave", 4))
        assert await new.aget_tuple(story.config()) is not None
        async with new.ledger.transaction() as tx:
            found = await records.verified(tx, story.run_id)
        assert {record.seal for record in found} == {"valid"}
        with pytest.raises(SealKeyMissing, match=rotated.key_id):
            await old.aget_tuple(story.config())
        async with old.ledger.transaction() as tx:
            seals = [record.seal for record in await records.verified(tx, story.run_id)]
        assert sorted(set(seals)) == ["unknown", "valid"]


@pytest.mark.parametrize("keys", [KeyRing(), KeyRing.of([NEW_KEY])], ids=["none", "another"])
async def test_without_the_key_nothing_is_loaded_and_nothing_written(
    database_url: str, keys: KeyRing
) -> None:
    async with open_saver(database_url) as saver, open_saver(database_url, keys) as stranger:
        story = await stored_story(saver)
        before = await digest_of_tables(database_url)
        with pytest.raises(SealKeyMissing, match=KEYS.key_id):
            await stranger.aget_tuple(story.config())
        story.saver = stranger
        with pytest.raises(SealKeyMissing):
            await story.put()
        assert await digest_of_tables(database_url) == before


async def test_without_any_key_not_even_a_first_checkpoint_is_stored(database_url: str) -> None:
    async with open_saver(database_url) as known, open_saver(database_url, KeyRing()) as saver:
        story = Story(saver, await new_run(known.ledger))
        before = await digest_of_tables(database_url)
        with pytest.raises(SealKeyMissing):
            await story.put()
        story.heads[""] = story.config("", "1ef0")
        with pytest.raises(SealKeyMissing):
            await story.write("task", ("wave", 1))
        assert await digest_of_tables(database_url) == before


async def test_a_record_of_a_newer_version_is_not_taken_for_damage(database_url: str) -> None:
    async with open_saver(database_url) as saver:
        story = Story(saver, await new_run(saver.ledger))
        name = (str(story.run_id), "", await story.put())
        async with await psycopg.AsyncConnection.connect(database_url) as connection:
            await connection.execute("UPDATE ledger.checkpoint_records SET schema_version = 3")
            await connection.commit()
            with pytest.raises(CheckpointDamaged, match="its record changed"):
                await saver.aget_tuple(story.config())
            await connection.execute(*resealed(name, await stored(connection, name)))
        with pytest.raises(RecordTooNew, match="version 3"):
            await saver.aget_tuple(story.config())


async def stored(connection: psycopg.AsyncConnection[Any], name: tuple[str, str, str]) -> Stored:
    """What is stored of a checkpoint."""
    cursor = connection.cursor(row_factory=dict_row)
    await cursor.execute("SELECT * FROM ledger.stored_checkpoint('default', %s, %s, %s)", name)
    row = await cursor.fetchone()
    assert row is not None
    return Stored(*name, **row)


def resealed(name: tuple[str, str, str], found: Stored) -> tuple[LiteralString, dict[str, Any]]:
    """The statement that seals what is stored, as whoever has the key could."""
    row = checkpoint_seals.seal_row(KEYS, "default", name, checkpoint_seals.parts_of(found, None))
    return load("checkpoint_seals")["SealCheckpoint"].text, row
