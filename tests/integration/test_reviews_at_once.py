"""Several reviews are open at once: each is decided alone, and nothing but what was decided runs."""

from pathlib import Path
from typing import Any

import pytest
from langgraph.types import Command

from graph.forking import fork_run
from graph.runs import Outcome, decide, resume_run, start_run
from graph.runtime import Runtime
from graph.threads import run_config
from graph.working import working
from ledger import findings, records, reviews
from ledger.errors import ReviewForeign
from ledger.questions import Decision
from nodes.options import BadInput, RunOptions
from tests.support.observed import observe
from tests.support.runtimes import runtime_on, write_corpus

QUESTION = (
    "What depth does the pond of the villa need, and how high is the wall of the old orchard?"
)
VILLA = {
    "one.md": "# Villa\n\nThe pond of the villa needs a depth of 80 centimetres in the middle.\n\nThe wall of the old"
    " orchard is 3 metres high along the road.\n",
    "two.md": "# Notes\n\nThe pond of the villa needs a depth of 60 centimetres in the middle.\n\nThe wall of the old"
    " orchard is 4 metres high along the road.\n",
}
APPROVED = Decision(choice="approve", decided_by="ada")


async def asked_three(runtime: Runtime, folder: Path) -> tuple[Outcome, RunOptions]:
    """Return a run that waits for the review of its sources and of two conflicts."""
    chosen = RunOptions(corpus=(str(write_corpus(folder, VILLA)),), review="sources,conflict")
    paused = await start_run(runtime, QUESTION, chosen)
    assert sorted(review.kind for review in paused.reviews) == ["conflict", "conflict", "sources"]
    return paused, chosen


async def test_three_reviews_are_decided_one_by_one_and_nothing_runs_until_the_last(
    database_url: str, tmp_path: Path
) -> None:
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        paused, _ = await asked_three(runtime, tmp_path / "villa")
        run_id = paused.run.run_id
        before = await observe(runtime.ledger, run_id)
        async with runtime.ledger.transaction() as tx:
            checkpoints = len(await records.newest_first(tx, run_id))
        for left, review in zip((2, 1), paused.reviews, strict=False):
            await decide(runtime, review.review_id, APPROVED)
            waits = await resume_run(runtime, run_id)
            assert (waits.run.status, len(waits.reviews)) == ("paused", left)
            async with runtime.ledger.transaction() as tx:
                assert len(await records.newest_first(tx, run_id)) == checkpoints
        await decide(runtime, paused.reviews[2].review_id, APPROVED)
        done = await resume_run(runtime, run_id)
        assert done.report_path is not None
        after = await observe(runtime.ledger, run_id)
        assert after.operations == before.operations, "no call was made again"
        report = done.report_path.read_text()
        for line in (
            "80 centimetres",
            "60 centimetres",
            "3 metres",
            "4 metres",
            "the numbers differ",
        ):
            assert line in report


async def test_a_client_of_the_graph_that_answers_one_alone_runs_that_one_and_then_what_follows(
    database_url: str, tmp_path: Path
) -> None:
    """As on LangGraph's server: the others reach their interrupt again, and do nothing."""
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        paused, chosen = await asked_three(runtime, tmp_path / "villa")
        run_id, graph = paused.run.run_id, runtime.compiled()
        config = run_config(run_id, chosen)
        ran: list[list[str]] = []
        async with working(runtime, run_id):
            for review in paused.reviews:
                waiting = (await graph.aget_state(config)).interrupts
                (mine,) = [
                    each
                    for each in waiting
                    if each.value["action_request"]["args"]["review_id"] == review.review_id
                ]
                answer: dict[str, Any] = {mine.id: [{"type": "accept", "args": None}]}
                ran.append(
                    [
                        name
                        async for update in graph.astream(
                            Command(resume=answer),
                            config,
                            context=chosen,
                            durability="sync",
                            stream_mode="updates",
                        )
                        for name in update
                        # What has run before is told again, as cached.
                        if name != "__interrupt__" and "__metadata__" not in update
                    ]
                )
        kinds = [f"review_{review.kind}" for review in paused.reviews]
        assert ran[0] == kinds[:1]
        assert ran[1] == kinds[1:2]
        assert ran[2] == [
            kinds[2], "decide", "compact", "synthesize", "check", "intend", "publish",
        ]  # fmt: skip
        async with runtime.ledger.transaction() as tx:
            found = await reviews.newest_first(tx, run_id)
        assert all(each.applied_at for each in found)


async def test_findings_that_do_not_stand_are_withdrawn_with_what_was_said_of_them(
    database_url: str, tmp_path: Path
) -> None:
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        chosen = RunOptions(corpus=(str(write_corpus(tmp_path / "villa", VILLA)),))
        paused = await start_run(runtime, QUESTION, chosen)
        assert [review.kind for review in paused.reviews] == ["conflict", "conflict"]
        pond = next(each for each in paused.reviews if "pond" in each.shown["reason"])
        wall = next(each for each in paused.reviews if each is not pond)
        deep = [each["id"] for each in pond.shown["claims"] if "80" in each["claim"]]
        assert 0 < len(deep) < len(pond.shown["claims"])
        edit = Decision(choice="edit", decided_by="ada", edit={"stand": deep})
        await decide(runtime, pond.review_id, edit)
        await decide(runtime, wall.review_id, APPROVED)
        done = await resume_run(runtime, paused.run.run_id)
        assert done.report_path is not None
        report = done.report_path.read_text()
        assert "60 centimetres" not in report
        assert "80 centimetres" in report
        assert "3 metres" in report
        assert "4 metres" in report
        async with runtime.ledger.transaction() as tx:
            standing = await findings.standing(tx, done.run.run_id)
        said = [each.claim for each in standing if each.kind == "disagreement"]
        assert said
        assert all("orchard" in each for each in said), "of the pond nothing is said any more"


async def test_an_edit_of_a_conflict_names_what_it_shows(database_url: str, tmp_path: Path) -> None:
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        paused, _ = await asked_three(runtime, tmp_path / "villa")
        conflict = next(each for each in paused.reviews if each.kind == "conflict")
        for edit in ({"stand": ["fnd_nope"]}, {"stand": "all"}, 7):
            with pytest.raises(BadInput):
                await decide(
                    runtime,
                    conflict.review_id,
                    Decision(choice="edit", decided_by="ada", edit=edit),
                )
        with pytest.raises(ReviewForeign, match="is one of run"):
            await decide(
                runtime, conflict.review_id, APPROVED, run_id=(paused.run.run_id.__class__)(int=1)
            )


async def test_a_fork_asks_all_the_reviews_of_its_checkpoint_again(
    database_url: str, tmp_path: Path
) -> None:
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        paused, _ = await asked_three(runtime, tmp_path / "villa")
        for review in paused.reviews:
            await decide(runtime, review.review_id, APPROVED)
        await resume_run(runtime, paused.run.run_id)
        async with runtime.ledger.transaction() as tx:
            rows = await records.newest_first(tx, paused.run.run_id)
        at = next(row for row in rows if row.boundary == "before_review")
        assert at.approval is not None
        assert len(at.approval["open"]) == 3
        fork = await fork_run(runtime, paused.run.run_id, at.checkpoint_id)
        again = await resume_run(runtime, fork.run_id)
        assert again.run.status == "paused"
        assert {each.shown_digest for each in again.reviews} == {
            each.shown_digest for each in paused.reviews
        }
        assert not {each.review_id for each in again.reviews} & {
            each.review_id for each in paused.reviews
        }
        for review in again.reviews:
            await decide(runtime, review.review_id, APPROVED)
        assert (await resume_run(runtime, fork.run_id)).run.status == "completed"
