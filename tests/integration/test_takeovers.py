"""A takeover waits for what its predecessor has in flight, cuts off what a frozen one left open, and says what it may not."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from uuid import UUID

import psycopg
import pytest

from ledger import leases, runs
from ledger.db import Ledger
from ledger.errors import LeaseLost, TakeoverBlocked
from tests.support.ledgers import execute, lease, new_run, open_ledger, take
from tests.support.waiting import until

RUN_OUT = "UPDATE ledger.leases SET expires_at = clock_timestamp()"
# The transaction that a frozen worker left open: it has checked its fence and says no more.
OPEN = "SELECT ledger.check_fence('default', %s, %s)"


@pytest.fixture
async def one(database_url: str) -> AsyncIterator[Ledger]:
    async with open_ledger(database_url, "one") as opened:
        yield opened


@pytest.fixture
async def two(database_url: str) -> AsyncIterator[Ledger]:
    async with open_ledger(database_url, "two") as opened:
        yield opened


async def test_a_takeover_waits_for_a_write_in_flight_and_refuses_the_next(
    one: Ledger, two: Ledger
) -> None:
    """The commit of a worker that is only slow lands before the takeover, whole."""
    run_id = await new_run(one)
    async with leases.hold(one, run_id):
        async with one.transaction(run_id) as tx:
            await runs.set_phase(tx, run_id, "in time")
            await execute(two, RUN_OUT)
            taking = asyncio.create_task(take(two, run_id))
            await until(lambda: waits(one, "two"))
        assert await taking == 2
        async with two.transaction() as tx:
            assert (await runs.get(tx, run_id)).phase == "in time"
        with pytest.raises(LeaseLost, match="two"):
            await set_phase(one, run_id, "too late")


async def set_phase(ledger: Ledger, run_id: UUID, phase: str) -> None:
    async with ledger.transaction(run_id) as tx:
        await runs.set_phase(tx, run_id, phase)


async def waits(ledger: Ledger, name: str) -> bool:
    """Return whether a session of this name waits for a lock."""
    query = "SELECT FROM pg_stat_activity WHERE application_name = %s AND wait_event_type = 'Lock'"
    async with ledger.pool.connection() as connection:
        return await (await connection.execute(query, (name,))).fetchone() is not None


async def test_a_check_of_the_fence_waits_for_a_takeover_that_is_not_committed(
    one: Ledger, two: Ledger
) -> None:
    """Or it would read the fence of before, and the write behind it would land after the takeover."""
    run_id = await new_run(one)
    fence = await take(one, run_id)
    async with two.transaction() as tx:
        values = {"run_id": run_id, "owner": "two", "seconds": 30, "seen": fence}
        await tx.maybe(leases._TAKE, **values)
        async with one.pool.connection() as connection, connection.transaction():
            await connection.execute("SET LOCAL lock_timeout = 100")
            with pytest.raises(psycopg.errors.LockNotAvailable):
                await connection.execute(OPEN, (run_id, fence))


async def test_a_transaction_that_a_frozen_owner_left_open_is_cut(
    two: Ledger, database_url: str
) -> None:
    run_id = await new_run(two)
    async with await psycopg.AsyncConnection.connect(
        database_url, application_name="frozen"
    ) as left:
        async with open_ledger(database_url, "frozen") as frozen:
            fence = await take(frozen, run_id)
        await left.execute(OPEN, (run_id, fence))
        assert await take(two, run_id) == fence + 1
        with pytest.raises(psycopg.OperationalError):
            await left.execute("SELECT 1")


async def test_a_transaction_that_may_not_be_cut_is_named(two: Ledger, database_url: str) -> None:
    """The owner worked as another database user; nothing is taken, and nobody waits for ever."""
    run_id = await new_run(two)
    fence = await take(two, run_id)
    await execute(
        two,
        "CREATE ROLE lease_taker LOGIN PASSWORD 'taker'; GRANT USAGE ON SCHEMA ledger TO lease_taker;"
        "GRANT ALL ON ALL TABLES IN SCHEMA ledger TO lease_taker",
    )
    try:
        async with await psycopg.AsyncConnection.connect(
            database_url, application_name="two"
        ) as left:
            await left.execute(OPEN, (run_id, fence))
            async with open_ledger(as_user(database_url, "lease_taker", "taker"), "other") as other:
                with pytest.raises(TakeoverBlocked, match="a transaction of two stands in the way"):
                    await take(other, run_id)
        assert (await lease(two))["fence"] == fence
    finally:
        await execute(two, "DROP OWNED BY lease_taker; DROP ROLE lease_taker")


def as_user(database_url: str, user: str, password: str) -> str:
    return psycopg.conninfo.make_conninfo(database_url, user=user, password=password)


async def test_a_take_that_was_frozen_before_its_commit_is_cut_when_a_lease_would_have_run_out(
    one: Ledger, two: Ledger, database_url: str
) -> None:
    """Nobody can see whose it is, so it has the time that a lease gives."""
    run_id = await new_run(one)
    frozen = await psycopg.AsyncConnection.connect(database_url)
    await frozen.execute(
        "INSERT INTO ledger.leases (tenant, run_id, owner, fence) VALUES ('default', %s, 'frozen', 1)",
        [run_id],
    )
    assert await take(replace(two, lease_seconds=0.5), run_id) == 1
    with pytest.raises(psycopg.OperationalError):
        await frozen.execute("SELECT 1")
    await frozen.close()
