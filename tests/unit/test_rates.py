"""Our own limits of calls and tokens per minute, by a clock that only waiting moves."""

import asyncio
from random import Random

import pytest

from nodes.models.base import Usage
from nodes.models.rates import Limits, Rate, Taken
from tests.support.model_runs import Hurried

MINUTE = 60


def most(taken: list[Taken], *, tokens: bool) -> int:
    """Return the most calls, or tokens, that any 60 seconds hold, both ends included."""
    return max(
        sum(each.tokens if tokens else 1 for each in taken if first.at <= each.at <= first.at + MINUTE)
        for first in taken
    )  # fmt: skip


@pytest.mark.parametrize("limit", [1, 3, 7])
async def test_no_minute_holds_more_calls_than_its_limit(limit: int) -> None:
    rate, clock, random = Rate(Limits(calls=limit)), Hurried(), Random(limit)
    taken: list[Taken] = []
    for _ in range(100):
        # Bursts, and rests that a bucket would fill in.
        await clock.sleep(random.choice([0, 0, 0, 0.1, 7, 130]))
        taken.append(await rate.take(10, clock))
    assert most(taken, tokens=False) == limit


async def test_no_minute_holds_more_tokens_than_its_limit() -> None:
    rate, clock, random = Rate(Limits(tokens=1_000)), Hurried(), Random(5)
    taken: list[Taken] = []
    for _ in range(200):
        call = await rate.take(random.randrange(1, 300), clock)
        # The answer took some time, and less of its room than it might have.
        await clock.sleep(random.choice([0, 0.5, 20]))
        call.cost(Usage(prompt_tokens=max(1, call.tokens // 2)))
        taken.append(call)
    assert 700 < most(taken, tokens=True) <= 1_000


async def test_what_a_call_used_counts_in_place_of_its_estimate() -> None:
    rate, clock = Rate(Limits(tokens=100)), Hurried()
    (await rate.take(90, clock)).cost(Usage(prompt_tokens=20, completion_tokens=10))
    await rate.take(70, clock)
    assert clock.now() == 0
    other, clock = Rate(Limits(tokens=100)), Hurried()
    (await other.take(10, clock)).cost(Usage(prompt_tokens=100))
    await other.take(10, clock)
    assert clock.now() > MINUTE
    # A call that failed, or of which nothing is told, has cost what it was taken for.
    untold, clock = Rate(Limits(tokens=100)), Hurried()
    (await untold.take(95, clock)).cost(Usage())
    await untold.take(10, clock)
    assert clock.now() > MINUTE


async def test_a_call_that_is_larger_than_the_limit_is_made_alone() -> None:
    rate, clock = Rate(Limits(tokens=100)), Hurried()
    taken = [await rate.take(tokens, clock) for tokens in (500, 10, 500, 10)]
    assert [each.at // MINUTE for each in taken] == [0, 1, 2, 3]


async def test_those_who_wait_go_in_the_order_in_which_they_came() -> None:
    rate, clock, went = Rate(Limits(calls=2, tokens=100)), Hurried(), list[int]()

    async def call(number: int, tokens: int) -> None:
        await rate.take(tokens, clock)
        went.append(number)

    await asyncio.gather(*[call(at, tokens) for at, tokens in enumerate([60, 90, 5, 5, 5, 90])])
    assert went == [0, 1, 2, 3, 4, 5]


async def test_without_limits_nobody_waits() -> None:
    rate, clock = Rate(), Hurried()
    for _ in range(50):
        await rate.take(1_000_000, clock)
    assert clock.waits == []
