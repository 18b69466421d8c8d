"""`perdure upgrade`: many sleeping runs are brought to this version, each once, whatever ends the command in between."""

import asyncio
from pathlib import Path
from uuid import UUID

import pytest

from graph.errors import CannotMigrate
from graph.runs import outcome, resume_run, start_run
from graph.runtime import Runtime
from graph.sweeping import sweep
from graph.upcasts.base import Sleeping
from graph.upgrading import upgrade_all, upgrade_run
from ledger import leases, runs, workflow_migrations
from tests.support.commands import perdure
from tests.support.ledgers import execute, open_ledger
from tests.support.observed import table_digests
from tests.support.runtimes import QUESTION, options, runtime_on, write_corpus
from tests.support.variants import LATER, NEXT, renamed, steps_renamed, variant

NAMES = {"review_plan": "review_the_plan"}


def sparing(run: Sleeping) -> Sleeping:
    """Refuse the runs that wait for their sources."""
    if any(each.kind == "sources" for each in run.reviews):
        raise CannotMigrate("nobody knows what its sources became")
    return steps_renamed(NAMES)(run)


NEW = variant(renamed(NAMES), upcast=sparing)


async def asleep(runtime: Runtime, corpus: Path, *kinds: str) -> list[UUID]:
    """Start runs that wait for reviews of these kinds."""
    return [
        (await start_run(runtime, QUESTION, options(corpus, kind))).run.run_id for kind in kinds
    ]


async def test_all_sleeping_runs_are_brought_over_and_one_that_cannot_be_ends_no_other(
    database_url: str, tmp_path: Path
) -> None:
    """What somebody works is left; a dry run says the same and writes nothing; done again, nothing is left to do."""
    corpus = write_corpus(tmp_path / "garden")
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        (done,) = await asleep(runtime, corpus, "none")
        one, refused, held = await asleep(runtime, corpus, "plan", "sources", "plan")
    async with (
        runtime_on(database_url, tmp_path / "home", definition=NEW) as runtime,
        open_ledger(database_url, "another") as other,
    ):
        async with leases.hold(other, held):
            before = await table_digests(runtime.ledger)
            foreseen = {each.run_id: each.became async for each in upgrade_all(runtime, check=True)}
            assert foreseen == {one: "upgradable", refused: "refused", held: "upgradable"}
            assert await table_digests(runtime.ledger) == before
            found = {each.run_id: each async for each in upgrade_all(runtime)}
        assert {name: each.became for name, each in found.items()} == {
            one: "upgraded",
            refused: "refused",
            held: "held",
        }
        assert "nobody knows what its sources became" in found[refused].why
        async with runtime.ledger.transaction() as tx:
            stopped = await runs.get(tx, refused)
            assert await workflow_migrations.newest_first(tx, refused) == []
        assert (stopped.status, stopped.workflow_version) == ("blocked", NEXT - 1)
        assert "nobody knows" in (stopped.reason or "")
        again = {each.run_id: each.became async for each in upgrade_all(runtime)}
        assert again == {held: "upgraded", refused: "refused"}
        assert (await upgrade_run(runtime, done)).became == "current"
        for run_id in (one, held):
            assert (await resume_run(runtime, run_id)).run.status == "paused"


async def of_a_later_version(database_url: str, folder: Path) -> UUID:
    """Start a run of a version that this code does not know."""
    corpus = write_corpus(folder / "garden")
    async with runtime_on(database_url, folder / "home", definition=NEW) as runtime:
        return (await asleep(runtime, corpus, "plan"))[0]


def test_the_command_says_what_became_of_a_run(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERDURE_DATABASE_URL", database_url)
    monkeypatch.setenv("PERDURE_HOME", str(tmp_path / "home"))
    later = asyncio.run(of_a_later_version(database_url, tmp_path))
    ended = perdure("upgrade", "--all", "--check", "--json")
    assert (ended.code, [each["became"] for each in ended.json]) == (4, ["refused"])
    ended = perdure("upgrade", str(later), "--json")
    assert (ended.code, ended.json[0]["became"]) == (4, "refused")
    assert f"version {NEXT}" in ended.json[0]["why"]
    assert perdure("upgrade").code == 2
    assert perdure("upgrade", str(later), "--all").code == 2


async def upgraded(database_url: str, folder: Path) -> tuple[UUID, str]:
    """Bring a run over whose review shows something else then; returns the run, and the review that is asked now."""
    corpus = write_corpus(folder / "garden")
    async with runtime_on(database_url, folder / "home") as runtime:
        (run_id,) = await asleep(runtime, corpus, "plan")
    async with runtime_on(database_url, folder / "home", definition=LATER) as runtime:
        assert (await upgrade_run(runtime, run_id)).became == "upgraded"
        (review,) = (await outcome(runtime, run_id)).reviews
    return run_id, review.review_id


def test_people_are_told_of_a_migration_and_of_what_a_review_shows_besides(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id, review_id = asyncio.run(upgraded(database_url, tmp_path))
    monkeypatch.setenv("PERDURE_DATABASE_URL", database_url)
    told = perdure("explain", str(run_id)).output.decode()
    assert f"migrated from workflow version {NEXT - 1} to {NEXT}" in told
    assert f"is asked again as {review_id}" in told
    shown = perdure("review", review_id).output.decode()
    assert "asked again, because a later version" in shown
    assert '+  "cost": "some",' in shown
    (newest, *_) = perdure("history", str(run_id), "--json").json
    assert (newest["boundary"], newest["workflow_version"]) == ("migrated", NEXT)


async def orphaned(runtime: Runtime, run_id: UUID) -> None:
    """Let a run look as if its worker had been killed in the middle of it."""
    async with runtime.ledger.transaction() as tx:
        await runs.set_status(tx, run_id, "running")
    await execute(
        runtime.ledger,
        "UPDATE ledger.leases SET released_at = NULL, released_as = NULL, expires_at = now()",
    )


async def test_a_run_whose_worker_died_is_still_taken_up_after_it_was_brought_over(
    database_url: str, tmp_path: Path
) -> None:
    """Whoever brings it over does not work it; a sweep does, as it would have done before."""
    corpus = write_corpus(tmp_path / "garden")
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        (run_id,) = await asleep(runtime, corpus, "plan")
        await orphaned(runtime, run_id)
    async with runtime_on(database_url, tmp_path / "home", definition=NEW) as runtime:
        assert (await upgrade_run(runtime, run_id)).became == "upgraded"
        assert [(each.run_id, each.became) for each in await sweep(runtime)] == [(run_id, "paused")]


async def test_a_run_that_waits_for_a_time_still_waits_for_it_after_it_was_brought_over(
    database_url: str, tmp_path: Path
) -> None:
    """Its model had no time for it; a sweep takes it up when the time has come."""
    corpus = write_corpus(tmp_path / "garden")
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        (run_id,) = await asleep(runtime, corpus, "plan")
        async with runtime.ledger.transaction() as tx:
            await runs.set_status(tx, run_id, "blocked", "its model is busy", again_in=0.0)
    async with runtime_on(database_url, tmp_path / "home", definition=NEW) as runtime:
        async with runtime.ledger.transaction() as tx:
            before = await runs.get(tx, run_id)
        assert (await upgrade_run(runtime, run_id)).became == "upgraded"
        async with runtime.ledger.transaction() as tx:
            after = await runs.get(tx, run_id)
        assert (after.status, after.reason, after.try_again_at) == (
            "blocked",
            before.reason,
            before.try_again_at,
        )
        assert [each.run_id for each in await sweep(runtime)] == [run_id]
