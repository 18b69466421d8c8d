"""A run is killed at each kind of journal commit and checkpoint, and finishes as if it had not been.

The run has three branches that work at the same time, so which point is the k-th differs from run to run; what must be
true afterwards does not. Every single boundary is the campaign's (`make crash`). The figures are printed with `-s`.
"""

import asyncio
from collections import Counter
from dataclasses import replace

import pytest

from ledger.faults import FaultPoint
from tests.faults.campaign import Campaign
from tests.support.search_server import World
from tests.support.trials import Trial

# Trials under way at once: each is one process that works and one that waits.
LANES = 3


def publishing(campaign: Campaign) -> tuple[Trial, World]:
    """Return a new run that publishes to a file, so that it reaches the points of effects, too."""
    folder = campaign.home / "published"
    folder.mkdir(parents=True, exist_ok=True)
    trial, world = campaign.trial()
    return replace(trial, publish=(f"file:{folder}/",)), world


@pytest.mark.slow
async def test_a_run_that_is_killed_anywhere_finishes_as_one_that_was_not(
    campaign: Campaign,
) -> None:
    """Same findings and report; no call again that had an accepted answer; no ended branch again."""
    reached, expected = await campaign.uninterrupted(*publishing(campaign))
    assert len(expected.tasks) == 3
    assert len(expected.findings) >= 3
    killed: Counter[FaultPoint] = Counter()
    lanes = asyncio.Semaphore(LANES)

    async def killed_at(number: int) -> None:
        async with lanes:
            points, after = await campaign.killed_and_resumed(*publishing(campaign), number)
        assert after.result == expected.result, (number, points)
        killed.update(points)

    numbers: set[int] = set()
    for point in FaultPoint:
        at = [number for number, each in enumerate(reached, start=1) if each == point]
        numbers |= {at[0], at[len(at) // 2], at[-1]}
    async with asyncio.TaskGroup() as group:
        for number in sorted(numbers):
            group.create_task(killed_at(number))
    print(f"\nkilled and resumed {killed.total()} times: {dict(killed)}")
    assert len(killed) > len(FaultPoint) / 2


@pytest.mark.slow
@pytest.mark.parametrize("pair", [(9, 1), (60, 17), (120, 5)])
async def test_a_run_that_is_killed_again_while_it_is_resumed_finishes(
    campaign: Campaign, pair: tuple[int, int]
) -> None:
    """Recovery is itself killed, at points spread over both."""
    _, expected = await campaign.uninterrupted(*campaign.trial())
    points, after = await campaign.killed_and_resumed(*campaign.trial(), *pair)
    assert len(points) == len(pair)
    assert after.result == expected.result
