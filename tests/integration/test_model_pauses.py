"""When its model cannot be asked, a run pauses and says until when; it goes on by itself, or when a person has acted."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest

from graph.runs import resume_run, start_run
from graph.runtime import Runtime
from graph.sweeping import sweep
from ledger import runs
from ledger.errors import CredentialRefused
from ledger.ids import new_run_id
from nodes.models.courses import Patience, RunPostponed
from nodes.researchers.known import KnownResearchers
from tests.support.mind import sensible
from tests.support.model_runs import Hurried, asking, hurried, model_calls, thinking_runtime
from tests.support.moonshot.faults import Fault, FaultKind
from tests.support.moonshot.server import KEY, moonshot_server
from tests.support.runtimes import QUESTION, write_corpus

_SECONDS_LEFT = (
    "SELECT extract(epoch FROM try_again_at - clock_timestamp())::float AS left FROM ledger.runs"
)


async def standing(runtime: Runtime, run_id: UUID) -> runs.Run:
    async with runtime.ledger.transaction() as tx:
        return await runs.get(tx, run_id)


def impatient(runtime: Runtime) -> Runtime:
    """Return the runtime with no patience for an endpoint that is away: it asks once, and again at once."""
    known = runtime.resources.researchers
    assert isinstance(known, KnownResearchers)
    none = Patience(busy_seconds=0, first_wait=0, away_seconds=0)
    resources = replace(runtime.resources, researchers=replace(known, patience=none))
    return replace(runtime, resources=resources)


async def test_an_endpoint_that_is_away_for_an_hour_is_waited_for_without_a_process(
    database_url: str, tmp_path: Path
) -> None:
    given, run_id = asking(write_corpus(tmp_path / "garden")), new_run_id()
    with moonshot_server(sensible) as server:
        async with thinking_runtime(database_url, tmp_path / "home", server) as (runtime, clock):
            with server.away():
                with pytest.raises(RunPostponed, match=r"goes on later.*not before 2"):
                    await start_run(runtime, QUESTION, given, run_id)
                assert 500 < clock.now() <= 600, "it was asked again for ten minutes"
                async with runtime.ledger.pool.connection() as connection:
                    row = await (await connection.execute(_SECONDS_LEFT)).fetchone()
                assert row is not None
                assert 800 < row["left"] <= 900
                assert (await standing(runtime, run_id)).status == "blocked"
                assert await sweep(runtime) == [], "its time has not come"
                # Somebody asks earlier, in vain; now its time is now.
                with pytest.raises(RunPostponed):
                    await resume_run(impatient(runtime), run_id)
            (swept,) = await sweep(runtime)
            assert (swept.run_id, swept.became) == (run_id, "completed")
            assert (await standing(runtime, run_id)).try_again_at is None


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        (FaultKind.QUOTA, "balance or quota is used up"),
        (FaultKind.QUOTA_FORBIDDEN, "balance or quota is used up"),
        (FaultKind.FORBIDDEN, "does not permit"),
    ],
)
async def test_what_only_a_person_can_mend_is_not_tried_again(
    database_url: str, tmp_path: Path, kind: FaultKind, told: str
) -> None:
    given, run_id = asking(write_corpus(tmp_path / "garden")), new_run_id()
    with moonshot_server(sensible, [Fault(kind)]) as server:
        async with thinking_runtime(database_url, tmp_path / "home", server) as (runtime, _):
            with pytest.raises(RunPostponed, match=told):
                await start_run(runtime, QUESTION, given, run_id)
            assert len(server.calls) == 1
            stands = await standing(runtime, run_id)
            assert (stands.status, stands.try_again_at) == ("blocked", None)
            assert told in (stands.reason or "")
            assert await sweep(runtime) == []
            assert (await resume_run(runtime, run_id)).run.status == "completed"


async def test_a_limit_of_tokens_per_day_pauses_the_run_and_says_when_it_goes_on(
    database_url: str, tmp_path: Path
) -> None:
    given, run_id = asking(write_corpus(tmp_path / "garden")), new_run_id()
    schedule = [Fault(FaultKind.TOKENS_PER_DAY, retry_after_seconds=7_200)]
    with moonshot_server(sensible, schedule) as server:
        async with thinking_runtime(database_url, tmp_path / "home", server) as (runtime, clock):
            with pytest.raises(RunPostponed, match=r"tokens per day.*not before 2"):
                await start_run(runtime, QUESTION, given, run_id)
            assert clock.waits == []
            async with runtime.ledger.pool.connection() as connection:
                row = await (await connection.execute(_SECONDS_LEFT)).fetchone()
            assert row is not None
            assert 7_000 < row["left"] <= 7_200


@pytest.mark.parametrize(
    ("kinds", "waits"),
    [
        ((FaultKind.OVERLOADED, FaultKind.OVERLOADED), 2),
        ((FaultKind.CONCURRENCY, FaultKind.TOKENS_PER_MINUTE, FaultKind.SERVER_ERROR), 3),
        ((FaultKind.MALFORMED_CONTENT, FaultKind.SCHEMA_BROKEN), 0),
        ((FaultKind.LENGTH, FaultKind.LENGTH_IN_REASONING), 0),
        ((FaultKind.UNAUTHENTICATED,), 0),
    ],
)
async def test_every_try_is_an_attempt_of_one_call(
    database_url: str, tmp_path: Path, kinds: Sequence[FaultKind], waits: int
) -> None:
    given = asking(write_corpus(tmp_path / "garden"))
    with moonshot_server(sensible, [Fault(kind) for kind in kinds]) as server:
        async with thinking_runtime(database_url, tmp_path / "home", server) as (runtime, clock):
            ended = await start_run(runtime, QUESTION, given)
            first = (await model_calls(runtime.ledger, ended.run.run_id))[0]
    assert ended.run.status == "completed"
    assert [attempt.outcome for attempt in first.attempts] == ["failed"] * len(kinds) + [
        "succeeded"
    ]
    assert len(clock.waits) == waits
    assert [attempt.accepted for attempt in first.attempts][-1]


async def test_a_correction_shows_the_model_what_it_said_with_its_reasoning_unchanged(
    database_url: str, tmp_path: Path
) -> None:
    given = asking(write_corpus(tmp_path / "garden"))
    with moonshot_server(sensible, [Fault(FaultKind.SCHEMA_BROKEN)]) as server:
        async with thinking_runtime(database_url, tmp_path / "home", server) as (runtime, _):
            await start_run(runtime, QUESTION, given)
        before, after = server.calls[:2]
    assert before.outcome is not None
    assert before.outcome.answer is not None
    said = after.chat.messages[-2]
    assert said["role"] == "assistant"
    assert said["reasoning_content"] == before.outcome.answer.reasoning
    assert "cannot be used" in str(after.chat.messages[-1]["content"])


async def test_a_key_that_was_replaced_is_used_from_the_next_call_on(
    database_url: str, tmp_path: Path
) -> None:
    given, run_id = asking(write_corpus(tmp_path / "garden")), new_run_id()
    file = tmp_path / "key"
    file.write_text(f"{KEY}\n")
    with moonshot_server(sensible) as server:
        opened = thinking_runtime(database_url, tmp_path / "home", server, model_key=f"file:{file}")
        async with opened as (runtime, _):
            server.keys.clear()
            with pytest.raises(CredentialRefused, match="PERDURE_MODEL_KEY"):
                await start_run(runtime, QUESTION, given, run_id)
            assert (await standing(runtime, run_id)).status == "blocked"
            server.keys.add("sk-another")
            file.write_text("sk-another")
            assert (await resume_run(runtime, run_id)).run.status == "completed"


async def test_a_run_may_go_on_with_another_clock(database_url: str, tmp_path: Path) -> None:
    """The process that waited is gone; the one that comes knows only what is recorded."""
    given, run_id = asking(write_corpus(tmp_path / "garden")), new_run_id()
    with moonshot_server(sensible) as server:
        async with thinking_runtime(database_url, tmp_path / "home", server) as (runtime, _):
            server.schedule = lambda call, _: Fault(FaultKind.OVERLOADED) if call > 3 else None
            with pytest.raises(RunPostponed):
                await start_run(runtime, QUESTION, given, run_id)
            asked = await model_calls(runtime.ledger, run_id)
            answered = {each.operation_id for each in asked if each.status == "accepted"}
            assert answered
        server.schedule = ()
        before = len(server.calls)
        async with thinking_runtime(database_url, tmp_path / "home", server) as (runtime, _):
            fresh = hurried(runtime, Hurried())
            assert (await resume_run(fresh, run_id)).run.status == "completed"
            again = await model_calls(runtime.ledger, run_id)
    asked_again = [each for each in again if each.operation_id not in answered]
    assert len(server.calls) - before == len(asked_again), "what was answered is not asked again"


async def test_an_endpoint_that_asks_for_an_age_is_asked_again_within_a_day(
    database_url: str, tmp_path: Path
) -> None:
    given, run_id = asking(write_corpus(tmp_path / "garden")), new_run_id()
    fault = Fault(FaultKind.TOKENS_PER_DAY, retry_after_seconds=10**30)
    with moonshot_server(sensible, [fault]) as server:
        async with thinking_runtime(database_url, tmp_path / "home", server) as (runtime, _):
            with pytest.raises(RunPostponed, match=r"not before 2"):
                await start_run(runtime, QUESTION, given, run_id)
            assert (await standing(runtime, run_id)).status == "blocked"
            assert (await resume_run(runtime, run_id)).run.status == "completed"
