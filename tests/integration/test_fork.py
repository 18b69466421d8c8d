"""A new run begins where another was: with its ledger as it stood then, and nothing of what came after."""

from pathlib import Path
from uuid import UUID

import pytest

from graph.forking import fork_run
from graph.runs import decide, resume_run, start_run
from graph.runtime import Runtime
from ledger import forks, journal, records, reviews, tasks
from ledger.errors import LedgerDamaged, NotFound
from ledger.questions import Decision
from ledger.verification import verify
from tests.support.commands import perdure
from tests.support.observed import observe, table_digests
from tests.support.runtimes import QUESTION, options, runtime_on, write_corpus


async def checkpoint_at(runtime: Runtime, run_id: UUID, boundary: str) -> str:
    """Return the newest checkpoint of the graph itself at this boundary."""
    async with runtime.ledger.transaction() as tx:
        found = await records.newest_first(tx, run_id)
    return next(row.checkpoint_id for row in found if row.boundary == boundary)


async def test_a_fork_ends_as_its_origin_did_and_the_origin_is_untouched(
    database_url: str, tmp_path: Path
) -> None:
    """From a checkpoint in the middle: what was known then is reused, what came later is worked anew."""
    corpus = write_corpus(tmp_path / "garden")
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        done = await start_run(runtime, QUESTION, options(corpus))
        origin = done.run.run_id
        before = await observe(runtime.ledger, origin)
        at = await checkpoint_at(runtime, origin, "branch_completed")
        forked = await fork_run(runtime, origin, at[:30])
        async with runtime.ledger.transaction() as tx:
            known = {task.status for task in await tasks.everything(tx, forked.run_id)}
            calls = await journal.operations(tx, forked.run_id)
            origin_of = await forks.of(tx, forked.run_id)
        assert known == {"complete"}
        assert len(calls) == len(before.operations)
        assert origin_of is not None
        assert (origin_of.origin_run, origin_of.origin_checkpoint) == (origin, at)
        assert (forked.status, forked.report_artifact) == ("running", None)
        ended = await resume_run(runtime, forked.run_id)
        assert ended.run.status == "completed"
        after = await observe(runtime.ledger, forked.run_id)
        assert after.result == before.result
        assert len(after.operations) == len(before.operations), "nothing was called again"
        assert await observe(runtime.ledger, origin) == before
        async with runtime.ledger.transaction(one_moment=True) as tx:
            assert [check for check in await verify(tx, forked.run_id) if not check.ok] == []


async def test_a_fork_from_before_the_work_knows_nothing_of_it(
    database_url: str, tmp_path: Path
) -> None:
    corpus = write_corpus(tmp_path / "garden")
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        done = await start_run(runtime, QUESTION, options(corpus))
        at = await checkpoint_at(runtime, done.run.run_id, "plan_validated")
        forked = await fork_run(runtime, done.run.run_id, at)
        async with runtime.ledger.transaction() as tx:
            assert {t.status for t in await tasks.everything(tx, forked.run_id)} == {"pending"}
            assert await journal.operations(tx, forked.run_id) == []
        assert (await resume_run(runtime, forked.run_id)).run.status == "completed"


async def test_a_fork_at_a_review_asks_a_person_again(database_url: str, tmp_path: Path) -> None:
    """What was decided about the first run is no decision about the second."""
    corpus = write_corpus(tmp_path / "garden")
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        paused = await start_run(runtime, QUESTION, options(corpus, "plan"))
        origin = paused.run.run_id
        approval = Decision(choice="approve", decided_by="ada")
        await decide(runtime, paused.reviews[0].review_id, approval)
        await resume_run(runtime, origin)
        at = await checkpoint_at(runtime, origin, "before_review")
        forked = await fork_run(runtime, origin, at)
        assert forked.status == "paused"
        again = await resume_run(runtime, forked.run_id)
        (review,) = again.reviews
        assert review.review_id != paused.reviews[0].review_id
        assert review.shown == paused.reviews[0].shown
        await decide(runtime, review.review_id, Decision(choice="approve", decided_by="bob"))
        assert (await resume_run(runtime, forked.run_id)).run.status == "completed"
        async with runtime.ledger.transaction() as tx:
            (kept,) = await reviews.newest_first(tx, origin)
        assert kept.decision == approval


async def test_a_checkpoint_of_another_run_or_of_none_is_refused(
    database_url: str, tmp_path: Path
) -> None:
    corpus = write_corpus(tmp_path / "garden")
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        one, other = [await start_run(runtime, QUESTION, options(corpus)) for _ in range(2)]
        foreign = await checkpoint_at(runtime, other.run.run_id, "branch_completed")
        before = await table_digests(runtime.ledger)
        with pytest.raises(NotFound, match=f"one of run {other.run.run_id}"):
            await fork_run(runtime, one.run.run_id, foreign)
        for wanted in ("", "no-such", "' OR 1"):
            with pytest.raises(NotFound, match="perdure history"):
                await fork_run(runtime, one.run.run_id, wanted)
        assert await table_digests(runtime.ledger) == before


async def test_a_run_whose_rows_were_edited_is_forked_from_what_was_sealed(
    database_url: str, tmp_path: Path
) -> None:
    """The way out of a damaged run: its history is whole, so a fork begins from that."""
    corpus = write_corpus(tmp_path / "garden")
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        paused = await start_run(runtime, QUESTION, options(corpus, "report"))
        origin = paused.run.run_id
        async with runtime.saver_pool.connection() as connection:
            await connection.execute("SET session_replication_role = replica")
            await connection.execute(
                "UPDATE ledger.findings SET confidence = 0.123 WHERE run_id = %s", [origin]
            )
            await connection.execute("SET session_replication_role = DEFAULT")
        at = await checkpoint_at(runtime, origin, "branch_completed")
        forked = await fork_run(runtime, origin, at)
        assert (await resume_run(runtime, forked.run_id)).run.status == "paused"
        async with runtime.saver_pool.connection() as connection:
            await connection.execute("SET session_replication_role = replica")
            await connection.execute(
                "UPDATE ledger.changes SET row = row || '{\"confidence\": 0.5}'"
                " WHERE run_id = %s AND table_name = 'findings'",
                [origin],
            )
            await connection.execute("SET session_replication_role = DEFAULT")
        with pytest.raises(LedgerDamaged):
            await fork_run(runtime, origin, at)


def test_a_fork_on_the_command_line_is_resumed_there(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERDURE_DATABASE_URL", database_url)
    monkeypatch.setenv("PERDURE_HOME", str(tmp_path / "home"))
    corpus = str(write_corpus(tmp_path / "garden"))
    begun = perdure("run", QUESTION, "--corpus", corpus, "--review", "none", "--json")
    origin = begun.json["run_id"]
    at = next(
        row["checkpoint_id"]
        for row in perdure("history", origin, "--json").json
        if row["boundary"] == "branch_completed"
    )
    forked = perdure("fork", origin, "--at", at, "--json")
    assert (forked.code, forked.json["status"]) == (0, "running")
    name = forked.json["run_id"]
    assert f"perdure resume {name}" in forked.messages
    assert perdure("resume", name, "--json").json["status"] == "completed"
    assert f"forked from run {origin}" in perdure("explain", name).text
    refused = perdure("retry", origin, "--task", "t1")
    assert (refused.code, "perdure fork" in refused.messages) == (2, True)
    assert perdure("fork", origin, "--at", "nothing").code == 2
