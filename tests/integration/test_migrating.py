"""A run that sleeps is brought to the next version of the workflow: all of it or nothing, and it goes on from where it was."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from graph.errors import CannotMigrate
from graph.forking import fork_run
from graph.migrating import foreseen, migrate_run
from graph.runs import decide, resume_run, start_run
from graph.runtime import Runtime
from graph.upcasts.base import Next
from ledger import leases, records, reviews, runs, workflow_migrations
from ledger.questions import Decision
from ledger.runs import Run
from ledger.verification import verify
from tests.support.observed import table_digests
from tests.support.runtimes import QUESTION, options, runtime_on, write_corpus
from tests.support.variants import NEXT, renamed, shown_with, steps_renamed, variant

APPROVED = Decision(choice="approve", decided_by="ada")
NAMES = {"review_plan": "review_the_plan", "review_report": "read_the_report", "compact": "sum_up"}
RENAMED = variant(renamed(NAMES), upcast=steps_renamed(NAMES))


async def migrated(runtime: Runtime, run_id: UUID, versions: Sequence[int] = (NEXT,)) -> Run:
    """Migrate a run as whoever takes it up does."""
    async with leases.hold(runtime.ledger, run_id):
        async with runtime.ledger.transaction() as tx:
            run = await runs.get(tx, run_id)
        return await migrate_run(runtime, run, versions)


async def wrong(runtime: Runtime, run_id: UUID) -> list[Any]:
    """Return the checks of a run that fail."""
    async with runtime.ledger.transaction(one_moment=True) as tx:
        return [check for check in await verify(tx, run_id) if not check.ok]


async def test_a_run_that_waits_goes_on_under_the_new_name_of_its_review(
    database_url: str, tmp_path: Path
) -> None:
    corpus = write_corpus(tmp_path / "garden")
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        paused = await start_run(runtime, QUESTION, options(corpus, "plan,report"))
        run_id = paused.run.run_id
    async with runtime_on(database_url, tmp_path / "home", definition=RENAMED) as runtime:
        run = await migrated(runtime, run_id)
        assert (run.workflow_version, run.status) == (NEXT, "paused")
        assert await wrong(runtime, run_id) == []
        assert (await migrated(runtime, run_id)) == run, "done twice it is done once"
        asked = (await resume_run(runtime, run_id)).reviews
        assert [each.review_id for each in asked] == [paused.reviews[0].review_id]
        for _ in ("plan", "report"):
            (review,) = (await resume_run(runtime, run_id)).reviews
            await decide(runtime, review.review_id, APPROVED)
        assert (await resume_run(runtime, run_id)).run.status == "completed"
        assert await wrong(runtime, run_id) == []
        async with runtime.ledger.transaction() as tx:
            (entry,) = await workflow_migrations.newest_first(tx, run_id)
            rows = await records.verified(tx, run_id)
        (new,) = [row for row in rows if row.boundary == "migrated"]
        assert (new.checkpoint_id, new.parent_checkpoint) == (
            entry.new_checkpoint,
            entry.old_checkpoint,
        )
        assert (new.seal, new.workflow_version) == ("valid", NEXT)
        assert entry.changes["steps"] == {"before": ["review_plan"], "after": ["review_the_plan"]}


async def test_a_decision_from_before_counts_where_the_same_would_be_shown(
    database_url: str, tmp_path: Path
) -> None:
    corpus = write_corpus(tmp_path / "garden")
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        paused = await start_run(runtime, QUESTION, options(corpus, "plan"))
        await decide(runtime, paused.reviews[0].review_id, APPROVED)
    async with runtime_on(database_url, tmp_path / "home", definition=RENAMED) as runtime:
        await migrated(runtime, paused.run.run_id)
        assert (await resume_run(runtime, paused.run.run_id)).run.status == "completed"
        async with runtime.ledger.transaction() as tx:
            (kept,) = await reviews.newest_first(tx, paused.run.run_id)
        assert kept.decision == APPROVED
        assert kept.applied_at is not None


@pytest.mark.parametrize("is_decided", [False, True])
async def test_what_would_show_something_else_is_asked_again(
    database_url: str, tmp_path: Path, is_decided: bool
) -> None:
    """The old question stays readable; an answer to it is no answer to the new one."""
    corpus = write_corpus(tmp_path / "garden")
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        paused = await start_run(runtime, QUESTION, options(corpus, "plan"))
        (old,) = paused.reviews
        if is_decided:
            await decide(runtime, old.review_id, APPROVED)
    run_id = paused.run.run_id
    new = variant(renamed(NAMES), upcast=lambda run: steps_renamed(NAMES)(shown_with("cost")(run)))
    async with runtime_on(database_url, tmp_path / "home", definition=new) as runtime:
        await migrated(runtime, run_id)
        (again,) = (await resume_run(runtime, run_id)).reviews
        assert again.review_id != old.review_id
        assert again.shown == {**old.shown, "cost": "some"}
        async with runtime.ledger.transaction() as tx:
            kept = await reviews.get(tx, run_id, old.review_id)
            (entry,) = await workflow_migrations.newest_first(tx, run_id)
        assert (kept.status, kept.shown) == ("decided" if is_decided else "stale", old.shown)
        assert entry.became(old.review_id) == again.review_id
        await decide(runtime, again.review_id, APPROVED)
        assert (await resume_run(runtime, run_id)).run.status == "completed"
        assert await wrong(runtime, run_id) == []


async def test_a_run_is_forked_from_before_and_from_after_its_migration(
    database_url: str, tmp_path: Path
) -> None:
    corpus = write_corpus(tmp_path / "garden")
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        paused = await start_run(runtime, QUESTION, options(corpus, "plan"))
    run_id = paused.run.run_id
    async with runtime_on(database_url, tmp_path / "home", definition=RENAMED) as runtime:
        await migrated(runtime, run_id)
        async with runtime.ledger.transaction() as tx:
            (entry,) = await workflow_migrations.newest_first(tx, run_id)
        for at in (entry.new_checkpoint, entry.old_checkpoint):
            assert at is not None
            forked = await fork_run(runtime, run_id, at)
            if at == entry.old_checkpoint:
                assert forked.workflow_version == NEXT - 1
                await migrated(runtime, forked.run_id)
            (again,) = (await resume_run(runtime, forked.run_id)).reviews
            await decide(runtime, again.review_id, APPROVED)
            assert (await resume_run(runtime, forked.run_id)).run.status == "completed"
            assert await wrong(runtime, forked.run_id) == []


REFUSED: dict[str, tuple[Any, str]] = {
    "nothing next": (lambda run: run.model_copy(update={"next": ()}), "no step would be next"),
    "a step that is not there": (
        lambda run: run.model_copy(
            update={"next": (*steps_renamed(NAMES)(run).next, Next(node="ponder"))}
        ),
        "ponder is no node",
    ),
    "a review that nobody is sent to": (
        lambda run: run.model_copy(update={"next": (Next(node="dispatch"),)}),
        "would no longer wait",
    ),
    "the old name": (lambda run: run, "review_plan is no node of this version"),
    "a review passed by": (
        lambda run: run.model_copy(update={"next": (Next(node="dispatch"),), "reviews": ()}),
        "would be passed by",
    ),
    "a channel that is not there": (
        lambda run: run.model_copy(update={"values": {**run.values, "mood": "good"}}),
        "channel mood",
    ),
    "a channel of another type": (
        lambda run: run.model_copy(update={"values": {**run.values, "wave": "first"}}),
        "wave is not of its type: int_type",
    ),
    "what is no JSON": (
        lambda run: run.model_copy(update={"values": {**run.values, "wave": float("nan")}}),
        "no JSON",
    ),
    "an upcast that stumbles": (lambda run: run.values["mood"], "KeyError: 'mood'"),
    "options of nobody": (
        lambda run: run.model_copy(update={"options": {"haste": True}}),
        "options are none",
    ),
}


async def test_what_would_mislead_a_run_is_refused_and_nothing_is_written(
    database_url: str, tmp_path: Path
) -> None:
    corpus = write_corpus(tmp_path / "garden")
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        paused = await start_run(runtime, QUESTION, options(corpus, "plan"))
        run_id = paused.run.run_id
        async with leases.hold(runtime.ledger, run_id):
            before = await table_digests(runtime.ledger)
            for upcast, reason in REFUSED.values():
                new = replace(runtime, definition=variant(renamed(NAMES), upcast=upcast))
                async with runtime.ledger.transaction() as tx:
                    with pytest.raises(CannotMigrate, match=reason):
                        await foreseen(new, tx, paused.run, (NEXT,))
            assert await table_digests(runtime.ledger) == before
        await decide(runtime, paused.reviews[0].review_id, APPROVED)
        assert (await resume_run(runtime, run_id)).run.status == "completed"
