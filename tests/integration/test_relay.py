"""The relay sends each notice once, and none of what never came to be, however many relays there are and wherever they die."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from graph.relaying import RelayCounts, run_once
from graph.runtime import Runtime
from graph.sweeping import Swept, watch
from ledger import runs
from ledger.effects import Effect
from ledger.faults import FaultPoint
from tests.support.carrying import Died, DiesAt, again, age, begun, decided, outcomes, worker
from tests.support.ledgers import execute
from tests.support.nasty_webhook import NastyWebhook, Place, Way
from tests.support.runtimes import runtime_on
from tests.support.waiting import until

NOTHING = RelayCounts()


@pytest.fixture
def place() -> Iterator[Place]:
    with NastyWebhook().running() as server:
        yield server.place("notices")


@pytest.fixture
async def runtime(database_url: str, tmp_path: Path) -> AsyncIterator[Runtime]:
    async with runtime_on(database_url, tmp_path / "home", lease_seconds=3) as runtime:
        yield runtime


async def noticed(runtime: Runtime, place: Place, *, done: bool = True) -> Effect:
    """Return a notice of a run, decided by its completion; or by nothing yet."""
    target = runtime.resources.targets.open(place.address)
    effect = await decided(runtime.ledger, target, mode="notice")
    if done:
        async with runtime.ledger.transaction() as tx:
            await runs.complete(tx, effect.run_id, effect.artifact)
    return effect


@pytest.mark.parametrize(
    ("way", "counts"),
    [
        ("well", RelayCounts(confirmed=1)),
        ("redirect", RelayCounts(given_up=1)),
        ("too_many", RelayCounts(left=1)),
        ("cut_after", RelayCounts(left=1)),
    ],
)
async def test_one_look_says_what_came_of_it(
    runtime: Runtime, place: Place, way: Way, counts: RelayCounts
) -> None:
    await noticed(runtime, place)
    place.ways = [way]
    assert await run_once(runtime) == counts
    assert len(place.asked) == 1


async def test_what_is_settled_is_not_looked_at_again(runtime: Runtime, place: Place) -> None:
    await noticed(runtime, place)
    assert await run_once(runtime) == RelayCounts(confirmed=1)
    assert await run_once(runtime) == NOTHING
    assert len(place.asked) == 1


async def test_a_notice_waits_for_the_commit_of_what_it_tells_and_none_is_passed_over(
    runtime: Runtime, place: Place
) -> None:
    """The first one commits last: by then a relay has sent what was decided after it."""
    late = await noticed(runtime, place, done=False)
    assert await run_once(runtime) == NOTHING
    async with runtime.ledger.transaction() as tx:
        await runs.complete(tx, late.run_id, late.artifact)
        early = await noticed(runtime, place)
        assert await run_once(runtime) == RelayCounts(confirmed=1)
        assert set(place.effects) == {early.key}
    assert await run_once(runtime) == RelayCounts(confirmed=1)
    assert place.effects == {early.key: 1, late.key: 1}


async def test_two_relays_at_once_send_a_notice_once(
    runtime: Runtime, place: Place, database_url: str, tmp_path: Path
) -> None:
    keys = {(await noticed(runtime, place)).key for _ in range(4)}
    async with runtime_on(database_url, tmp_path / "other") as other:
        looks = list(await asyncio.gather(run_once(runtime), run_once(other)))
    # One that stood in the other's way is left to the next look.
    looks.append(await run_once(runtime))
    assert sum(look.confirmed for look in looks) == len(keys)
    assert place.effects == dict.fromkeys(keys, 1)
    assert len(place.asked) == len(keys)


async def test_what_a_relay_sent_before_it_died_is_looked_up_when_its_time_is_over(
    runtime: Runtime, place: Place, database_url: str, tmp_path: Path
) -> None:
    effect = await noticed(runtime, place)
    dying = DiesAt(FaultPoint.AFTER_SEND)
    async with runtime_on(database_url, tmp_path / "dying", dying) as doomed:
        with pytest.raises(Died):
            await run_once(doomed)
    assert await run_once(runtime) == NOTHING, "the other may still be at work"
    await age(runtime.ledger, effect, runtime.ledger.lease_seconds + 30.0)
    assert await run_once(runtime) == RelayCounts(confirmed=1)
    after = await again(runtime.ledger, effect)
    assert outcomes(after) == [("send", "started"), ("look_up", "confirmed")]
    assert place.effects == {effect.key: 1}


async def test_a_notice_to_a_target_that_is_not_set_up_here_is_left_to_another_process(
    runtime: Runtime, place: Place, database_url: str, tmp_path: Path
) -> None:
    databases = {"archive": database_url}
    async with runtime_on(database_url, tmp_path / "other", databases=databases) as other:
        target = other.resources.targets.open("postgres:reports@archive")
        effect = await decided(other.ledger, target, mode="notice")
        async with other.ledger.transaction() as tx:
            await runs.complete(tx, effect.run_id, effect.artifact)
    assert await run_once(runtime) == RelayCounts(left=1)
    assert (await again(runtime.ledger, effect)).status == "intended"


async def test_whoever_watches_for_orphans_relays_too(runtime: Runtime, place: Place) -> None:
    effect = await noticed(runtime, place)

    async def sent() -> bool:
        return (await again(runtime.ledger, effect)).status == "confirmed"

    watching = asyncio.create_task(watch(runtime, lambda _: None))
    await until(sent)
    runtime.control.request_drain("the test is over")
    await watching
    assert place.effects == {effect.key: 1}


async def test_whoever_watches_takes_up_a_run_whose_target_may_answer_by_now(
    runtime: Runtime, place: Place
) -> None:
    """Of another workflow, so that here it is only named."""
    target = runtime.resources.targets.open(place.address)
    effect = await decided(runtime.ledger, target)
    place.ways = ["too_many"]
    carrier = await worker(runtime.ledger, effect)
    await carrier.call(await begun(carrier, effect), target)
    del runtime.ledger.held[effect.run_id]
    async with runtime.ledger.transaction() as tx:
        await runs.set_status(tx, effect.run_id, "blocked", "its target asks for patience")
    await execute(runtime.ledger, "UPDATE ledger.runs SET fingerprint = 'sha256:another'")
    told: list[Swept] = []

    async def named() -> bool:
        return bool(told)

    watching = asyncio.create_task(watch(runtime, told.append))
    await until(named)
    runtime.control.request_drain("the test is over")
    await watching
    assert (told[0].run_id, told[0].became) == (effect.run_id, "left")
