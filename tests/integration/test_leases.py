"""A run is held by a lease that runs out by the database's clock, and taken over from whoever gives no sign of life."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from uuid import UUID

import pytest
import time_machine

from ledger import leases, workers
from ledger.db import Ledger
from ledger.errors import LeaseLost, LedgerDamaged, LedgerError, RunDrained, RunHeld
from tests.support.ledgers import execute, lease, new_run, open_ledger, take
from tests.support.waiting import until

RUN_OUT = "UPDATE ledger.leases SET expires_at = clock_timestamp()"
CUT = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = '{}'"


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


async def worker_of(ledger: Ledger, run_id: UUID) -> str:
    async with ledger.transaction() as tx:
        return (await workers.of_runs(tx))[run_id]


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
    one: Ledger, two: Ledger
) -> None:
    """To the worker that asks it is an hour later, and then an hour earlier, than it is."""
    run_id = await new_run(one)
    right = time.time()
    async with leases.hold(two, run_id):
        with time_machine.travel(right + 3600), pytest.raises(RunHeld):
            await take(one, run_id)
        await execute(one, RUN_OUT)
        with time_machine.travel(right - 3600):
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


async def test_a_lease_row_that_is_deleted_is_damage_and_its_fence_is_not_forgotten(
    one: Ledger, two: Ledger
) -> None:
    run_id = await new_run(one)
    async with leases.hold(one, run_id), one.transaction(run_id) as tx:
        await tx.connection.execute(
            "INSERT INTO ledger.checkpoint_records VALUES ('default', %s, '', 'c', NULL, 1, 1, '', '', '', 1, '{}', 7)",
            (run_id,),
        )
    await execute(one, "DELETE FROM ledger.leases")
    with pytest.raises(LedgerDamaged, match="no seal"):
        await take(two, run_id)
    async with two.pool.connection() as connection:
        found = await connection.execute("SELECT ledger.newest_fence('default', %s)", [run_id])
        assert await found.fetchone() == {"newest_fence": 7}


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
