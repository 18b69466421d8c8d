"""A run from question to report, with and without people, and what stays of it."""

from pathlib import Path

import pytest

from graph.runs import cancel_run, resume_run, start_run
from graph.runtime import Runtime
from ledger import (
    artifacts,
    audit,
    citations,
    findings,
    journal,
    records,
    runs,
    sources,
    tasks,
)
from ledger.canonical import digest
from nodes.options import BadInput, RunOptions
from tests.support.runtimes import GARDEN, QUESTION, options, runtime_on, write_corpus


async def _text_of(runtime: Runtime, name: str) -> str:
    async with runtime.ledger.transaction() as tx:
        return await artifacts.get_text(tx, name)


async def test_a_question_becomes_a_report_whose_citations_are_exact(
    database_url: str, tmp_path: Path
) -> None:
    corpus = write_corpus(tmp_path / "garden")
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        done = await start_run(runtime, QUESTION, options(corpus))
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
        done = await start_run(runtime, "Who won the football world cup in 1954?", options(corpus))
        assert done.run.status == "completed"
        assert done.report_path is not None
        report = done.report_path.read_text()
        assert "does not answer this question" in report
        assert "Citations" not in report


async def test_the_ledger_tells_what_a_run_did(database_url: str, tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "garden")
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        run_id = (await start_run(runtime, QUESTION, options(corpus))).run.run_id
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


async def test_a_finished_run_is_resumed_to_what_it_is(database_url: str, tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "garden")
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        done = await start_run(runtime, QUESTION, options(corpus))
        assert await resume_run(runtime, done.run.run_id) == done


async def test_a_cancelled_run_stays_cancelled(database_url: str, tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "garden")
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        paused = await start_run(runtime, QUESTION, options(corpus, "plan"))
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
            await start_run(runtime, question, options(corpus))
        async with runtime.ledger.transaction() as tx:
            assert await runs.newest_first(tx) == []


async def test_right_to_left_text_is_researched_and_cited_exactly(
    database_url: str, tmp_path: Path
) -> None:
    text = "# גינה\n\nשעועית נזרעת במאי אחרי הכפור האחרון. הבריכה עמוקה שמונים סנטימטר.\n"
    corpus = write_corpus(tmp_path / "garden", {"he.md": text})
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        done = await start_run(runtime, "שעועית נזרעת אחרי הכפור?", options(corpus))
        assert done.report_path is not None
        assert "במאי" in done.report_path.read_text()


async def test_the_same_documents_are_stored_once(database_url: str, tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "garden")
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        first = await start_run(runtime, QUESTION, options(corpus))
        second = await start_run(runtime, QUESTION, options(corpus))
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
