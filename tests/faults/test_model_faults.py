"""However the endpoint of a model fails, at whichever call: the run ends as one that it served well, and pays for no answer twice.

The scripted server plays every kind of failure that is documented, at every call of a run. Some cases in the suite, all of them
with `make models`.
"""

import os
import sys
from pathlib import Path

import pytest

from graph.runtime import Runtime
from ledger.ids import new_run_id
from nodes.options import RunOptions
from tests.support.leaks import tables_with
from tests.support.mind import sensible
from tests.support.model_runs import (
    asking,
    fabricated,
    model_calls,
    thinking_runtime,
    used,
    worked_to_its_end,
)
from tests.support.moonshot.faults import Fault, FaultKind
from tests.support.moonshot.server import KEY, MoonshotServer, moonshot_server
from tests.support.runtimes import write_corpus

WHOLE = bool(os.environ.get("PERDURE_TEST_WHOLE"))
# Calls of a run that nothing fails: its plan, three branches, its report.
CALLS = 16
# No divisor of the number of kinds, so that each kind comes at early and at late calls.
EVERY = 1 if WHOLE else 17
AT_ONE_SERVER = 27
# How long a stream may be silent here: longer than a busy machine takes to pass on what was sent.
IDLE_SECONDS = 10.0
# What a server that fails does not tell, so that only it knows what it cost.
UNTOLD = frozenset(
    {
        FaultKind.OVERLOADED_IN_STREAM,
        FaultKind.CUT_BEFORE_ANSWER,
        FaultKind.CUT_IN_STREAM,
        FaultKind.ENDED_IN_STREAM,
        FaultKind.SILENT,
        FaultKind.BODY_NOT_JSON,
        FaultKind.LINE_NOT_JSON,
        FaultKind.LATE_DUPLICATE,
    }
)
CASES = [(kind, call) for call in range(CALLS) for kind in FaultKind][::EVERY]


async def problems(
    runtime: Runtime, server: MoonshotServer, options: RunOptions, kind: FaultKind, at: int
) -> list[str]:
    """Work a run to its end with one failure in it, and return what is wrong with it."""
    before, billed_before = len(server.calls), server.log.billed_tokens
    numbered = sum(each.duplicate_of is None for each in server.calls)
    server.schedule = lambda call, _: Fault(kind) if call - numbered == at else None
    run, pauses = await worked_to_its_end(runtime, options, new_run_id())
    if run.status != "completed":
        return [f"ended {run.status}: {run.reason}"]
    asked = await model_calls(runtime.ledger, run.run_id)
    wrong = [
        f"{each.request} has more than one answer that stands"
        for each in asked
        if sum(attempt.accepted for attempt in each.attempts) > 1
    ]
    attempts = sum(len(each.attempts) for each in asked)
    came = sum(each.duplicate_of is None for each in server.calls[before:])
    # A branch that is in the middle of a call when another has to pause the run may not have made it, and does not learn
    # what it costs.
    broken_off = bool(pauses)
    if attempts < came or (not broken_off and attempts != came):
        wrong.append(f"{attempts} attempts are recorded, {came} calls came")
    spent = await used(runtime.ledger, run.run_id)
    tokens = spent["prompt_tokens"] + spent["completion_tokens"]
    billed = server.log.billed_tokens - billed_before
    if tokens > billed or (kind not in UNTOLD and not broken_off and tokens != billed):
        wrong.append(f"{tokens} tokens are recorded, {billed} were billed")
    wrong += await fabricated(runtime.ledger, run, runtime.resources.reports)
    if any(KEY in pause for pause in pauses):
        wrong.append("a pause tells the key")
    return wrong


@pytest.mark.slow
async def test_a_run_outlives_every_failure_of_its_endpoint_at_every_call(
    database_url: str, tmp_path: Path
) -> None:
    options = asking(write_corpus(tmp_path / "garden"))
    found: dict[str, list[str]] = {}
    calls = 0
    # Each server looks through all that reached it at every call, so no server is asked too often.
    for first in range(0, len(CASES), AT_ONE_SERVER):
        with moonshot_server(sensible) as server:
            opened = thinking_runtime(
                database_url, tmp_path / "home", server, model_idle_seconds=IDLE_SECONDS
            )
            async with opened as (runtime, _):
                for kind, call in CASES[first : first + AT_ONE_SERVER]:
                    if wrong := await problems(runtime, server, options, kind, call):
                        found[f"{kind} at call {call}"] = wrong
                secrets = await tables_with(runtime.ledger, KEY)
        calls += len(server.calls)
        print(f"{first} of {len(CASES)} schedules, {len(found)} wrong", file=sys.stderr, flush=True)
        assert secrets == []
    print(f"{len(CASES)} schedules, {calls} calls, {len(found)} wrong")
    assert found == {}
