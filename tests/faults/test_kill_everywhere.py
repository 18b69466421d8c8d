"""A run is killed at every journal commit and every checkpoint, and finishes as if it had not been.

SQLite's method: fail the k-th operation for every k. The run has three branches that work at the same time, so which
point is the k-th differs from run to run; what must be true afterwards does not. The figures are printed with `-s`.
"""

import asyncio
from collections import Counter

import pytest

from ledger.faults import FaultPoint
from tests.faults.campaign import Campaign

# Trials under way at once: each is one process that works and one that waits.
LANES = 3


@pytest.mark.slow
async def test_a_run_that_is_killed_anywhere_finishes_as_one_that_was_not(
    campaign: Campaign,
) -> None:
    """Same findings and report; no call again that had an accepted answer; no ended branch again."""
    reached, expected = await campaign.uninterrupted(*campaign.trial())
    assert len(expected.tasks) == 3
    assert len(expected.findings) >= 3
    killed: Counter[FaultPoint] = Counter()
    lanes = asyncio.Semaphore(LANES)

    async def killed_at(number: int) -> None:
        async with lanes:
            points, after = await campaign.killed_and_resumed(*campaign.trial(), number)
        assert after.result == expected.result, (number, points)
        killed.update(points)

    async with asyncio.TaskGroup() as group:
        for number in range(1, len(reached) + 1):
            group.create_task(killed_at(number))
    print(f"\nkilled and resumed {killed.total()} times: {dict(killed)}")
    assert set(killed) == set(FaultPoint)


@pytest.mark.slow
@pytest.mark.parametrize(
    "pair", [(9, 1), (25, 2), (40, 40), (60, 17), (80, 9), (100, 30), (120, 5), (150, 8)]
)
async def test_a_run_that_is_killed_again_while_it_is_resumed_finishes(
    campaign: Campaign, pair: tuple[int, int]
) -> None:
    """Recovery is itself killed, at points spread over both."""
    _, expected = await campaign.uninterrupted(*campaign.trial())
    points, after = await campaign.killed_and_resumed(*campaign.trial(), *pair)
    assert len(points) == len(pair)
    assert after.result == expected.result
