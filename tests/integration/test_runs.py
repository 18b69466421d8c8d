"""A run from question to report, with and without people, and what stays of it."""

import json
from pathlib import Path

import pytest

from graph.runs import Outcome, cancel_run, decide, resume_run, start_run
from graph.runtime import Runtime
from ledger import (
    artifacts,
    audit,
    citations,
    findings,
    journal,
    records,
    reviews,
    runs,
    sources,
    tasks,
)
from ledger.canonical import digest
from ledger.errors import ReviewClosed
from ledger.reviews import Decision
from nodes.options import BadInput, RunOptions
from tests.support.runtimes import GARDEN, QUESTION, runtime_on, write_corpus


def _options(corpus: Path, review: str = "none") -> RunOptions:
    return RunOptions(corpus=(str(corpus),), review=review)


async def _decided(runtime: Runtime, paused: Outcome, **decision: object) -> Outcome:
    (review,) = paused.reviews
    chosen = Decision.model_validate({"decided_by": "ada", **decision})
    await decide(runtime, review.review_id, chosen)
    return await resume_run(runtime, paused.run.run_id)


async def _text_of(runtime: Runtime, name: str) -> str:
    async with runtime.ledger.transaction() as tx:
        return await artifacts.get_text(tx, name)


async def test_a_question_becomes_a_report_whose_citations_are_exact(
    database_url: str, tmp_path: Path
) -> None:
    corpus = write_corpus(tmp_path / "garden")
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        done = await start_run(runtime, QUESTION, _options(corpus))
        assert (done.run.status, done.reviews) == ("completed", ())
        assert done.report_path is not None
        report = done.run.report_artifact
        assert report is not None
        assert done.report_path.read_text() == await _text_of(runtime, report)
        async with runtime.ledger.transaction() as tx:
            cited = await citations.of_report(tx, done.run.run_id, report)
            for citation in cited:
                text = await artifacts.get_text(tx, citation.text_artifact)
                assert text[citation.start : citation.end] == citation.exact
                content = await artifacts.get(tx, citation.content_artifact)
                assert content.decode() == GARDEN[Path(citation.source_uri).name]
        quotes = " ".join(citation.exact for citation in cited)
        assert all(answer in quotes for answer in ("in May", "60 degrees", "80 centimetres"))
        assert [citation.number for citation in cited] == list(range(1, len(cited) + 1))


async def test_what_the_corpus_does_not_answer_is_said_and_nothing_is_cited(
    database_url: str, tmp_path: Path
) -> None:
    corpus = write_corpus(tmp_path / "garden")
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        done = await start_run(runtime, "Who won the football world cup in 1954?", _options(corpus))
        assert done.run.status == "completed"
        assert done.report_path is not None
        report = done.report_path.read_text()
        assert "does not answer this question" in report
        assert "Citations" not in report


async def test_the_ledger_tells_what_a_run_did(database_url: str, tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "garden")
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        run_id = (await start_run(runtime, QUESTION, _options(corpus))).run.run_id
        async with runtime.ledger.transaction() as tx:
            planned = await tasks.everything(tx, run_id)
            found = await findings.standing(tx, run_id)
            read = await sources.everything(tx, run_id)
            calls = await journal.operations(tx, run_id)
            history = await records.newest_first(tx, run_id)
            chain = await audit.entries(tx, run_id)
    assert [task.status for task in planned] == ["complete"] * 3
    assert {finding.verdict for finding in found if finding.kind == "claim"} == {"supported"}
    assert {source.status for source in read} == {"retained"}
    assert {(call.kind, call.status) for call in calls} == {
        ("search", "accepted"),
        ("read", "accepted"),
    }
    assert {record.boundary for record in history} >= {
        "plan_validated",
        "branch_completed",
        "output_stored",
    }
    assert [entry.event for entry in chain] == ["run_created", "run_completed"]
    assert audit.first_broken(run_id, chain) is None


async def test_an_approved_plan_is_worked_and_the_decision_is_kept(
    database_url: str, tmp_path: Path
) -> None:
    corpus = write_corpus(tmp_path / "garden")
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        paused = await start_run(runtime, QUESTION, _options(corpus, "plan"))
        assert (paused.run.status, [review.kind for review in paused.reviews]) == (
            "paused",
            ["plan"],
        )
        again = await resume_run(runtime, paused.run.run_id)
        assert (again.run.status, again.reviews) == ("paused", paused.reviews)
        done = await _decided(runtime, paused, choice="approve", comment="go")
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
        paused = await start_run(runtime, QUESTION, _options(corpus, "plan"))
        edit = [
            {"id": "t1", "question": "When are runner beans sown?", "depends_on": []},
            {
                "id": "pump",
                "question": "When is the pump of the pond switched off?",
                "depends_on": ["t1"],
            },
        ]
        done = await _decided(runtime, paused, choice="edit", edit=edit)
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
        paused = await start_run(runtime, QUESTION, _options(corpus, "plan"))
        with pytest.raises(BadInput, match=complaint):
            await _decided(runtime, paused, choice="edit", edit=edit)
        assert (await _decided(runtime, paused, choice="approve")).run.status == "completed"


async def test_a_rejected_plan_ends_the_run_before_anything_is_read(
    database_url: str, tmp_path: Path
) -> None:
    corpus = write_corpus(tmp_path / "garden")
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        paused = await start_run(runtime, QUESTION, _options(corpus, "plan"))
        ended = await _decided(runtime, paused, choice="reject")
        assert (ended.run.status, ended.report_path) == ("cancelled", None)
        async with runtime.ledger.transaction() as tx:
            assert await sources.everything(tx, ended.run.run_id) == []


async def test_an_answer_at_the_report_is_researched_besides(
    database_url: str, tmp_path: Path
) -> None:
    corpus = write_corpus(tmp_path / "garden")
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        paused = await start_run(runtime, "When are runner beans sown?", _options(corpus, "report"))
        again = await _decided(
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
        done = await _decided(runtime, again, choice="approve")
        assert done.report_path is not None
        assert "in May" in done.report_path.read_text()


async def test_a_source_that_a_person_leaves_out_is_not_cited(
    database_url: str, tmp_path: Path
) -> None:
    corpus = write_corpus(tmp_path / "garden")
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        paused = await start_run(runtime, QUESTION, _options(corpus, "sources"))
        pond = next(
            source["id"] for source in paused.reviews[0].shown["sources"] if "pond" in source["uri"]
        )
        done = await _decided(runtime, paused, choice="edit", edit={"omit": [pond]})
        assert done.report_path is not None
        report = done.report_path.read_text()
        assert "80 centimetres" not in report
        assert "60 degrees" in report


async def test_all_three_reviews_are_asked_one_after_the_other(
    database_url: str, tmp_path: Path
) -> None:
    corpus = write_corpus(tmp_path / "garden")
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        outcome = await start_run(runtime, QUESTION, _options(corpus, "plan,sources,report"))
        asked = []
        while outcome.run.status == "paused":
            asked.append(outcome.reviews[0].kind)
            outcome = await _decided(runtime, outcome, choice="approve")
        assert asked == ["plan", "sources", "report"]
        assert outcome.run.status == "completed"


async def test_a_finished_run_is_resumed_to_what_it_is(database_url: str, tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "garden")
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        done = await start_run(runtime, QUESTION, _options(corpus))
        assert await resume_run(runtime, done.run.run_id) == done


async def test_a_cancelled_run_stays_cancelled(database_url: str, tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "garden")
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        paused = await start_run(runtime, QUESTION, _options(corpus, "plan"))
        await cancel_run(runtime, paused.run.run_id)
        assert (await resume_run(runtime, paused.run.run_id)).run.status == "cancelled"


@pytest.mark.parametrize(
    ("question", "complaint"),
    [
        ("", "empty"),
        (" \n", "empty"),
        ("x" * 100_000, "100,000"),
        ("a\x00b", "NUL"),
        ("a\udc80b", "no valid text"),
    ],
)
async def test_a_question_that_cannot_be_researched_leaves_no_run(
    database_url: str, tmp_path: Path, question: str, complaint: str
) -> None:
    corpus = write_corpus(tmp_path / "garden")
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        with pytest.raises(BadInput, match=complaint):
            await start_run(runtime, question, _options(corpus))
        async with runtime.ledger.transaction() as tx:
            assert await runs.newest_first(tx) == []


async def test_right_to_left_text_is_researched_and_cited_exactly(
    database_url: str, tmp_path: Path
) -> None:
    text = "# גינה\n\nשעועית נזרעת במאי אחרי הכפור האחרון. הבריכה עמוקה שמונים סנטימטר.\n"
    corpus = write_corpus(tmp_path / "garden", {"he.md": text})
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        done = await start_run(runtime, "שעועית נזרעת אחרי הכפור?", _options(corpus))
        assert done.report_path is not None
        assert "במאי" in done.report_path.read_text()


async def test_the_same_documents_are_stored_once(database_url: str, tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "garden")
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        first = await start_run(runtime, QUESTION, _options(corpus))
        second = await start_run(runtime, QUESTION, _options(corpus))
        assert first.run.corpus_artifact == second.run.corpus_artifact
        assert first.run.report_artifact == second.run.report_artifact
        async with runtime.ledger.transaction() as tx:
            for text in GARDEN.values():
                assert await artifacts.get(tx, digest(text.encode())) == text.encode()


async def test_a_run_that_has_nothing_to_research_is_refused_before_there_is_one(
    database_url: str, tmp_path: Path
) -> None:
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        with pytest.raises(BadInput, match="nothing to research"):
            await start_run(runtime, QUESTION, RunOptions())
        async with runtime.ledger.transaction() as tx:
            assert await runs.newest_first(tx) == []


async def test_the_corpus_that_is_set_for_all_runs_is_recorded_with_each(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relative path means the folder that the run was begun in, wherever it is resumed."""
    write_corpus(tmp_path / "garden")
    monkeypatch.chdir(tmp_path)
    async with runtime_on(database_url, tmp_path / "home", corpus=["garden"]) as runtime:
        done = await start_run(runtime, QUESTION, RunOptions(review="none"))
        assert done.run.options["corpus"] == [str(tmp_path / "garden")]
