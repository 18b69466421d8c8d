"""Seals follow what is pruned, copied and deleted."""

import psycopg
import pytest

from graph import checkpoints
from ledger import records
from ledger.errors import (
    CheckpointDamaged,
)
from ledger.ids import new_run_id
from tests.support.ledgers import new_run
from tests.support.savers import Story, digest_of_tables, open_saver, stored_story


async def test_what_a_prune_keeps_is_sealed_anew(database_url: str) -> None:
    async with open_saver(database_url) as saver:
        story = await stored_story(saver)
        await saver.aprune([str(story.run_id)])
        await story.put()
        assert await saver.aget_tuple(story.config()) is not None
        async with saver.ledger.transaction() as tx:
            found = await checkpoints.inspect(tx, story.run_id)
    assert {ns: len(each) for ns, each in found.items()} == {"": 2, "branch:1": 1}
    assert all(each.is_valid for ns in found.values() for each in ns)


@pytest.mark.parametrize("upkeep", ["prune", "copy"])
async def test_damage_is_neither_pruned_nor_copied_into_a_seal(
    database_url: str, upkeep: str
) -> None:
    async with open_saver(database_url) as saver:
        story = await stored_story(saver)
        async with await psycopg.AsyncConnection.connect(database_url) as connection:
            await connection.execute("UPDATE langgraph.checkpoint_blobs SET blob = blob || blob")
        before = await digest_of_tables(database_url)
        work = (
            saver.aprune([str(story.run_id)])
            if upkeep == "prune"
            else saver.acopy_thread(str(story.run_id), str(new_run_id()))
        )
        with pytest.raises(CheckpointDamaged, match="blob of channel"):
            await work
        assert await digest_of_tables(database_url) == before


async def test_a_copy_is_sealed_in_its_own_name(database_url: str) -> None:
    async with open_saver(database_url) as saver:
        story = await stored_story(saver)
        target = Story(saver, await new_run(saver.ledger))
        await saver.acopy_thread(str(story.run_id), str(target.run_id))
        found = await saver.aget_tuple(target.config())
        assert found is not None
        assert found.checkpoint == story.checkpoints[""]
        assert len(found.pending_writes or ()) == 3
        async with saver.ledger.transaction() as tx:
            copied = await records.verified(tx, target.run_id)
    assert {record.seal for record in copied} == {"valid"}
    assert len(copied) == 5


async def test_what_one_invocation_stored_is_deleted_with_all_that_belongs_to_it(
    database_url: str,
) -> None:
    """LangGraph calls an invocation a run; what a later one stored stands on its own."""
    async with open_saver(database_url) as saver:
        story = await stored_story(saver)
        story.heads[""]["metadata"] = {"run_id": "second"}
        await story.put()
        before = story.checkpoints[""]["id"]
        story.heads[""]["metadata"] = {"run_id": "third"}
        await story.put()
        await saver.adelete_for_runs(["second"])
        found = await saver.aget_tuple(story.config())
        assert found is not None
        assert found.checkpoint == story.checkpoints[""]
        async with saver.ledger.transaction() as tx:
            left = await checkpoints.inspect(tx, story.run_id)
    assert before not in {each.checkpoint_id for each in left[""]}
    assert all(each.is_valid for ns in left.values() for each in ns)


async def test_a_deleted_thread_leaves_nothing(database_url: str) -> None:
    async with open_saver(database_url) as saver:
        empty = await digest_of_tables(database_url)
        story = await stored_story(saver)
        await saver.adelete_thread(str(story.run_id))
        assert await digest_of_tables(database_url) == empty
        assert await saver.aget_tuple(story.config()) is None
