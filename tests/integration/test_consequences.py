"""What a run does outside when its report is written anew, when it is cancelled or forked, and when a target is gone."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from graph.errors import RunWaits
from graph.forking import fork_run
from graph.runs import resume_run, start_run
from graph.runtime import Runtime
from ledger import artifacts, effects, runs
from ledger.effects import Effect, Status
from ledger.errors import RunCancelled
from ledger.forks import Effects
from ledger.ids import new_run_id
from nodes.consequences import POLICY, REWRITTEN, intend_publications
from nodes.options import RunOptions
from nodes.targets.base import MARKDOWN
from tests.integration.test_fork import checkpoint_at
from tests.support.carrying import AnswersLate, again, begun, decided, outcomes, worker
from tests.support.nasty_webhook import NastyWebhook, Place
from tests.support.runtimes import QUESTION, options, runtime_on, write_corpus

# What differs from one look to the next.
AGES: Any = {"patience_seconds": True, "attempts": {"__all__": {"age_seconds"}}}


@pytest.fixture
def place() -> Iterator[Place]:
    with NastyWebhook().running() as server:
        yield server.place("reports")


@pytest.fixture
async def runtime(database_url: str, tmp_path: Path) -> AsyncIterator[Runtime]:
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        yield runtime


async def of_run(runtime: Runtime, run_id: Any) -> list[Effect]:
    async with runtime.ledger.transaction() as tx:
        return await effects.of_run(tx, run_id)


@pytest.mark.parametrize(("begin", "became"), [(False, "failed"), (True, "sending")])
async def test_a_report_that_was_written_anew_is_published_and_the_earlier_one_only_if_that_was_begun(
    runtime: Runtime, place: Place, *, begin: bool, became: Status
) -> None:
    ledger, opened = runtime.ledger, runtime.resources.targets
    run_id = new_run_id()
    chosen = RunOptions(publish=(place.address,)).model_dump(mode="json")
    async with ledger.transaction() as tx:
        run = await runs.create(tx, run_id, "Why?", chosen, 1, "sha256:topology")
        reports = [await artifacts.put(tx, text, MARKDOWN) for text in (b"# One\n", b"# Two\n")]
        await intend_publications(tx, opened, run, reports[0])
    (first,) = await of_run(runtime, run_id)
    if begin:
        await begun(await worker(ledger, first), first)
    async with ledger.transaction() as tx:
        decided_now = await intend_publications(tx, opened, run, reports[1])
    earlier, later = await of_run(runtime, run_id)
    assert (earlier.key, earlier.status) == (first.key, became)
    assert (earlier.settlement is not None) == (not begin)
    assert earlier.settlement is None or earlier.settlement.settled_by == REWRITTEN
    assert decided_now == {later.key: "intended"}
    assert later.artifact == reports[1]


async def test_what_happened_while_the_run_was_cancelled_is_recorded(
    runtime: Runtime, place: Place
) -> None:
    """What is outside is outside; nobody works the run any more."""
    target = runtime.resources.targets.open(place.address)
    effect = await decided(runtime.ledger, target)

    async def cancelled() -> None:
        async with runtime.ledger.transaction() as tx:
            await runs.cancel(tx, effect.run_id)

    carrier = await worker(runtime.ledger, effect)
    with pytest.raises(RunCancelled):
        await carrier.carry_out(effect, AnswersLate(target, cancelled))
    after = await again(runtime.ledger, effect)
    assert (after.status, outcomes(after)) == ("confirmed", [("send", "confirmed")])
    assert place.effects == {effect.key: 1}


async def test_nothing_is_sent_that_was_recorded_before_the_run_was_cancelled(
    runtime: Runtime, place: Place
) -> None:
    target = runtime.resources.targets.open(place.address)
    effect = await decided(runtime.ledger, target)
    carrier = await worker(runtime.ledger, effect)
    recorded = await begun(carrier, effect)
    async with runtime.ledger.transaction() as tx:
        await runs.cancel(tx, effect.run_id)
    with pytest.raises(RunCancelled):
        await carrier.call(recorded, target)
    after = await again(runtime.ledger, effect)
    assert (after.status, outcomes(after)) == ("intended", [("send", "not_sent")])
    assert "cancelled" in str(after.reason)
    assert place.asked == []


@pytest.mark.parametrize(
    ("policy", "status", "counted"),
    [("forbid", "failed", 1), ("reuse", "confirmed", 1), ("reissue", "confirmed", 2)],
)
async def test_a_fork_does_outside_what_was_chosen_when_it_was_made(
    runtime: Runtime, place: Place, tmp_path: Path, policy: Effects, status: Status, counted: int
) -> None:
    chosen = options(write_corpus(tmp_path / "garden")).model_copy(
        update={"publish": (place.address,)}
    )
    done = await start_run(runtime, QUESTION, chosen)
    origin = done.run.run_id
    (first,) = await of_run(runtime, origin)
    at = await checkpoint_at(runtime, origin, "branch_completed")
    forked = await fork_run(runtime, origin, at, policy)
    ended = await resume_run(runtime, forked.run_id)
    assert (done.run.status, ended.run.status) == ("completed", "completed")
    (effect,) = await of_run(runtime, forked.run_id)
    assert (effect.status, place.effects.total()) == (status, counted)
    match policy:
        case "forbid":
            assert effect.settlement is not None
            assert effect.settlement.settled_by == POLICY
        case "reuse":
            assert (effect.reused_from, effect.external_id) == (origin, first.external_id)
        case "reissue":
            assert effect.key != first.key
    (untouched,) = await of_run(runtime, origin)
    assert untouched.model_dump(exclude=AGES) == first.model_dump(exclude=AGES)


@pytest.mark.parametrize(
    ("address", "setting", "setup"),
    [
        (
            "mailto:ada@example.org",
            "PERDURE_SMTP_URL",
            {"smtp_url": "smtp://127.0.0.1:1", "mail_from": "perdure@example.org"},
        ),
        ("postgres:reports@archive", "PERDURE_DATABASES", {}),
    ],
)
async def test_a_run_whose_target_is_not_set_up_here_waits_and_names_the_setting(
    database_url: str, tmp_path: Path, address: str, setting: str, setup: dict[str, Any]
) -> None:
    chosen = options(write_corpus(tmp_path / "garden"), "report").model_copy(
        update={"publish": (address,)}
    )
    known = setup or {"databases": {"archive": database_url}}
    async with runtime_on(database_url, tmp_path / "home", **known) as there:
        async with there.ledger.transaction() as tx:
            await tx.connection.execute(TABLE)
        paused = await start_run(there, QUESTION, chosen)
        assert paused.run.status == "paused"
    async with runtime_on(database_url, tmp_path / "home") as here:
        with pytest.raises(RunWaits, match=setting):
            await resume_run(here, paused.run.run_id)
        async with here.ledger.transaction() as tx:
            assert (await runs.get(tx, paused.run.run_id)).status == "blocked"


TABLE = (
    "CREATE TABLE public.reports (idempotency_key text PRIMARY KEY, run_id uuid, question text, report_artifact text,"
    " markdown text, request_digest text)"
)
