"""A run that thinks with a really served model, killed in the middle of its calls and resumed, by the command line.

A model of 135 million parameters says little. That it runs within a small context, cites only what was kept, and pays for
no answer twice does not depend on how good the model is. Nothing here is skipped: what is missing fails.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from ledger import citations, runs
from ledger.ids import new_run_id
from ledger.journal import Attempt, Operation
from tests.support.commands import Ended, start
from tests.support.counted_model import Counted, counted_model
from tests.support.ledgers import open_ledger
from tests.support.model_runs import fabricated, model_calls, used
from tests.support.runtimes import QUESTION, write_corpus
from tests.support.served_model import CONTEXT, NAME, PLACES, ServedModel, served_model
from tests.support.waiting import wait_until

# Two at a time for two cores; far more than such a run needs, so that it ends whatever the model says.
BUDGETS = ("--branches", "2", "--budget", "calls=60", "--branch-budget", "calls=12")
# A busy machine reads a prompt of this context in minutes.
COMMAND_SECONDS_MAX = 1_500
#: The answers in whose middle the process is killed.
KILLED_AT = ("extract", "synthesize")
#: What every such run asks.
PROMPTS = {"plan", "queries", "extract", "assess", "synthesize"}


@dataclass(frozen=True)
class Served:
    """The model and the counter before it."""

    model: ServedModel
    counted: Counted


@pytest.fixture
def served(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    with served_model(tmp_path / "server.log") as model, counted_model(model.address) as counted:
        for name, value in {
            "DATABASE_URL": database_url,
            "HOME": str(tmp_path / "home"),
            "MODEL_BASE_URL": counted.base_url,
            "MODEL_CONTEXT": str(CONTEXT),
            "MODEL_CALLS": str(PLACES),
        }.items():
            monkeypatch.setenv(f"PERDURE_{name}", value)
        yield Served(model, counted)


def ended(*arguments: str) -> Ended:
    """Run a command to its end, in a process of its own."""
    process = start(*arguments)
    output, messages = process.communicate(timeout=COMMAND_SECONDS_MAX)
    return Ended(process.returncode, output, messages.decode())


def killed_at(counted: Counted, asked: str, *arguments: str) -> None:
    """Run a command and kill it when a part of the answer to `asked` has come."""
    counted.stopped.clear()
    counted.stop_at = asked
    process = start(*arguments)
    try:
        wait_until(lambda: counted.stopped.is_set() or process.poll() is not None)
        assert counted.stopped.is_set(), f"{asked} was never asked"
    finally:
        process.kill()
        process.communicate()


async def accepted(database_url: str, run_id: str) -> dict[str, list[Attempt]]:
    """Return the attempts of each call whose answer was accepted, by its operation."""
    async with open_ledger(database_url) as ledger:
        calls = await model_calls(ledger, UUID(run_id))
    return {each.operation_id: [*each.attempts] for each in calls if each.status == "accepted"}


def tell(
    seconds: float,
    calls: Sequence[Operation],
    spent: Mapping[str, Any],
    cited: int,
    counts: Mapping[str, float],
) -> None:
    """Print what it took."""
    failed = [
        f"{each.request['prompt']}: {attempt.reason}"
        for each in calls
        for attempt in each.attempts
        if attempt.outcome == "failed"
    ]
    print(
        f"\n{seconds:.0f} s, killed {len(KILLED_AT)} times; {len(calls)} questions, {spent['calls']} calls,"
        f" {spent['prompt_tokens']} + {spent['completion_tokens']} tokens; {cited} citations;"
        f" failed: {failed or 'none'}; the server read {counts['prompt_tokens_total']:.0f}"
        f" and wrote {counts['tokens_predicted_total']:.0f} tokens"
    )


async def test_a_served_model_is_killed_in_the_middle_of_its_answers_and_pays_for_none_twice(
    served: Served, database_url: str, tmp_path: Path
) -> None:
    corpus, run_id, began = write_corpus(tmp_path / "garden"), str(new_run_id()), time.monotonic()
    command = ["run", QUESTION, "--corpus", str(corpus), "--model", f"openai:{NAME}", *BUDGETS]
    command += ["--review", "none", "--run-id", run_id]
    kept: dict[str, list[Attempt]] = {}
    for asked in KILLED_AT:
        killed_at(served.counted, asked, *command)
        before = await accepted(database_url, run_id)
        assert kept.items() <= before.items()
        kept, command = before, ["resume", run_id]
        assert kept
    resumed = ended(*command)
    seconds = time.monotonic() - began
    assert resumed.code == 0, resumed.messages
    assert ended("verify", run_id).code == 0
    async with open_ledger(database_url) as ledger:
        async with ledger.transaction() as tx:
            run = await runs.get(tx, UUID(run_id))
            assert run.report_artifact is not None
            cited = await citations.of_report(tx, run.run_id, run.report_artifact)
        assert run.status == "completed"
        assert await fabricated(ledger, run, tmp_path / "home" / "reports") == []
        calls = await model_calls(ledger, run.run_id)
        spent = await used(ledger, run.run_id)
    assert {each.request["prompt"] for each in calls} >= PROMPTS
    # By our own record: what was accepted was not tried again. By what reached the endpoint: neither was it asked.
    assert kept.items() <= (await accepted(database_url, run_id)).items()
    assert spent["calls"] == len(served.counted.calls)
    paid = {attempt.response_id for each in kept.values() for attempt in each if attempt.accepted}
    assert served.counted.asked_after(paid) == []
    assert [call.asked for call in served.counted.calls if call.stopped] == list(KILLED_AT)
    tell(seconds, calls, spent, len(cited), served.model.counts)
