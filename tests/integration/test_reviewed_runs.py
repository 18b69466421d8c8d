"""People decide in the middle of a run, and the run does what they decided."""

import json
from pathlib import Path

import pytest

from graph.runs import resume_run, start_run
from ledger import reviews, sources, tasks
from ledger.errors import ReviewClosed
from ledger.questions import Decision
from nodes.options import BadInput
from tests.support.runtimes import QUESTION, decided, options, runtime_on, write_corpus


async def test_an_approved_plan_is_worked_and_the_decision_is_kept(
    database_url: str, tmp_path: Path
) -> None:
    corpus = write_corpus(tmp_path / "garden")
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        paused = await start_run(runtime, QUESTION, options(corpus, "plan"))
        assert (paused.run.status, [review.kind for review in paused.reviews]) == (
            "paused",
            ["plan"],
        )
        again = await resume_run(runtime, paused.run.run_id)
        assert (again.run.status, again.reviews) == ("paused", paused.reviews)
        done = await decided(runtime, paused, choice="approve", comment="go")
        assert done.run.status == "completed"
        async with runtime.ledger.transaction() as tx:
            (review,) = await reviews.newest_first(tx, done.run.run_id)
            assert review.decision == Decision(choice="approve", decided_by="ada", comment="go")
            with pytest.raises(ReviewClosed):
                await reviews.decide(
                    tx, paused.reviews[0], Decision(choice="reject", decided_by="bob")
                )


async def test_an_edited_plan_is_the_plan(database_url: str, tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "garden")
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        paused = await start_run(runtime, QUESTION, options(corpus, "plan"))
        edit = [
            {"id": "t1", "question": "When are runner beans sown?", "depends_on": []},
            {
                "id": "pump",
                "question": "When is the pump of the pond switched off?",
                "depends_on": ["t1"],
            },
        ]
        done = await decided(runtime, paused, choice="edit", edit=edit)
        async with runtime.ledger.transaction() as tx:
            planned = await tasks.everything(tx, done.run.run_id)
        worked = {task.question: task.status for task in planned if task.status != "superseded"}
        assert worked == {entry["question"]: "complete" for entry in edit}
        assert done.report_path is not None
        assert "November" in done.report_path.read_text()
        assert "60 degrees" not in done.report_path.read_text()


@pytest.mark.parametrize(
    ("edit", "complaint"),
    [
        ("no list", "list"),
        ([{"id": "a", "question": "?", "depends_on": ["a"]}], "wait for each other"),
        ([{"id": "a", "question": "A?", "depends_on": ["b"]}], "which the plan does not have"),
        ([{"id": "a", "question": "A?"}, {"id": "a", "question": "B?"}], "same id"),
        ([], "1 to 12 tasks"),
    ],
)
async def test_an_edit_that_cannot_be_used_is_refused_before_it_is_recorded(
    database_url: str, tmp_path: Path, edit: object, complaint: str
) -> None:
    corpus = write_corpus(tmp_path / "garden")
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        paused = await start_run(runtime, QUESTION, options(corpus, "plan"))
        with pytest.raises(BadInput, match=complaint):
            await decided(runtime, paused, choice="edit", edit=edit)
        assert (await decided(runtime, paused, choice="approve")).run.status == "completed"


async def test_a_rejected_plan_ends_the_run_before_anything_is_read(
    database_url: str, tmp_path: Path
) -> None:
    corpus = write_corpus(tmp_path / "garden")
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        paused = await start_run(runtime, QUESTION, options(corpus, "plan"))
        ended = await decided(runtime, paused, choice="reject")
        assert (ended.run.status, ended.report_path) == ("cancelled", None)
        async with runtime.ledger.transaction() as tx:
            assert await sources.everything(tx, ended.run.run_id) == []


async def test_an_answer_at_the_report_is_researched_besides(
    database_url: str, tmp_path: Path
) -> None:
    corpus = write_corpus(tmp_path / "garden")
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        paused = await start_run(runtime, "When are runner beans sown?", options(corpus, "report"))
        again = await decided(
            runtime,
            paused,
            choice="respond",
            response="How many degrees does a compost heap reach?",
        )
        assert (again.run.status, [review.kind for review in again.reviews]) == (
            "paused",
            ["report"],
        )
        assert "60 degrees" in json.dumps(again.reviews[0].shown)
        done = await decided(runtime, again, choice="approve")
        assert done.report_path is not None
        assert "in May" in done.report_path.read_text()


async def test_a_source_that_a_person_leaves_out_is_not_cited(
    database_url: str, tmp_path: Path
) -> None:
    corpus = write_corpus(tmp_path / "garden")
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        paused = await start_run(runtime, QUESTION, options(corpus, "sources"))
        pond = next(
            source["id"] for source in paused.reviews[0].shown["sources"] if "pond" in source["uri"]
        )
        done = await decided(runtime, paused, choice="edit", edit={"omit": [pond]})
        assert done.report_path is not None
        report = done.report_path.read_text()
        assert "80 centimetres" not in report
        assert "60 degrees" in report


async def test_all_three_reviews_are_asked_one_after_the_other(
    database_url: str, tmp_path: Path
) -> None:
    corpus = write_corpus(tmp_path / "garden")
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        outcome = await start_run(runtime, QUESTION, options(corpus, "plan,sources,report"))
        asked = []
        while outcome.run.status == "paused":
            asked.append(outcome.reviews[0].kind)
            outcome = await decided(runtime, outcome, choice="approve")
        assert asked == ["plan", "sources", "report"]
        assert outcome.run.status == "completed"
