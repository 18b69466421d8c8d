"""What a person says counts exactly as given: their words reach the next step whole, whatever is in them."""

from pathlib import Path

import pytest

from graph.runs import decide, outcome, resume_run, start_run
from ledger import reviews, sources, tasks
from ledger.errors import NotText
from ledger.questions import Decision
from nodes.options import BadInput, RunOptions
from tests.support.researchers import Attentive, thinking
from tests.support.runtimes import QUESTION, decided, options, runtime_on, write_corpus

NASTY = {
    "a no that is none": "no changes to section 2, approve",
    "an addition": "add a section on noise",
    "emoji": "more 🐸 please, and 👩‍👩‍👧 \u202eright to left",
    "fifty kilobytes": "What of noise? " + "x " * 25_000,
    "JSON": '{"type": "accept", "args": null}',
    "white space": "\n  approve  \n\t",
}


@pytest.mark.parametrize("words", NASTY.values(), ids=NASTY.keys())
async def test_a_rejected_plan_is_planned_anew_by_the_exact_instruction(
    database_url: str, tmp_path: Path, words: str
) -> None:
    corpus = write_corpus(tmp_path / "garden")
    async with runtime_on(database_url, tmp_path / "home") as opened:
        researcher = Attentive()
        runtime = thinking(opened, researcher)
        paused = await start_run(runtime, QUESTION, options(corpus, "plan"))
        again = await decided(runtime, paused, choice="reject", comment=words)
        assert (again.run.status, [each.kind for each in again.reviews]) == ("paused", ["plan"])
        assert researcher.planned[-1] == (QUESTION, words)
        async with runtime.ledger.transaction() as tx:
            planned = await tasks.everything(tx, again.run.run_id)
            kept = await reviews.get(tx, again.run.run_id, paused.reviews[0].review_id)
        assert kept.decision == Decision(choice="reject", decided_by="ada", comment=words)
        first = {task["id"] for task in paused.reviews[0].shown["tasks"]}
        assert {task.task_id for task in planned if task.status == "superseded"} == first
        assert {task["id"] for task in again.reviews[0].shown["tasks"]} == {
            task.task_id for task in planned if task.status == "pending"
        }


@pytest.mark.parametrize("words", NASTY.values(), ids=NASTY.keys())
async def test_an_answer_reaches_the_planning_whole(
    database_url: str, tmp_path: Path, words: str
) -> None:
    corpus = write_corpus(tmp_path / "garden")
    async with runtime_on(database_url, tmp_path / "home") as opened:
        researcher = Attentive()
        runtime = thinking(opened, researcher)
        paused = await start_run(runtime, QUESTION, options(corpus, "plan"))
        again = await decided(runtime, paused, choice="respond", response=words)
        assert researcher.planned[-1] == (words, None)
        assert (await decided(runtime, again, choice="approve")).run.status == "completed"


async def test_the_id_of_another_review_is_words_like_any_other(
    database_url: str, tmp_path: Path
) -> None:
    corpus = write_corpus(tmp_path / "garden")
    async with runtime_on(database_url, tmp_path / "home") as opened:
        researcher = Attentive()
        runtime = thinking(opened, researcher)
        other = await start_run(runtime, QUESTION, options(corpus, "plan"))
        paused = await start_run(runtime, QUESTION, options(corpus, "plan"))
        words = other.reviews[0].review_id
        await decided(runtime, paused, choice="reject", comment=words)
        assert researcher.planned[-1] == (QUESTION, words)
        assert (await outcome(runtime, other.run.run_id)).reviews == other.reviews


async def test_a_rejected_plan_without_an_instruction_ends_the_run(
    database_url: str, tmp_path: Path
) -> None:
    corpus = write_corpus(tmp_path / "garden")
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        paused = await start_run(runtime, QUESTION, options(corpus, "plan"))
        ended = await decided(runtime, paused, choice="reject", comment="  ")
        assert ended.run.status == "cancelled"


@pytest.mark.parametrize("words", ["a\x00b", "\ud800", "x" * 70_000])
async def test_words_that_cannot_be_passed_on_are_refused(
    database_url: str, tmp_path: Path, words: str
) -> None:
    corpus = write_corpus(tmp_path / "garden")
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        paused = await start_run(runtime, QUESTION, options(corpus, "plan"))
        with pytest.raises((BadInput, NotText)):
            await decided(runtime, paused, choice="reject", comment=words)
        assert (await decided(runtime, paused, choice="approve")).run.status == "completed"


async def test_an_excluded_source_takes_its_findings_with_it_and_what_depends_on_them_is_done_anew(
    database_url: str, tmp_path: Path
) -> None:
    corpus = write_corpus(tmp_path / "garden")
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        paused = await start_run(runtime, QUESTION, options(corpus, "plan,sources"))
        plan = [
            {"id": "pond", "question": "What depth does a garden pond need?"},
            {"id": "beans", "question": "When are runner beans sown?", "depends_on": ["pond"]},
            {"id": "heap", "question": "How many degrees does a compost heap reach?"},
        ]
        asked = await decided(runtime, paused, choice="edit", edit={"tasks": plan})
        shown = asked.reviews[0].shown
        pond = next(each["id"] for each in shown["sources"] if "pond" in each["uri"])
        again = await decided(runtime, asked, choice="edit", edit={"omit": [pond]})
        assert [each.kind for each in again.reviews] == ["sources"], "it was researched anew"
        assert pond not in {each["id"] for each in again.reviews[0].shown["sources"]}
        async with runtime.ledger.transaction() as tx:
            planned = {task.task_id: task for task in await tasks.everything(tx, asked.run.run_id)}
            read = await sources.everything(tx, asked.run.run_id)
        assert {name: task.retries for name, task in planned.items() if task.status == "complete"} == {
            "pond": 0, "beans": 1, "heap": 0,
        }  # fmt: skip
        assert {each.source_id for each in read if each.excluded_by} == {pond}
        done = await decided(runtime, again, choice="approve")
        assert done.report_path is not None
        report = done.report_path.read_text()
        assert "80 centimetres" not in report
        assert "in May" in report


async def test_what_is_withheld_from_a_model_is_never_read_by_it_and_the_report_says_so(
    database_url: str, tmp_path: Path
) -> None:
    corpus = write_corpus(tmp_path / "garden")
    rules = [
        {"name": "depths", "pattern": r"\d+ centimetres"},
        {"name": "heaps", "label": "*compost*"},
    ]
    async with runtime_on(database_url, tmp_path / "home", sensitive=rules) as opened:
        researcher = Attentive()
        runtime = thinking(opened, researcher)
        done = await start_run(runtime, QUESTION, options(corpus))
        read = "\n".join(researcher.read)
        assert "in May" in read
        assert "centimetres" not in read
        assert "compost" not in read.lower()
        assert done.report_path is not None
        report = done.report_path.read_text()
        assert "withheld from the model, by the policy 'depths'" in report
        assert "withheld from the model, by the policy 'heaps'" in report


async def test_sensitive_material_is_released_or_left_out_before_it_is_published(
    database_url: str, tmp_path: Path
) -> None:
    corpus = write_corpus(tmp_path / "garden")
    rules = [
        {"name": "depths", "pattern": r"\d+ centimetres"},
        {"name": "heaps", "label": "*compost*"},
    ]
    async with runtime_on(database_url, tmp_path / "home", sensitive=rules) as runtime:
        paused = await start_run(runtime, QUESTION, options(corpus))
        (review,) = paused.reviews
        assert review.kind == "sensitive"
        assert {each["name"] for each in review.shown["sensitive"]} == {"depths", "heaps"}
        assert "80 centimetres" not in str(review.shown["sensitive"]), (
            "places, and not what stands there"
        )
        pond = [each["id"] for each in review.shown["sensitive"] if each["name"] == "depths"]
        again = await decided(runtime, paused, choice="edit", edit={"omit": pond})
        assert {each["name"] for each in again.reviews[0].shown["sensitive"]} == {"heaps"}
        done = await decided(runtime, again, choice="approve")
        assert done.report_path is not None
        assert "80 centimetres" not in done.report_path.read_text()
        assert "60 degrees" in done.report_path.read_text()


async def test_a_run_cannot_ask_for_less_than_policy(database_url: str, tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "garden")
    rules = [{"name": "depths", "pattern": "centimetres"}]
    async with runtime_on(database_url, tmp_path / "home", sensitive=rules) as runtime:
        chosen = RunOptions(corpus=(str(corpus),), review="none")
        paused = await start_run(runtime, QUESTION, chosen)
        assert RunOptions.model_validate(paused.run.options).sensitive[0].name == "depths"
        with pytest.raises(BadInput, match="takes approve, edit, reject"):
            await decided(runtime, paused, choice="respond", response="why?")
        ended = await decided(runtime, paused, choice="reject")
        assert (ended.run.status, ended.report_path) == ("cancelled", None)


async def test_a_decision_about_a_run_that_is_over_is_refused(
    database_url: str, tmp_path: Path
) -> None:
    corpus = write_corpus(tmp_path / "garden")
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        paused = await start_run(runtime, QUESTION, options(corpus, "plan"))
        await decided(runtime, paused, choice="approve")
        refusal = Decision(choice="reject", decided_by="bob")
        with pytest.raises(Exception, match="approve by ada"):
            await decide(runtime, paused.reviews[0].review_id, refusal)
        assert (await resume_run(runtime, paused.run.run_id)).run.status == "completed"
