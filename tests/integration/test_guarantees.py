"""What each contract guarantees, row by row of the README's table: the worker dies at each point, or stands still and wakes.

The receiving side counts. Opaque is the one that may end without the effect, and then a person is asked.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TypeAlias

import httpx
import psycopg
import pytest

from ledger import settling
from ledger.contracts import Contract, ContractKind
from ledger.deliveries import Table
from ledger.effects import Effect, Settlement
from ledger.errors import IllegalTransition, LeaseLost
from ledger.faults import FaultPoint
from nodes.effects import Carrier
from nodes.targets.file import file_target
from nodes.targets.postgres import OwnTableTarget
from nodes.targets.webhook import WebhookTarget
from tests.support.carrying import (
    IMPATIENT,
    AnswersLate,
    Died,
    DiesAt,
    Receiver,
    again,
    age,
    begun,
    decided,
    outcomes,
    worker,
)
from tests.support.ledgers import execute, open_ledger
from tests.support.nasty_webhook import NastyWebhook, Place

# Longer than a busy machine stands still; tests let time pass in the ledger.
LEASE_SECONDS = 60.0
REQUEST_SECONDS = 30.0
KINDS: tuple[ContractKind, ...] = (
    "keyed",
    "queryable",
    "conditional",
    "transactional",
    "opaque",
)

Make: TypeAlias = Callable[[ContractKind], Awaitable[Receiver]]


@pytest.fixture(scope="module")
def server() -> Iterator[NastyWebhook]:
    with NastyWebhook().running() as running:
        yield running


@pytest.fixture
def place(server: NastyWebhook, request: pytest.FixtureRequest) -> Place:
    return server.place(f"p{abs(hash(request.node.nodeid))}")


@pytest.fixture
async def make(place: Place, tmp_path: Path, database_url: str) -> AsyncIterator[Make]:
    """Makes the receiver of a contract's kind."""
    async with httpx.AsyncClient(trust_env=False) as client:

        async def receiver(kind: ContractKind) -> Receiver:
            contract = Contract(kind=kind, request_seconds=REQUEST_SECONDS)
            if kind == "conditional":
                folder = tmp_path / "reports"
                folder.mkdir()

                async def files(_effect: Effect) -> int:
                    return sum(1 for _ in folder.iterdir())

                return Receiver(lambda _: file_target(f"{folder}/", contract), files)
            if kind == "transactional":
                await _create_table(database_url)
                table = Table("public", "reports")
                return Receiver(
                    lambda ledger: OwnTableTarget(table, ledger, contract),
                    lambda effect: _rows(database_url, effect),
                )

            async def posts(effect: Effect) -> int:
                return place.effects[effect.key]

            url = httpx.URL(place.address)
            return Receiver(lambda _: WebhookTarget(url, client, None, contract), posts)

        yield receiver


async def _create_table(database_url: str) -> None:
    async with open_ledger(database_url) as ledger:
        # Without a key, so that a second row would be there to be seen.
        await execute(
            ledger,
            "CREATE TABLE reports (idempotency_key text UNIQUE, run_id uuid, question text, report_artifact text,"
            " markdown text, request_digest text)",
        )


async def _rows(database_url: str, effect: Effect) -> int:
    async with await psycopg.AsyncConnection.connect(database_url) as connection:
        cursor = await connection.execute(
            "SELECT count(*) FROM reports WHERE idempotency_key = %s", [effect.key]
        )
        row = await cursor.fetchone()
    assert row is not None
    return int(row[0])


async def carried_out_by_the_next(database_url: str, receiver: Receiver, effect: Effect) -> Effect:
    """Let another worker take the run over and do what can be done."""
    async with open_ledger(database_url, "next", lease_seconds=LEASE_SECONDS) as ledger:
        carrier, target = await worker(ledger, effect), receiver.open(ledger)
        after = await carrier.carry_out(effect, target)
        if after.status == "in_doubt":
            assert after.contract.kind == "queryable"
            assert outcomes(after) == [("send", "started")], (
                "nothing is done before its time is over"
            )
            await age(ledger, effect, LEASE_SECONDS + REQUEST_SECONDS)
            after = await carrier.carry_out(effect, target)
        return after


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "point", [FaultPoint.BEFORE_SEND, FaultPoint.AFTER_SEND, FaultPoint.AFTER_OUTCOME]
)
async def test_a_worker_that_dies_anywhere_leaves_one_effect_or_a_question(
    database_url: str, make: Make, kind: ContractKind, point: FaultPoint
) -> None:
    receiver = await make(kind)
    async with open_ledger(
        database_url, "first", faults=(faults := DiesAt(point)), lease_seconds=LEASE_SECONDS
    ) as first:
        effect = await decided(first, receiver.open(first))
        carrier = await worker(first, effect)
        if kind == "transactional" and point is FaultPoint.AFTER_SEND:
            # There is no such moment: the row commits with the one that says so.
            await carrier.carry_out(effect, receiver.open(first))
            assert not faults.died
        else:
            with pytest.raises(Died):
                await carrier.carry_out(effect, receiver.open(first))
    after = await carried_out_by_the_next(database_url, receiver, effect)
    doubted = kind == "opaque" and point is not FaultPoint.AFTER_OUTCOME
    assert after.status == ("awaiting_person" if doubted else "confirmed")
    nothing = kind == "opaque" and point is FaultPoint.BEFORE_SEND
    assert await receiver.count(effect) == (0 if nothing else 1)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_worker_that_stood_still_before_its_send_sends_nothing_when_it_wakes(
    database_url: str, make: Make, kind: ContractKind
) -> None:
    """By then another has taken over, and has done what the contract allows."""
    receiver = await make(kind)
    async with open_ledger(database_url, "frozen", lease_seconds=LEASE_SECONDS) as frozen:
        effect = await decided(frozen, receiver.open(frozen))
        carrier = await worker(frozen, effect)
        recorded = await begun(carrier, effect)
        after = await carried_out_by_the_next(database_url, receiver, effect)
        counted = await receiver.count(effect)
        with pytest.raises(LeaseLost):
            await carrier.call(recorded, receiver.open(frozen))
        assert await receiver.count(effect) == counted == (0 if kind == "opaque" else 1)
        assert after.status == ("awaiting_person" if kind == "opaque" else "confirmed")
        assert outcomes(await again(frozen, effect)) == outcomes(after)


@pytest.mark.parametrize("kind", ["keyed", "queryable", "conditional", "opaque"])
async def test_a_worker_that_stood_still_before_it_recorded_the_answer_changes_nothing_when_it_wakes(
    database_url: str, make: Make, kind: ContractKind
) -> None:
    """Its answer is of no use any more: what the other worker found stands. Of a table of ours there is no such moment."""
    receiver = await make(kind)
    async with open_ledger(database_url, "frozen", lease_seconds=LEASE_SECONDS) as frozen:
        effect = await decided(frozen, receiver.open(frozen))
        carrier = await worker(frozen, effect)
        following = partial(carried_out_by_the_next, database_url, receiver, effect)
        with pytest.raises(LeaseLost):
            await carrier.carry_out(effect, AnswersLate(receiver.open(frozen), following))
        after = await again(frozen, effect)
    assert after.status == ("awaiting_person" if kind == "opaque" else "confirmed")
    assert outcomes(after)[0] == ("send", "started")
    assert await receiver.count(effect) == 1


async def test_a_worker_that_stood_still_longer_than_its_lease_sends_nothing_even_if_nobody_took_over(
    database_url: str, make: Make
) -> None:
    """Who takes over in the next moment counts on that. It is tried again from the beginning."""
    receiver = await make("queryable")
    async with open_ledger(database_url, "frozen", lease_seconds=LEASE_SECONDS) as frozen:
        effect = await decided(frozen, receiver.open(frozen))
        carrier = await worker(frozen, effect)
        recorded = await begun(carrier, effect)
        await age(frozen, effect, LEASE_SECONDS)
        after = await carrier.call(recorded, receiver.open(frozen))
        assert (after.status, outcomes(after)) == ("intended", [("send", "not_sent")])
        assert "stood still" in str(after.reason)
        assert await receiver.count(effect) == 0


async def test_a_relay_that_stood_still_sends_nothing_when_another_has_worked_its_notice(
    database_url: str, make: Make
) -> None:
    """It holds no run, so no fence stops it: the attempt that is not the newest any more does."""
    receiver = await make("keyed")
    async with (
        open_ledger(database_url, "frozen") as frozen,
        open_ledger(database_url, "next") as following,
    ):
        effect = await decided(frozen, receiver.open(frozen), mode="notice")
        recorded = await begun(Carrier(frozen, None, IMPATIENT), effect)
        after = await Carrier(following, None, IMPATIENT).carry_out(
            effect, receiver.open(following)
        )
        assert after.status == "confirmed"
        asked = await receiver.count(effect)
        with pytest.raises(IllegalTransition, match="by another"):
            await Carrier(frozen, None, IMPATIENT).call(recorded, receiver.open(frozen))
        assert await receiver.count(effect) == asked == 1


async def test_what_a_target_answers_is_kept_though_a_person_has_settled_it_meanwhile(
    database_url: str, make: Make
) -> None:
    """The person's word counts; that the target says something else can be seen beside it."""
    receiver = await make("conditional")
    said = Settlement(settled_by="ada", why="the folder was empty")
    async with open_ledger(database_url) as ledger:
        effect = await decided(ledger, receiver.open(ledger))
        await begun(await worker(ledger, effect), effect)
        following = await worker(ledger, effect)

        async def settled() -> None:
            async with ledger.transaction() as tx:
                await settling.did_not_happen(tx, await again(ledger, effect), said)

        after = await following.carry_out(effect, AnswersLate(receiver.open(ledger), settled))
        assert (after.status, after.settlement) == ("failed", said)
        assert outcomes(after) == [("send", "started"), ("send", "confirmed")]
