"""Branches of a run share answers: what one has asked, another takes over, waits for, or asks itself where it failed."""

import asyncio
from uuid import UUID

import pytest

from graph.explaining import explained
from ledger import journal, leases, recoveries
from ledger.db import Ledger
from ledger.errors import OperationFailed
from ledger.journal import Answer, Operation, Received, Recorded
from ledger.recoveries import Report
from ledger.requests import Request
from ledger.verification import verify
from tests.support.ledgers import execute, new_run, open_ledger

PAGE = "http://a.example/page"


def read_of(task_id: str, retry: int = 0) -> Request:
    """Return the request of a task for the one page; how it is spelled is no matter."""
    spelled = PAGE.replace("page", task_id)
    return Request(task_id, "read", {"uri": spelled}, retry=retry, same={"uri": PAGE})


class Server:
    """What is asked: counts, answers when it is let, and fails as often as it is told to."""

    def __init__(self, failing: int = 0) -> None:
        self.calls, self.failing = 0, failing
        self.asked, self.released = asyncio.Event(), asyncio.Event()
        self.released.set()

    async def receive(self) -> Received:
        self.calls += 1
        number = self.calls
        self.asked.set()
        await self.released.wait()
        if number <= self.failing:
            raise OperationFailed("HTTP 503", transient=True)
        return Received(f"page {number}".encode(), "text/plain", {})

    async def understand(self, received: Received) -> Answer:
        return Answer(received.content.decode())

    async def read(self, ledger: Ledger, run_id: UUID, request: Request) -> Recorded:
        return await journal.fetch(ledger, run_id, request, self.receive, self.understand)


async def by_task(ledger: Ledger, run_id: UUID) -> dict[str, Operation]:
    """Return the newest operation of each task."""
    async with ledger.transaction() as tx:
        return {each.task_id: each for each in await journal.operations(tx, run_id)}


async def is_whole(ledger: Ledger, run_id: UUID) -> bool:
    """Whether the checks of the run's journal and rows find nothing."""
    async with ledger.transaction(one_moment=True) as tx:
        checks = {check.name: check.ok for check in await verify(tx, run_id)}
    return checks["journal"] and checks["rows"]


async def test_what_another_branch_was_answered_is_taken_over_with_its_name(
    database_url: str,
) -> None:
    async with open_ledger(database_url) as ledger:
        run_id, server = await new_run(ledger), Server()
        first = await server.read(ledger, run_id, read_of("t1"))
        second = await server.read(ledger, run_id, read_of("t2"))
        third = await server.read(ledger, run_id, read_of("t3"))
        again = await server.read(ledger, run_id, read_of("t2"))
        assert server.calls == 1
        assert {each.body for each in (first, second, third, again)} == {"page 1"}
        assert (first.reused, second.reused, again.operation_id) == (
            False,
            True,
            second.operation_id,
        )
        operations = await by_task(ledger, run_id)
        for name in ("t2", "t3"):
            (attempt,) = operations[name].attempts
            assert (attempt.outcome, attempt.accepted, attempt.received) == (
                "succeeded",
                True,
                False,
            )
            assert attempt.reused == first.operation_id, "the one that called, however many took it"
        assert operations["t1"].attempts[0].reused is None
        assert await is_whole(ledger, run_id)


async def test_another_run_and_what_has_no_form_call_for_themselves(database_url: str) -> None:
    async with open_ledger(database_url) as ledger:
        run_id, other, server = await new_run(ledger), await new_run(ledger), Server()
        for run, request in [
            (run_id, read_of("t1")),
            (other, read_of("t1")),
            (run_id, Request("t1", "model", "prompt")),
            (run_id, Request("t2", "model", "prompt")),
        ]:
            await server.read(ledger, run, request)
        assert server.calls == 4


async def test_of_branches_that_ask_at_once_one_calls_and_the_others_wait(
    database_url: str,
) -> None:
    async with open_ledger(database_url) as ledger:
        run_id, server = await new_run(ledger), Server()
        server.released.clear()
        async with asyncio.TaskGroup() as group:
            first = group.create_task(server.read(ledger, run_id, read_of("t1")))
            await server.asked.wait()
            others = [
                group.create_task(server.read(ledger, run_id, read_of(name)))
                for name in ("t2", "t3")
            ]
            # What is asked beside it does not wait.
            local = Request("t2", "search", {"q": 1}, same={"q": 1})
            await journal.call(ledger, run_id, local, lambda: answered("beside"))
            assert (first.done(), *(each.done() for each in others)) == (False, False, False)
            server.released.set()
        assert server.calls == 1
        assert {each.result().body for each in (first, *others)} == {"page 1"}
        assert not ledger.asking, "nobody holds anything any more"
        assert await is_whole(ledger, run_id)


async def answered(body: str) -> Answer:
    """Answer at once."""
    return Answer(body)


async def test_who_waited_for_a_call_that_failed_calls_and_the_first_takes_that_answer(
    database_url: str,
) -> None:
    async with open_ledger(database_url) as ledger:
        run_id, server = await new_run(ledger), Server(failing=1)
        server.released.clear()
        first = asyncio.create_task(server.read(ledger, run_id, read_of("t1")))
        await server.asked.wait()
        second = asyncio.create_task(server.read(ledger, run_id, read_of("t2")))
        server.released.set()
        with pytest.raises(OperationFailed):
            await first
        assert (await second).body == "page 2"
        assert (await server.read(ledger, run_id, read_of("t1"))).body == "page 2"
        assert server.calls == 2
        attempts = (await by_task(ledger, run_id))["t1"].attempts
        assert [(each.outcome, each.reused) for each in attempts] == [
            ("failed", None),
            ("succeeded", (await second).operation_id),
        ]
        assert await is_whole(ledger, run_id)


async def test_what_a_person_has_tried_again_is_called_anew_and_is_what_later_branches_take(
    database_url: str,
) -> None:
    async with open_ledger(database_url) as ledger:
        run_id, server = await new_run(ledger), Server()
        await server.read(ledger, run_id, read_of("t1"))
        await server.read(ledger, run_id, read_of("t2"))
        assert (await server.read(ledger, run_id, read_of("t2", retry=1))).body == "page 2"
        assert (await server.read(ledger, run_id, read_of("t1", retry=1))).body == "page 3"
        assert (await server.read(ledger, run_id, read_of("t3"))).body == "page 3"
        assert server.calls == 3


async def test_what_a_dead_worker_received_for_one_branch_serves_the_other_without_a_call(
    database_url: str,
) -> None:
    """Whichever branch comes first makes something of it; both have it."""
    async with open_ledger(database_url) as ledger:
        run_id, server = await new_run(ledger), Server()

        async def dies(received: Received) -> Answer:
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await journal.fetch(ledger, run_id, read_of("t1"), server.receive, dies)
        second = await server.read(ledger, run_id, read_of("t2"))
        first = await server.read(ledger, run_id, read_of("t1"))
        assert (first.body, second.body, server.calls) == ("page 1", "page 1", 1)
        operations = await by_task(ledger, run_id)
        assert [each.reused for each in operations["t1"].attempts] == [None]
        assert [each.reused for each in operations["t2"].attempts] == [first.operation_id]
        assert await is_whole(ledger, run_id)


async def test_what_was_received_for_another_and_is_of_no_use_is_asked_for(
    database_url: str,
) -> None:
    async with open_ledger(database_url) as ledger:
        run_id, server = await new_run(ledger), Server()

        async def dies(received: Received) -> Answer:
            raise ZeroDivisionError

        async def understand(received: Received) -> Answer:
            if received.content == b"page 1":
                raise OperationFailed("no page", transient=False)
            return Answer(received.content.decode())

        with pytest.raises(ZeroDivisionError):
            await journal.fetch(ledger, run_id, read_of("t1"), server.receive, dies)
        request = read_of("t2")
        second = await journal.fetch(ledger, run_id, request, server.receive, understand)
        assert (second.body, second.operation_id) == ("page 2", request.operation_id(run_id))
        (failed,) = (await by_task(ledger, run_id))["t1"].attempts
        assert (failed.outcome, failed.reason) == ("failed", "no page")


async def test_a_lost_call_counts_as_repeated_where_another_branch_makes_it_and_not_where_none_is_made(
    database_url: str,
) -> None:
    async with open_ledger(database_url) as ledger:
        run_id, server = await new_run(ledger), Server()

        async def dies() -> Received:
            raise ZeroDivisionError

        async with leases.hold(ledger, run_id):
            for request in (read_of("t1"), read_of("t2", retry=1)):
                with pytest.raises(ZeroDivisionError):
                    await journal.fetch(ledger, run_id, request, dies, server.understand)
        for request in (read_of("t3"), read_of("t1")):
            async with leases.hold(ledger, run_id):
                async with ledger.transaction(run_id) as tx:
                    number = await recoveries.begin(tx, run_id)
                    await recoveries.end(tx, run_id, number, "resumed", Report())
                await server.read(ledger, run_id, request)
        async with ledger.transaction() as tx:
            second, first = await explained(tx, run_id)
        # The answer that the last worker took had been given to the one before it.
        assert (first["repeated"], second["repeated"]) == (
            [read_of("t1").operation_id(run_id)],
            [],
        )
        assert server.calls == 1


async def test_an_answer_that_was_taken_from_nobody_is_found_out(database_url: str) -> None:
    """Another operation's name is written into the attempt, or another answer is given to the one that it names."""
    async with open_ledger(database_url) as ledger:
        for forged in (
            "UPDATE ledger.attempts SET settings = settings || '{\"reused\": \"op_0\"}' WHERE settings ? 'reused'",
            "UPDATE ledger.attempts SET result_artifact = (SELECT min(artifact_id) FROM ledger.artifacts WHERE artifact_id <> result_artifact) WHERE settings ? 'reused'",
        ):
            run_id, server = await new_run(ledger), Server()
            await server.read(ledger, run_id, read_of("t1"))
            await server.read(ledger, run_id, read_of("t2"))
            await journal.call(ledger, run_id, Request("t1", "x", 1), lambda: answered("other"))
            assert await is_whole(ledger, run_id)
            await execute(ledger, forged)
            async with ledger.transaction(one_moment=True) as tx:
                checks = {check.name: check for check in await verify(tx, run_id)}
            assert not checks["journal"].ok
            assert "which did not give it" in checks["journal"].detail
