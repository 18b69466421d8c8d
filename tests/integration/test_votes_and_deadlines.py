"""Two people where policy wants two, and deadlines by the database's clock; of two at once one wins."""

import asyncio
from pathlib import Path
from uuid import UUID

import pytest
from tenacity import AsyncRetrying, stop_after_delay, wait_fixed

from graph import sweeping
from graph.runs import decide, outcome, resume_run, start_run
from graph.runtime import Runtime
from ledger import integrity, reviews, votes, workers
from ledger.errors import (
    AlreadyVoted,
    LedgerDamaged,
    NotFound,
    ReviewClosed,
    ReviewDecided,
    ReviewLate,
    ReviewStale,
)
from ledger.questions import DEADLINE, AtDeadline, Decision, Rules
from nodes.options import BadInput, RunOptions
from tests.support.commands import end, perdure, start
from tests.support.ledgers import execute, new_run, open_ledger
from tests.support.runtimes import QUESTION, options, runtime_on, write_corpus


def approved(name: str) -> Decision:
    return Decision(choice="approve", decided_by=name)


async def test_two_different_people_have_to_say_the_same(database_url: str) -> None:
    async with open_ledger(database_url) as ledger:
        run_id = await new_run(ledger)
        async with ledger.transaction() as tx:
            name = await reviews.ask(tx, run_id, "plan", {"n": 1}, rules=Rules(persons=2))
            asked = await reviews.get(tx, run_id, name)
            first = await reviews.decide(tx, asked, approved("Ada"))
        assert (first.status, first.decision) == ("open", None)
        assert "approve by Ada" in (first.missing or "")
        for again in ("Ada", " ada ", "ADA", "A\u200bda", "\uff21da", "Ada\u2060", "\u00a0Ada"):
            with pytest.raises(AlreadyVoted, match="has spoken"):
                async with ledger.transaction() as tx:
                    await reviews.decide(tx, asked, approved(again))
        async with ledger.transaction() as tx:
            edit = Decision(choice="edit", decided_by="bob", edit={"omit": ["a"]})
            assert (await reviews.decide(tx, asked, edit)).status == "open"
            other = Decision(choice="edit", decided_by="cleo", edit={"omit": ["b"]})
            assert (await reviews.decide(tx, asked, other)).status == "open"
            same = Decision(choice="edit", decided_by="dan", edit={"omit": ["a"]})
            decided = await reviews.decide(tx, asked, same)
        assert (decided.status, decided.decision) == ("decided", same)
        assert [vote.decided_by for vote in decided.votes] == ["Ada", "bob", "cleo"]


async def test_anyone_rejects_at_once(database_url: str) -> None:
    async with open_ledger(database_url) as ledger:
        run_id = await new_run(ledger)
        async with ledger.transaction() as tx:
            name = await reviews.ask(tx, run_id, "plan", {"n": 1}, rules=Rules(persons=2))
            asked = await reviews.get(tx, run_id, name)
            await reviews.decide(tx, asked, approved("ada"))
            no = Decision(choice="reject", decided_by="ada")
            assert (await reviews.decide(tx, asked, no)).decision == no


async def test_a_vote_is_never_changed(database_url: str) -> None:
    async with open_ledger(database_url) as ledger:
        run_id = await new_run(ledger)
        async with ledger.transaction() as tx:
            name = await reviews.ask(tx, run_id, "plan", {"n": 1}, rules=Rules(persons=2))
            await reviews.decide(tx, await reviews.get(tx, run_id, name), approved("ada"))
        for change in (
            "UPDATE ledger.review_votes SET number = 2",
            "DELETE FROM ledger.review_votes",
        ):
            with pytest.raises(Exception, match="append-only"):
                await execute(ledger, change)


async def test_a_vote_that_was_changed_beside_the_ledger_is_damage(database_url: str) -> None:
    async with open_ledger(database_url) as ledger:
        run_id = await new_run(ledger)
        async with ledger.transaction() as tx:
            name = await reviews.ask(tx, run_id, "plan", {"n": 1}, rules=Rules(persons=2))
            await reviews.decide(tx, await reviews.get(tx, run_id, name), approved("ada"))
        async with ledger.transaction(one_moment=True) as tx:
            assert await integrity.damage(tx, run_id) == []
        for change in (
            "UPDATE ledger.review_votes SET choice = 'edit'",
            "DELETE FROM ledger.review_votes",
        ):
            async with ledger.pool.connection() as connection:
                await connection.execute("SET session_replication_role = replica")
                await connection.execute(change.encode())
                await connection.execute("SET session_replication_role = DEFAULT")
            async with ledger.transaction(one_moment=True) as tx:
                (found,) = await integrity.damage(tx, run_id)
            assert found.part == f"row review_votes {name} 1"


async def test_of_many_who_decide_at_once_one_wins_and_the_others_are_told_who(
    database_url: str,
) -> None:
    async with open_ledger(database_url) as ledger:
        run_id = await new_run(ledger)
        async with ledger.transaction() as tx:
            name = await reviews.ask(tx, run_id, "plan", {"n": 1})
            asked = await reviews.get(tx, run_id, name)

        async def say(who: str) -> str:
            try:
                async with ledger.transaction() as tx:
                    await reviews.decide(tx, asked, approved(who))
            except ReviewDecided as error:
                return str(error)
            return who

        said = await asyncio.gather(*(say(f"person{number}") for number in range(5)))
        (winner,) = [each for each in said if each.startswith("person")]
        assert sum(f"approve by {winner}" in each for each in said) == 4


async def test_of_two_processes_that_approve_at_once_one_wins(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = write_corpus(tmp_path / "garden")
    monkeypatch.setenv("PERDURE_DATABASE_URL", database_url)
    monkeypatch.setenv("PERDURE_HOME", str(tmp_path / "home"))
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        paused = await start_run(runtime, QUESTION, options(corpus, "plan"))
    name = paused.reviews[0].review_id
    both = [start("review", name, "--approve", "--as", who) for who in ("maria", "paul")]
    ended = [await asyncio.to_thread(end, each) for each in both]
    assert sorted(each.code for each in ended) == [0, 2], [each.messages for each in ended]
    (lost,) = [each for each in ended if each.code == 2]
    winner = "maria" if ended[0].code == 0 else "paul"
    assert f"was decided already (approve by {winner})" in lost.messages


@pytest.mark.parametrize(("at", "choice"), [("reject", "reject"), ("go-on", "approve")])
async def test_a_deadline_decides_and_a_person_is_late(
    database_url: str, at: AtDeadline, choice: str
) -> None:
    async with open_ledger(database_url) as ledger:
        run_id = await new_run(ledger)
        rules = Rules(due_seconds=0, at_deadline=at, persons=2)
        async with ledger.transaction() as tx:
            name = await reviews.ask(tx, run_id, "plan", {"n": 1}, rules=rules)
            asked = await reviews.get(tx, run_id, name)
        for said in (approved("ada"), Decision(choice="reject", decided_by="ada")):
            with pytest.raises(ReviewLate, match="deadline"):
                async with ledger.transaction() as tx:
                    await reviews.decide(tx, asked, said)
        async with ledger.transaction() as tx:
            (decided,) = await reviews.pass_deadlines(tx, run_id)
            assert await reviews.pass_deadlines(tx, run_id) == []
            assert await votes.of_reviews(tx, [name]) == {}
        assert decided.decision is not None
        assert (decided.decision.choice, decided.decision.decided_by) == (choice, DEADLINE)


async def test_a_deadline_at_which_nothing_happens_leaves_the_review_to_people(
    database_url: str,
) -> None:
    async with open_ledger(database_url) as ledger:
        run_id = await new_run(ledger)
        async with ledger.transaction() as tx:
            name = await reviews.ask(tx, run_id, "plan", {"n": 1}, rules=Rules(due_seconds=0))
            asked = await reviews.get(tx, run_id, name)
            assert asked.overdue
            assert await reviews.pass_deadlines(tx, run_id) == []
            assert (await reviews.decide(tx, asked, approved("ada"))).status == "decided"


async def test_before_the_deadline_a_person_decides(database_url: str) -> None:
    async with open_ledger(database_url) as ledger:
        run_id = await new_run(ledger)
        rules = Rules(due_seconds=3_600, at_deadline="reject")
        async with ledger.transaction() as tx:
            name = await reviews.ask(tx, run_id, "plan", {"n": 1}, rules=rules)
            assert await reviews.pass_deadlines(tx, run_id) == []
            asked = await reviews.get(tx, run_id, name)
            assert (await reviews.decide(tx, asked, approved("ada"))).status == "decided"


async def test_a_run_goes_on_without_its_reviews_and_its_report_says_so(
    database_url: str, tmp_path: Path
) -> None:
    corpus = write_corpus(tmp_path / "garden")
    chosen = RunOptions(
        corpus=(str(corpus),), review="plan,report", review_deadline="0s", at_deadline="go-on"
    )
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        done = await start_run(runtime, QUESTION, chosen)
        assert done.report_path is not None
        report = done.report_path.read_text()
        assert "Not reviewed: deadline passed (plan)." in report
        assert "Not reviewed: deadline passed (report)." in report
        assert "80 centimetres" in report


async def overdue(runtime: Runtime, run_id: UUID) -> None:
    """Return when the database's clock has passed the deadline of the run's review."""
    async for attempt in AsyncRetrying(stop=stop_after_delay(60), wait=wait_fixed(0.1)):
        with attempt:
            async with runtime.ledger.transaction() as tx:
                assert run_id in {each.run_id for each in await workers.overdue(tx)}


async def test_a_sweep_takes_up_a_run_whose_review_is_overdue(
    database_url: str, tmp_path: Path
) -> None:
    corpus = write_corpus(tmp_path / "garden")
    chosen = RunOptions(
        corpus=(str(corpus),), review="plan", review_deadline="1s", at_deadline="reject"
    )
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        begun = await start_run(runtime, QUESTION, chosen)
        run_id = begun.run.run_id
        if begun.run.status == "paused":
            await overdue(runtime, run_id)
            (swept,) = await sweeping.sweep(runtime)
            assert (swept.run_id, swept.became) == (run_id, "cancelled")
        assert (await outcome(runtime, run_id)).run.status == "cancelled"
        assert await sweeping.sweep(runtime) == []


async def test_a_plan_of_two_persons_goes_on_when_the_second_agrees(
    database_url: str, tmp_path: Path
) -> None:
    corpus = write_corpus(tmp_path / "garden")
    async with runtime_on(database_url, tmp_path / "home", two_persons=["plan"]) as runtime:
        paused = await start_run(runtime, QUESTION, options(corpus, "plan"))
        name = paused.reviews[0].review_id
        assert (await decide(runtime, name, approved("ada"))).status == "open"
        waits = await resume_run(runtime, paused.run.run_id)
        assert waits.run.status == "paused"
        assert (await decide(runtime, name, approved("bob"))).status == "decided"
        assert (await resume_run(runtime, paused.run.run_id)).run.status == "completed"


async def test_nobody_is_called_as_the_deadline_is(database_url: str, tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "garden")
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        paused = await start_run(runtime, QUESTION, options(corpus, "plan"))
        for name in ("deadline", " Deadline", ""):
            with pytest.raises(BadInput, match="nobody is called"):
                await decide(runtime, paused.reviews[0].review_id, approved(name))


async def test_a_review_of_another_tenant_or_of_a_damaged_run_takes_no_decision(
    database_url: str, tmp_path: Path
) -> None:
    corpus = write_corpus(tmp_path / "garden")
    async with runtime_on(database_url, tmp_path / "home", tenant="one") as runtime:
        paused = await start_run(runtime, QUESTION, options(corpus, "plan"))
        name = paused.reviews[0].review_id
        async with runtime_on(database_url, tmp_path / "home", tenant="two") as other:
            with pytest.raises(NotFound):
                await decide(other, name, approved("ada"))
        async with runtime.ledger.pool.connection() as connection:
            await connection.execute("SET session_replication_role = replica")
            await connection.execute("UPDATE ledger.tasks SET attempts = 7 WHERE task_id = 't1'")
            await connection.execute("SET session_replication_role = DEFAULT")
        with pytest.raises(LedgerDamaged, match="row tasks t1"):
            await decide(runtime, name, approved("ada"))


async def test_an_answer_to_what_has_changed_since_is_stale(database_url: str) -> None:
    async with open_ledger(database_url) as ledger:
        run_id = await new_run(ledger)
        async with ledger.transaction() as tx:
            name = await reviews.ask(tx, run_id, "plan", {"n": 1})
            asked = await reviews.get(tx, run_id, name)
            await reviews.ask(tx, run_id, "plan", {"n": 2})
            with pytest.raises(ReviewStale):
                await reviews.decide(tx, asked, approved("ada"))
            assert issubclass(ReviewStale, ReviewClosed)


def test_a_deadline_or_a_kind_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("The ferry takes the northern lock at noon.")
    for given in (
        ("--review-deadline", "soon"),
        ("--at-deadline", "panic"),
        ("--two-persons", "plan,budget"),
    ):
        ended = perdure("run", "Which lock?", "--corpus", str(page), *given)
        assert (ended.code, given[0] in ended.messages) == (2, True), ended.messages
