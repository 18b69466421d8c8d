"""A run is held by a lease that runs out by the database's clock, and taken over from whoever gives no sign of life."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from uuid import UUID

import psycopg
import pytest

from ledger import leases, runs, workers
from ledger.db import Ledger
from ledger.errors import LeaseLost, LedgerError, RunDrained, RunHeld, TakeoverBlocked
from tests.support.ledgers import new_run, open_ledger
from tests.support.waiting import until

RUN_OUT = "UPDATE ledger.leases SET expires_at = clock_timestamp()"
CUT = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = '{}'"
LEASE = "SELECT *, expires_at > clock_timestamp() AS runs FROM ledger.leases"
# The transaction that a frozen worker left open: it has checked its fence and says no more.
OPEN = "SELECT ledger.check_fence('default', %s, %s)"


@pytest.fixture
async def quick(database_url: str) -> AsyncIterator[Ledger]:
    """A worker whose lease is short, and which renews it three times a second."""
    async with open_ledger(database_url, "quick", lease_seconds=1) as opened:
        yield opened


@pytest.fixture
async def one(database_url: str) -> AsyncIterator[Ledger]:
    async with open_ledger(database_url, "one") as opened:
        yield opened


@pytest.fixture
async def two(database_url: str) -> AsyncIterator[Ledger]:
    async with open_ledger(database_url, "two") as opened:
        yield opened


async def execute(ledger: Ledger, statement: str) -> None:
    async with ledger.pool.connection() as connection:
        await connection.execute(statement.encode())


async def lease(ledger: Ledger) -> psycopg.rows.DictRow:
    async with ledger.pool.connection() as connection:
        row = await (await connection.execute(LEASE)).fetchone()
    assert row is not None
    return row


async def worker_of(ledger: Ledger, run_id: UUID) -> str:
    async with ledger.transaction() as tx:
        return (await workers.of_runs(tx))[run_id]


async def take(ledger: Ledger, run_id: UUID) -> int:
    async with leases.hold(ledger, run_id) as fence:
        return fence


async def test_a_lease_is_renewed_for_as_long_as_its_owner_works(
    quick: Ledger, two: Ledger
) -> None:
    run_id = await new_run(two)
    async with leases.hold(quick, run_id):
        first = await lease(two)
        # Longer than the lease, by the clock that counts.
        while (now := await lease(two))["renewed_at"] < first["expires_at"]:
            with pytest.raises(RunHeld):
                await take(two, run_id)
        assert now["acquired_at"] == first["acquired_at"]
        assert now["runs"]


async def test_who_is_refused_learns_who_has_the_run_since_when_and_for_how_long(
    one: Ledger, two: Ledger
) -> None:
    run_id = await new_run(one)
    async with leases.hold(one, run_id):
        with pytest.raises(RunHeld) as refused:
            await take(two, run_id)
        assert refused.value.owner == "one"
        assert str(refused.value).startswith(f"run {run_id} is being worked by one since 20")
        assert "whose lease runs out at 20" in str(refused.value)


async def test_a_lease_runs_out_by_the_database_and_not_by_the_clock_of_a_worker(
    one: Ledger, two: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the worker that asks it is an hour later, and then an hour earlier, than it is."""
    run_id = await new_run(one)
    right = time.time
    async with leases.hold(two, run_id):
        monkeypatch.setattr(time, "time", lambda: right() + 3600)
        with pytest.raises(RunHeld):
            await take(one, run_id)
        monkeypatch.setattr(time, "time", lambda: right() - 3600)
        await execute(one, RUN_OUT)
        assert await take(one, run_id) == 2


async def test_a_taken_over_owner_is_stopped_though_it_writes_nothing(
    quick: Ledger, two: Ledger
) -> None:
    run_id = await new_run(two)

    async def frozen() -> None:
        async with leases.hold(quick, run_id):
            await execute(two, "UPDATE ledger.leases SET fence = fence + 1, owner = 'two'")
            await asyncio.Event().wait()

    with pytest.raises(LeaseLost, match="two"):
        await frozen()
    current = asyncio.current_task()
    assert current is not None
    assert not current.cancelling()
    assert run_id not in quick.held


async def test_the_end_of_a_frozen_owner_is_not_taken_for_that_of_its_successor(
    one: Ledger, two: Ledger, database_url: str
) -> None:
    """Nor does the frozen one, while it is still connected, pass for the successor's life."""
    run_id = await new_run(one)
    async with open_ledger(database_url, "three") as three, leases.hold(one, run_id):
        await execute(two, RUN_OUT)
        async with leases.hold(two, run_id):
            await execute(three, CUT.format("one"))
            with pytest.raises(RunHeld, match="two"):
                await take(three, run_id)
            await execute(three, CUT.format("two"))
            assert await take(three, run_id) == 3


async def test_an_owner_whose_connection_was_cut_comes_back_with_the_same_fence(
    quick: Ledger, two: Ledger
) -> None:
    run_id = await new_run(two)
    async with leases.hold(quick, run_id) as fence:
        await execute(two, CUT.format("quick"))
        await until(lambda: worker_is(two, run_id, "working"))
        assert (await lease(two))["fence"] == fence
        with pytest.raises(RunHeld):
            await take(two, run_id)


async def worker_is(ledger: Ledger, run_id: UUID, expected: str) -> bool:
    return await worker_of(ledger, run_id) == expected


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
        "CREATE ROLE lease_taker LOGIN; GRANT USAGE ON SCHEMA ledger TO lease_taker;"
        "GRANT ALL ON ALL TABLES IN SCHEMA ledger TO lease_taker",
    )
    try:
        async with await psycopg.AsyncConnection.connect(
            database_url, application_name="two"
        ) as left:
            await left.execute(OPEN, (run_id, fence))
            async with open_ledger(as_user(database_url, "lease_taker"), "other") as other:
                with pytest.raises(TakeoverBlocked, match="a transaction of two stands in the way"):
                    await take(other, run_id)
        assert (await lease(two))["fence"] == fence
    finally:
        await execute(two, "DROP OWNED BY lease_taker; DROP ROLE lease_taker")


def as_user(database_url: str, user: str) -> str:
    return psycopg.conninfo.make_conninfo(database_url, user=user)


async def test_a_lease_row_that_is_deleted_does_not_begin_the_fences_anew(
    one: Ledger, two: Ledger
) -> None:
    run_id = await new_run(one)
    async with leases.hold(one, run_id), one.transaction(run_id) as tx:
        await tx.connection.execute(
            "INSERT INTO ledger.checkpoint_records VALUES ('default', %s, '', 'c', NULL, 1, 1, '', '', '', 1, '{}', 7)",
            (run_id,),
        )
    await execute(one, "DELETE FROM ledger.leases")
    assert await take(two, run_id) == 8


async def test_a_process_does_not_take_its_own_run_over(one: Ledger) -> None:
    """What it still has under way would write under the new fence."""
    run_id = await new_run(one)
    async with leases.hold(one, run_id):
        await execute(one, RUN_OUT)
        with pytest.raises(RunHeld, match="one"):
            await take(one, run_id)


@pytest.mark.parametrize(
    ("stopped_by", "worker"),
    [
        (RunDrained(UUID(int=1)), "drained"),
        (asyncio.CancelledError(), "interrupted"),
        (LedgerError("a defect"), "none"),
        (None, "none"),
    ],
    ids=["told to end", "cancelled", "failed", "ended"],
)
async def test_a_run_that_is_let_go_of_says_why_and_is_nobodys_orphan(
    two: Ledger, stopped_by: BaseException | None, worker: str
) -> None:
    run_id = await new_run(two)
    with suppress(LedgerError, asyncio.CancelledError):
        async with leases.hold(two, run_id):
            assert await worker_of(two, run_id) == "working"
            if stopped_by:
                raise stopped_by
    assert await worker_of(two, run_id) == worker
    async with two.transaction() as tx:
        assert await workers.orphans(tx, patient=False) == []
    assert await take(two, run_id) == 2


async def test_a_patient_sweeper_gives_a_cut_connection_half_a_lease_to_come_back(
    two: Ledger,
) -> None:
    run_id = await new_run(two)
    await take(two, run_id)
    await execute(two, "UPDATE ledger.leases SET released_at = NULL, released_as = NULL")
    for share_left, patient, found in (
        (0.6, False, 1),
        (0.6, True, 0),
        (0.4, True, 1),
        (-1, True, 1),
    ):
        await execute(
            two,
            "UPDATE ledger.leases SET expires_at = clock_timestamp() + interval '1 hour' * "
            f"({share_left}), renewed_at = clock_timestamp() - interval '1 hour' * (1 - ({share_left}))",
        )
        async with two.transaction() as tx:
            assert len(await workers.orphans(tx, patient=patient)) == found
