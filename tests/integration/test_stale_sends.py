"""Whoever was frozen between the record of an attempt and its call, and wakes, sends nothing that another may have sent."""

from collections.abc import AsyncIterator
from pathlib import Path
from uuid import UUID

import pytest

from ledger import artifacts, effects, leases, runs
from ledger.db import Ledger
from ledger.effects import Effect
from ledger.errors import IllegalTransition, LeaseLost, RunCancelled
from nodes.consequences import intent_of
from nodes.effects import Begun, Carrier, publication_of
from nodes.targets.base import MARKDOWN
from nodes.targets.file import FileTarget
from tests.support.ledgers import execute, new_run, open_ledger

_EXPIRED = "UPDATE ledger.leases SET expires_at = clock_timestamp() - interval '1 hour'"


@pytest.fixture
async def ledger(database_url: str) -> AsyncIterator[Ledger]:
    """The ledger of the worker that is frozen."""
    async with open_ledger(database_url, "frozen") as opened:
        yield opened


@pytest.fixture
def target(tmp_path: Path) -> FileTarget:
    """A file: it is there if, and only if, something was sent."""
    return FileTarget(tmp_path / "report.md", is_folder=False)


async def intended(ledger: Ledger, target: FileTarget) -> Effect:
    run_id = await new_run(ledger)
    async with ledger.transaction() as tx:
        artifact = await artifacts.put(tx, b"# Report\n", MARKDOWN)
        run = await runs.get(tx, run_id)
        publication = publication_of(run, artifact, b"# Report\n", MARKDOWN)
        intent = intent_of(target, publication, "publish", "publication")
        return await effects.get(tx, run_id, await effects.intend(tx, run_id, intent))


async def begun(ledger: Ledger, effect: Effect, run_id: UUID | None) -> tuple[Carrier, Begun]:
    """Record an attempt, and stand still before the call."""
    carrier = Carrier(ledger, run_id)
    async with ledger.transaction(run_id) as tx:
        found = await carrier.begin(tx, effect)
    assert found is not None
    return carrier, found


async def status(ledger: Ledger, effect: Effect) -> str:
    async with ledger.transaction() as tx:
        return (await effects.get(tx, effect.run_id, effect.key)).status


async def test_a_worker_that_was_taken_over_before_its_call_sends_nothing(
    ledger: Ledger, database_url: str, target: FileTarget
) -> None:
    effect = await intended(ledger, target)

    async def woken() -> None:
        async with leases.hold(ledger, effect.run_id):
            carrier, attempt = await begun(ledger, effect, effect.run_id)
            await execute(ledger, _EXPIRED)
            async with (
                open_ledger(database_url, "other") as other,
                leases.hold(other, effect.run_id),
            ):
                await carrier.call(attempt, target)

    with pytest.raises(LeaseLost):
        await woken()
    assert not target.path.exists()


async def test_a_relay_whose_notice_another_has_begun_meanwhile_sends_nothing(
    ledger: Ledger, database_url: str, target: FileTarget
) -> None:
    effect = await intended(ledger, target)
    carrier, attempt = await begun(ledger, effect, None)
    async with open_ledger(database_url, "other") as other:
        async with other.transaction() as tx:
            again = await effects.get(tx, effect.run_id, effect.key)
        await begun(other, again, None)
        with pytest.raises(IllegalTransition):
            await carrier.call(attempt, target)
    assert not target.path.exists()


async def test_who_stood_still_for_longer_than_a_lease_puts_back_what_it_was_to_send(
    database_url: str, target: FileTarget
) -> None:
    async with open_ledger(database_url, "slow", lease_seconds=0.0) as slow:
        effect = await intended(slow, target)
        carrier, attempt = await begun(slow, effect, None)
        after = await carrier.call(attempt, target)
    assert (after.status, [each.outcome for each in after.attempts]) == ("intended", ["not_sent"])
    assert not target.path.exists()


async def test_what_is_cancelled_before_its_call_is_not_sent_and_says_so(
    ledger: Ledger, target: FileTarget
) -> None:
    effect = await intended(ledger, target)
    async with leases.hold(ledger, effect.run_id):
        carrier, attempt = await begun(ledger, effect, effect.run_id)
        async with ledger.transaction() as tx:
            await runs.cancel(tx, effect.run_id)
        with pytest.raises(RunCancelled):
            await carrier.call(attempt, target)
    assert await status(ledger, effect) == "intended"
    assert not target.path.exists()
