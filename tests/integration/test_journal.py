"""The journal repeats no finished call, loses no failed one, and lets no stale worker write."""

import asyncio
from functools import partial

import pytest

from ledger import artifacts, groups, journal, leases, runs
from ledger.db import Ledger, Transaction
from ledger.errors import LeaseLost, OperationFailed, RunCancelled
from ledger.journal import Answer, Received
from ledger.requests import Request
from tests.support.ledgers import new_run, open_ledger


class Counted:
    """An outside call that counts how often it is made."""

    def __init__(self, body: object = "answer") -> None:
        self.calls = 0
        self.body = body

    async def __call__(self) -> Answer:
        self.calls += 1
        return Answer(self.body)  # type: ignore[arg-type]


async def test_an_accepted_result_is_returned_without_a_call(database_url: str) -> None:
    async with open_ledger(database_url) as ledger:
        run_id = await new_run(ledger)
        outside = Counted({"hits": ["a\x00b"]})
        first = await journal.call(ledger, run_id, Request("t1", "search", {"q": 1}), outside)
        again = await journal.call(ledger, run_id, Request("t1", "search", {"q": 1}), outside)
        assert outside.calls == 1
        assert (first.reused, again.reused) == (False, True)
        assert again.body == first.body == {"hits": ["a\x00b"]}


async def test_another_request_task_or_run_is_another_operation(database_url: str) -> None:
    async with open_ledger(database_url) as ledger:
        run_id, other = await new_run(ledger), await new_run(ledger)
        outside = Counted()
        for run, request in [
            (run_id, Request("t1", "search", {"q": 1})),
            (run_id, Request("t1", "search", {"q": 2})),
            (run_id, Request("t2", "search", {"q": 1})),
            (run_id, Request("t1", "read", {"q": 1})),
            (other, Request("t1", "search", {"q": 1})),
        ]:
            await journal.call(ledger, run, request, outside)
        assert outside.calls == 5


async def test_a_failed_attempt_is_kept_with_its_reason_and_the_next_is_counted(
    database_url: str,
) -> None:
    async with open_ledger(database_url) as ledger:
        run_id = await new_run(ledger)
        request = Request("t1", "read", "page")

        async def fails() -> Answer:
            raise OperationFailed("HTTP 503", transient=True)

        with pytest.raises(OperationFailed):
            await journal.call(ledger, run_id, request, fails)
        await journal.call(ledger, run_id, request, Counted())
        async with ledger.transaction() as tx:
            (operation,) = await journal.operations(tx, run_id)
        assert [(a.number, a.outcome, a.reason, a.accepted) for a in operation.attempts] == [
            (1, "failed", "HTTP 503", False),
            (2, "succeeded", None, True),
        ]


async def test_a_late_second_answer_is_kept_and_not_accepted(database_url: str) -> None:
    """Two workers ask at the same time: both answers are attempts, the first one counts for both."""
    async with open_ledger(database_url) as ledger:
        run_id = await new_run(ledger)
        request = Request("t1", "model", "prompt")
        both_out = asyncio.Barrier(2)

        async def answers(body: str) -> Answer:
            await both_out.wait()
            return Answer(body)

        results = await asyncio.gather(
            *(
                journal.call(ledger, run_id, request, partial(answers, body))
                for body in ("one", "two")
            )
        )
        async with ledger.transaction() as tx:
            (operation,) = await journal.operations(tx, run_id)
        assert len({result.body for result in results}) == 1
        assert [attempt.outcome for attempt in operation.attempts] == ["succeeded", "succeeded"]
        assert [attempt.accepted for attempt in operation.attempts].count(True) == 1


async def test_what_a_result_yields_commits_with_it_or_not_at_all(database_url: str) -> None:
    async with open_ledger(database_url) as ledger:
        run_id = await new_run(ledger)

        async def keep(tx: Transaction) -> None:
            await artifacts.put(tx, b"yield", "text/plain")
            raise OperationFailed("the disk of the moon is full", transient=False)

        async def answers() -> Answer:
            return Answer("x", keep)

        with pytest.raises(OperationFailed):
            await journal.call(ledger, run_id, Request("t1", "read", 1), answers)
        async with ledger.transaction() as tx:
            (operation,) = await journal.operations(tx, run_id)
            stored = await (
                await tx.connection.execute("SELECT count(*) AS n FROM ledger.artifacts")
            ).fetchone()
        assert operation.status == "open"
        assert stored == {"n": 0}


async def test_an_answer_that_a_dead_worker_received_is_understood_without_a_call(
    database_url: str,
) -> None:
    """The page is in the ledger and nothing was made of it: the next worker reads it from there."""
    async with open_ledger(database_url) as ledger:
        run_id = await new_run(ledger)
        request = Request("t1", "read", "http://page")
        calls: list[str] = []

        async def receive() -> Received:
            calls.append("GET")
            return Received(b"<p>the page\x00</p>", "text/html", {"status": 200})

        async def dies(received: Received) -> Answer:
            raise ZeroDivisionError

        async def understands(received: Received) -> Answer:
            return Answer(
                [received.content.decode(), received.media_type, received.detail["status"]]
            )

        with pytest.raises(ZeroDivisionError):
            await journal.fetch(ledger, run_id, request, receive, dies)
        answer = await journal.fetch(ledger, run_id, request, receive, understands)
        assert calls == ["GET"]
        assert answer.body == ["<p>the page\x00</p>", "text/html", 200]
        async with ledger.transaction() as tx:
            (operation,) = await journal.operations(tx, run_id)
        assert [(each.number, each.accepted) for each in operation.attempts] == [(1, True)]


async def test_an_answer_that_cannot_be_understood_is_asked_for_again(database_url: str) -> None:
    async with open_ledger(database_url) as ledger:
        run_id = await new_run(ledger)
        calls: list[str] = []

        async def receive() -> Received:
            calls.append("GET")
            return Received(b"{", "application/json", {})

        async def fails(received: Received) -> Answer:
            raise OperationFailed("no JSON", transient=True)

        for _ in range(2):
            with pytest.raises(OperationFailed):
                await journal.fetch(ledger, run_id, Request("t1", "search", 1), receive, fails)
        assert len(calls) == 2


async def test_what_is_written_at_the_same_time_is_committed_together(database_url: str) -> None:
    async with open_ledger(database_url) as ledger:
        run_id = await new_run(ledger)

        async def transaction_of(tx: Transaction) -> int:
            cursor = await tx.connection.execute("SELECT pg_current_xact_id()::text::bigint AS id")
            row = await cursor.fetchone()
            assert row is not None
            number: int = row["id"]
            return number

        numbers = await asyncio.gather(
            *(groups.commit(ledger, run_id, transaction_of) for _ in range(20))
        )
        assert len(set(numbers)) == 1


async def test_a_write_that_fails_takes_nobody_with_it(database_url: str) -> None:
    async with open_ledger(database_url) as ledger:
        run_id = await new_run(ledger)

        async def writes(number: int, tx: Transaction) -> str:
            await tx.connection.execute("SELECT 1 / %s", (number,))
            return await artifacts.put(tx, str(number).encode(), "text/plain")

        done = await asyncio.gather(
            *(groups.commit(ledger, run_id, partial(writes, number)) for number in (1, 0, 2)),
            return_exceptions=True,
        )
        assert [type(each).__name__ for each in done] == ["str", "LedgerError", "str"]
        async with ledger.transaction() as tx:
            for name in (done[0], done[2]):
                await artifacts.get(tx, str(name))


async def test_a_worker_whose_run_was_taken_over_writes_neither_result_nor_attempt(
    database_url: str,
) -> None:
    async with open_ledger(database_url, "old") as old, open_ledger(database_url, "new") as new:
        run_id = await new_run(old)

        async def taken_over_meanwhile() -> Answer:
            await _raise_fence(new, run_id)
            return Answer("too late")

        async with leases.hold(old, run_id):
            with pytest.raises(LeaseLost, match="new"):
                await journal.call(old, run_id, Request("t1", "search", 1), taken_over_meanwhile)
            with pytest.raises(LeaseLost):
                await journal.call(old, run_id, Request("t1", "search", 2), Counted())
        async with new.transaction() as tx:
            (operation,) = await journal.operations(tx, run_id)
        assert operation.status == "open"
        assert [attempt.outcome for attempt in operation.attempts] == ["started"]


async def test_a_cancelled_run_takes_no_more_results(database_url: str) -> None:
    async with open_ledger(database_url) as ledger:
        run_id = await new_run(ledger)
        async with ledger.transaction() as tx:
            await runs.cancel(tx, run_id)
        outside = Counted()
        with pytest.raises(RunCancelled):
            await journal.call(ledger, run_id, Request("t1", "search", 1), outside)
        assert outside.calls == 0


async def _raise_fence(ledger: Ledger, run_id: object) -> None:
    """Take a run over as a worker does whose predecessor's connection is gone."""
    statement = "UPDATE ledger.leases SET fence = fence + 1, owner = %s WHERE run_id = %s"
    async with ledger.transaction() as tx:
        await tx.connection.execute(statement, (ledger.worker, run_id))
