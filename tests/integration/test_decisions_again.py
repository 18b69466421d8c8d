"""A decision is applied once: what is shown again afterwards is asked again, and what cannot be done is refused."""

from pathlib import Path

import pytest
from langgraph.types import Command

from graph.runs import cancel_run, outcome, start_run
from graph.threads import run_config
from graph.working import working
from ledger import outbox, reviews, runs
from ledger.errors import ReviewClosed, RunExists
from ledger.ids import new_run_id
from ledger.questions import Rules
from nodes.options import BadInput
from tests.support.ledgers import execute, new_run, open_ledger
from tests.support.runtimes import QUESTION, decided, options, runtime_on, write_corpus


@pytest.mark.parametrize("omit", [[], ["fnd_nope"], ["src_nope"]])
async def test_an_edit_that_leaves_out_nothing_that_was_shown_is_refused_and_not_recorded(
    database_url: str, tmp_path: Path, omit: list[str]
) -> None:
    """A mistyped id is not the person's decision: the right one can still be given."""
    corpus = write_corpus(tmp_path / "garden")
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        paused = await start_run(runtime, QUESTION, options(corpus, "report"))
        with pytest.raises(BadInput, match="shows their ids"):
            await decided(runtime, paused, choice="edit", edit={"omit": omit})
        claim = paused.reviews[0].shown["claims"][0]
        again = await decided(runtime, paused, choice="edit", edit={"omit": [claim["id"]]})
        assert claim["claim"] not in again.reviews[0].shown["report"]
        done = await decided(runtime, again, choice="approve")
        assert done.run.status == "completed"


async def test_an_answer_that_changes_no_source_is_asked_again(
    database_url: str, tmp_path: Path
) -> None:
    """What was researched besides found nothing new, and the person is asked about the same sources."""
    corpus = write_corpus(tmp_path / "garden")
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        paused = await start_run(runtime, QUESTION, options(corpus, "sources"))
        again = await decided(runtime, paused, choice="respond", response="What of zebras?")
        assert again.run.status == "paused"
        done = await decided(runtime, again, choice="approve")
        assert done.run.status == "completed"


@pytest.mark.parametrize("response", ["x" * 100_000, "a\x00b"], ids=["too long", "NUL"])
async def test_an_answer_that_cannot_be_researched_is_refused_before_it_is_recorded(
    database_url: str, tmp_path: Path, response: str
) -> None:
    """Recorded, it would stop the run at every resume."""
    corpus = write_corpus(tmp_path / "garden")
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        paused = await start_run(runtime, QUESTION, options(corpus, "plan"))
        with pytest.raises(BadInput):
            await decided(runtime, paused, choice="respond", response=response)


async def test_a_review_of_a_cancelled_run_cannot_bedecided(
    database_url: str, tmp_path: Path
) -> None:
    """Nothing goes on there, and a decision would say that it does."""
    corpus = write_corpus(tmp_path / "garden")
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        paused = await start_run(runtime, QUESTION, options(corpus, "plan"))
        await cancel_run(runtime, paused.run.run_id)
        with pytest.raises(ReviewClosed):
            await decided(runtime, paused, choice="approve")


async def test_two_tenants_never_share_a_thread(database_url: str, tmp_path: Path) -> None:
    """LangGraph's tables know no tenant: an id that one has is taken for all."""
    corpus = write_corpus(tmp_path / "garden")
    run_id = new_run_id()
    async with runtime_on(database_url, tmp_path / "home", tenant="one") as runtime:
        await start_run(runtime, QUESTION, options(corpus), run_id)
    async with runtime_on(database_url, tmp_path / "home", tenant="two") as runtime:
        with pytest.raises(RunExists):
            await start_run(runtime, "What depth does a pond need?", options(corpus), run_id)


@pytest.mark.parametrize(
    "answer",
    [
        # The plan is fine; the number beside it has no canonical form.
        {"type": "edit", "args": {"tasks": [{"id": "a", "question": "Why?"}], "number": 2**60}},
        {"type": "edit", "args": "nothing of the kind"},
        {"type": "response", "args": None},
        {"type": ["accept"]},
        [],
        None,
    ],
    ids=["no canonical form", "no plan", "no words", "no type", "empty", "nothing"],
)
async def test_an_answer_of_studio_that_decides_nothing_is_asked_again(
    database_url: str, tmp_path: Path, answer: object
) -> None:
    """LangGraph keeps every answer: one that raised would be met again at every resume."""
    chosen = options(write_corpus(tmp_path / "garden"), "plan")
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        paused = await start_run(runtime, QUESTION, chosen)
        run_id, graph = paused.run.run_id, runtime.compiled()
        config = run_config(run_id, chosen)
        async with working(runtime, run_id):
            (asked,) = (await graph.aget_state(config)).interrupts
            await graph.ainvoke(
                Command(resume={asked.id: answer}), config, context=chosen, durability="sync"
            )
        done = await decided(runtime, await outcome(runtime, run_id), choice="approve")
        assert done.run.status == "completed"


async def test_a_deadline_that_has_passed_is_not_waited_for(
    database_url: str,
) -> None:
    rules = Rules(due_seconds=0, at_deadline="reject")
    later = Rules(due_seconds=3_600, at_deadline="reject")
    async with open_ledger(database_url) as ledger:
        run_id = await new_run(ledger)
        async with ledger.transaction() as tx:
            await runs.set_status(tx, run_id, "paused")
            name = await reviews.ask(tx, run_id, "plan", {"n": 1}, rules=rules)
        async with ledger.transaction() as tx:
            assert await reviews.seconds_to_due(tx) is None
            await reviews.ask(tx, run_id, "report", {"n": 1}, rules=later, beside=[name])
        async with ledger.transaction() as tx:
            assert 3_000 < (await reviews.seconds_to_due(tx) or 0) <= 3_600


async def test_nobody_is_told_to_review_a_run_that_was_cancelled(
    database_url: str, tmp_path: Path
) -> None:
    chosen = options(write_corpus(tmp_path / "garden"), "plan").model_copy(
        # Nobody listens there, so the notice is left for later.
        update={"notify": ("http://127.0.0.1:9/",)}
    )
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        paused = await start_run(runtime, QUESTION, chosen)
        await execute(runtime.ledger, "UPDATE ledger.effects SET patient_until = NULL")
        async with runtime.ledger.transaction() as tx:
            assert await outbox.next_notice(tx, [], 30.0) is not None
        await execute(
            runtime.ledger, "UPDATE ledger.runs SET status = 'cancelled', finished_at = now()"
        )
        async with runtime.ledger.transaction() as tx:
            assert await outbox.next_notice(tx, [], 30.0) is None
    assert paused.run.status == "paused"
