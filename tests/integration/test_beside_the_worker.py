"""Who does not hold a run writes nothing into it, and what somebody wrote past the ledger is named."""

from pathlib import Path

import pytest

from graph import checkpoints
from graph.errors import RunBlocked
from graph.forking import fork_run
from graph.runs import resume_run, start_run
from graph.threads import run_config
from ledger import leases, records
from ledger.errors import CheckpointDamaged, LeaseLost, SealKeyMissing
from ledger.keys import KeyRing
from nodes.options import RunOptions
from tests.support.ledgers import KEYS, SEAL_KEY
from tests.support.observed import table_digests
from tests.support.runtimes import QUESTION, decided, options, runtime_on, write_corpus

NEW_KEY = "a" * 32


@pytest.mark.parametrize("held", [True, False])
async def test_a_state_that_is_edited_without_holding_the_run_is_refused(
    database_url: str, tmp_path: Path, *, held: bool
) -> None:
    """A review would be passed by, as LangGraph's server lets anybody do who knows a thread's id."""
    corpus = write_corpus(tmp_path / "garden")
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        paused = await start_run(runtime, QUESTION, options(corpus, "plan"))
        run_id = paused.run.run_id
        async with runtime_on(database_url, tmp_path / "home") as other:
            config = run_config(run_id, RunOptions())
            if not held:
                with pytest.raises(LeaseLost):
                    await other.compiled().aupdate_state(config, {"review": {}}, as_node="plan")
                return
            async with leases.hold(runtime.ledger, run_id):
                before = await table_digests(runtime.ledger)
                with pytest.raises(LeaseLost, match=runtime.ledger.worker):
                    await other.compiled().aupdate_state(config, {"review": {}}, as_node="plan")
                with pytest.raises(LeaseLost, match=runtime.ledger.worker):
                    await other.new_saver().adelete_thread(str(run_id))
                assert await table_digests(runtime.ledger) == before


async def test_a_change_past_the_ledger_is_named_and_has_a_way_out(
    database_url: str, tmp_path: Path
) -> None:
    """Plain SQL, the triggers in place: it cannot be sealed, so nothing more is written, and a fork goes on."""
    corpus = write_corpus(tmp_path / "garden")
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        paused = await start_run(runtime, QUESTION, options(corpus, "report"))
        run_id = paused.run.run_id
        async with runtime.saver_pool.connection() as connection:
            await connection.execute("UPDATE ledger.tasks SET attempts = 9 WHERE task_id = 't1'")
        with pytest.raises(
            RunBlocked, match=r"row tasks t1 changed by somebody else.*perdure fork"
        ):
            await resume_run(runtime, run_id)
        async with runtime.ledger.transaction() as tx:
            rows = await records.newest_first(tx, run_id)
        at = next(row.checkpoint_id for row in rows if row.boundary == "branch_completed")
        forked = await fork_run(runtime, run_id, at)
        assert (await resume_run(runtime, forked.run_id)).run.status == "paused"


async def test_a_fork_asks_what_was_sealed_and_not_what_the_table_says(
    database_url: str, tmp_path: Path
) -> None:
    corpus = write_corpus(tmp_path / "garden")
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        paused = await start_run(runtime, QUESTION, options(corpus, "plan"))
        async with runtime.saver_pool.connection() as connection:
            await connection.execute("SET session_replication_role = replica")
            await connection.execute("UPDATE ledger.reviews SET body = convert_to('{}', 'UTF8')")
            await connection.execute("SET session_replication_role = DEFAULT")
        async with runtime.ledger.transaction() as tx:
            rows = await records.newest_first(tx, paused.run.run_id)
        at = next(row.checkpoint_id for row in rows if row.boundary == "before_review")
        forked = await fork_run(runtime, paused.run.run_id, at)
        again = await resume_run(runtime, forked.run_id)
        assert again.reviews[0].shown == paused.reviews[0].shown
        assert (await decided(runtime, again, choice="approve")).run.status == "completed"


async def test_a_fork_is_forked_at_its_first_checkpoint(database_url: str, tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "garden")
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        run_id = (await start_run(runtime, QUESTION, options(corpus))).run.run_id
        for _ in range(2):
            async with runtime.ledger.transaction() as tx:
                rows = await records.newest_first(tx, run_id)
            at = next(row.checkpoint_id for row in rows if row.boundary == "branch_completed")
            run_id = (await fork_run(runtime, run_id, at)).run_id
        assert (await resume_run(runtime, run_id)).run.status == "completed"


async def test_a_run_that_was_made_to_look_old_is_not_adopted(
    database_url: str, tmp_path: Path
) -> None:
    corpus = write_corpus(tmp_path / "garden")
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        run_id = (await start_run(runtime, QUESTION, options(corpus, "plan"))).run.run_id
        async with runtime.saver_pool.connection() as connection:
            for table in ("checkpoint_seals", "write_seals", "checkpoint_records"):
                await connection.execute(f"DELETE FROM ledger.{table}".encode())
        config = run_config(run_id, RunOptions())
        with pytest.raises(CheckpointDamaged, match="seal is missing"):
            await runtime.compiled().aget_state(config)
        async with runtime.ledger.transaction(actor="ada") as tx:
            assert await checkpoints.adopt(tx, run_id) == 0


async def test_a_key_that_sealed_any_part_of_a_run_is_needed_before_anything_is_written(
    database_url: str, tmp_path: Path
) -> None:
    corpus = write_corpus(tmp_path / "garden")
    home = tmp_path / "home"
    async with runtime_on(database_url, home) as runtime:
        paused = await start_run(runtime, QUESTION, options(corpus, "plan,report"))
    async with runtime_on(database_url, home, seal_key=f"{NEW_KEY},{SEAL_KEY}") as runtime:
        again = await decided(runtime, paused, choice="approve")
        assert [review.kind for review in again.reviews] == ["report"]
    async with runtime_on(database_url, home, seal_key=NEW_KEY) as runtime:
        assert runtime.ledger.keys == KeyRing.of([NEW_KEY])
        before = await table_digests(runtime.ledger)
        with pytest.raises(SealKeyMissing, match=KEYS.key_id):
            await resume_run(runtime, paused.run.run_id)
        assert await table_digests(runtime.ledger) == before
