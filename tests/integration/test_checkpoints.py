"""What is wrong with a run's checkpoints, and what is done about it: rejected, made room for, adopted."""

import psycopg
import pytest
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

from graph import checkpoints
from graph.migrate import LANGGRAPH_SCHEMA
from ledger import audit, records
from ledger.db import new_pool
from ledger.errors import (
    CheckpointDamaged,
    CheckpointUnsealed,
)
from ledger.ids import new_run_id
from tests.support.savers import Story, next_checkpoint, open_saver, stored_story


class TestRejected:
    """What failed its check is passed over for ever, and stays as evidence."""

    async def test_a_rejected_checkpoint_is_never_loaded(
        self, database_url: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        async with open_saver(database_url) as saver:
            story = await stored_story(saver)
            rejected = story.checkpoints[""]["id"]
            for new in (True, False):
                async with saver.ledger.transaction() as tx:
                    assert new is await checkpoints.reject(
                        tx, story.run_id, "", rejected, "its row changed"
                    )
            found = await saver.aget_tuple(story.config())
            assert found is not None
            assert found.checkpoint["id"] < rejected
            listed = [one.checkpoint["id"] async for one in saver.alist(story.config())]
            assert rejected not in listed
            assert len(listed) == 2
            with pytest.raises(CheckpointDamaged, match=r"rejected \(its row changed\)"):
                await saver.aget_tuple(story.config("", rejected))
            async with saver.ledger.transaction() as tx:
                told = await records.verified(tx, story.run_id)
                chain = await audit.entries(tx, story.run_id)
        assert [one.seal for one in told if one.checkpoint_id == rejected] == ["rejected"]
        assert [entry.event for entry in chain][-1:] == ["checkpoint_rejected"]
        assert len([line for line in caplog.records if "is rejected" in line.message]) == 1

    async def test_the_head_is_found_step_by_step_without_the_whole_history(
        self, database_url: str
    ) -> None:
        async with open_saver(database_url) as saver:
            story = await stored_story(saver)
            async with await psycopg.AsyncConnection.connect(database_url) as connection:
                await connection.execute(
                    "UPDATE langgraph.checkpoints SET metadata = '{}' WHERE checkpoint_id = %s",
                    (story.checkpoints[""]["id"],),
                )
            async with saver.ledger.transaction() as tx:
                head = await checkpoints.head(tx, story.run_id)
                assert head is not None
                assert not head.is_valid
                assert head.problems == ("its row changed (metadata)",)
                reason = "; ".join(head.problems)
                await checkpoints.reject(tx, story.run_id, "", head.checkpoint_id, reason)
                before = await checkpoints.head(tx, story.run_id)
            assert before is not None
            assert before.is_valid
            assert before.checkpoint_id == head.parent

    async def test_rejected_writes_make_room_for_the_next_attempt(self, database_url: str) -> None:
        async with open_saver(database_url) as saver:
            story = await stored_story(saver)
            async with await psycopg.AsyncConnection.connect(database_url) as connection:
                await connection.execute("DELETE FROM langgraph.checkpoint_writes WHERE idx = 0")
            with pytest.raises(CheckpointDamaged) as caught:
                await saver.aget_tuple(story.config())
            assert caught.value.tasks == ("task-1",)
            async with saver.ledger.transaction() as tx:
                head = await checkpoints.head(tx, story.run_id)
                assert head is not None
                assert head.is_valid
                assert set(head.write_problems) == {"task-1"}
                moved = await checkpoints.reject_writes(
                    tx, story.run_id, "", head.checkpoint_id, head.write_problems
                )
            assert moved == 2
            found = await saver.aget_tuple(story.config())
            assert found is not None
            assert [write[0] for write in found.pending_writes or ()] == ["task-2"]
            await story.write("task-1", ("wave", 7))
            assert await saver.aget_tuple(story.config()) is not None


async def test_what_the_plain_saver_wrote_is_loaded_only_once_somebody_adopted_it(
    database_url: str,
) -> None:
    async with (
        open_saver(database_url) as saver,
        new_pool(database_url, 2, LANGGRAPH_SCHEMA) as pool,
    ):
        plain = AsyncPostgresSaver(pool)
        story = Story(plain, new_run_id())
        for _ in range(3):
            await story.put()
        await story.write("task", ("wave", 1))
        story.saver = saver
        for refused in (saver.aget_tuple(story.config()), story.put()):
            with pytest.raises(CheckpointUnsealed, match="perdure adopt"):
                await refused
        for adopted in (3, 0):
            async with saver.ledger.transaction(actor="ada") as tx:
                assert await checkpoints.adopt(tx, story.run_id) == adopted
        found = await saver.aget_tuple(story.config())
        assert found is not None
        assert found.checkpoint == story.checkpoints[""]
        async with saver.ledger.transaction() as tx:
            entry = (await audit.entries(tx, story.run_id))[-1]
        assert (entry.event, entry.actor, entry.detail) == (
            "checkpoints_adopted",
            "ada",
            {"checkpoints": 3},
        )


async def test_nothing_of_a_sealed_run_is_adopted(database_url: str) -> None:
    async with open_saver(database_url) as saver:
        story = await stored_story(saver)
        checkpoint, new = next_checkpoint(saver, story.checkpoints[""], 9)
        async with new_pool(database_url, 2, LANGGRAPH_SCHEMA) as pool:
            await AsyncPostgresSaver(pool).aput(story.heads[""], checkpoint, {"step": 9}, new)
        with pytest.raises(CheckpointDamaged, match="its seal is missing"):
            await saver.aget_tuple(story.config())
        async with saver.ledger.transaction() as tx:
            assert await checkpoints.adopt(tx, story.run_id) == 0
