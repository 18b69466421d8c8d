"""Resuming a run with 2,000 checkpoints against one with 20: what a person waits for until the work goes on.

Both wait for the review of their report, so that a resume recovers them (every row held against its sealed history, the
newest checkpoint against its seal), finds the review undecided and ends. Measured as the command, as a person has it, and
within one process, where nothing hides what is added.
"""

import asyncio
import subprocess
from dataclasses import replace
from pathlib import Path
from statistics import median
from time import perf_counter
from uuid import UUID

import pytest

from graph.runs import resume_run
from graph.runtime import open_runtime
from ledger import tasks
from ledger.db import Ledger
from ledger.ids import new_run_id
from tests.support.commands import PERDURE
from tests.support.inline import with_inline_readers
from tests.support.open_web import LOOPBACK
from tests.support.search_server import SearchServer
from tests.support.targets import tell
from tests.support.trials import ForkServer, Trial

FEW, MANY = 2, 320
TIMES_MAX = 1.2
ROUNDS = 7
PAUSED = 3

QUESTION = "What is a tide gauge?"
_COUNTED = """
SELECT (SELECT count(*) FROM langgraph.checkpoints WHERE thread_id = %(thread)s) AS checkpoints,
       (SELECT count(*) FROM ledger.changes WHERE run_id::text = %(thread)s) AS changes
"""


async def test_a_long_run_is_resumed_as_fast_as_a_short_one(
    forks: ForkServer,
    search_server: SearchServer,
    ledger: Ledger,
    durable_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PERDURE_DATABASE_URL", durable_url)
    monkeypatch.setenv("PERDURE_HOME", str(tmp_path))
    runs = {
        count: await _paused(forks, search_server, ledger, durable_url, tmp_path, count)
        for count in (FEW, MANY)
    }
    for count, trial in runs.items():
        counted = await _counted(ledger, trial)
        print(
            f"\n{count} tasks: {counted['checkpoints']} checkpoints, {counted['changes']} changes of rows"
        )
    commands: dict[int, list[float]] = {FEW: [], MANY: []}
    for _ in range(ROUNDS):
        for count, trial in runs.items():
            began = perf_counter()
            monkeypatch.setenv("PERDURE_SEARCH_URL", str(trial.search_url))
            monkeypatch.setenv("PERDURE_PRIVATE_NETWORKS", LOOPBACK)
            ended = await asyncio.to_thread(
                subprocess.run, [PERDURE, "resume", trial.run_id], capture_output=True, check=False
            )
            commands[count].append(perf_counter() - began)
            assert ended.returncode == PAUSED, ended.stderr
    _told("`perdure resume`", commands)
    _told("within one process", {n: await _within(trial) for n, trial in runs.items()}, aimed=False)


async def _paused(
    forks: ForkServer, server: SearchServer, ledger: Ledger, url: str, home: Path, count: int
) -> Trial:
    """Return a run of so many tasks that waits for the review of its report."""
    run_id = new_run_id()
    world = server.world(str(run_id))
    trial = Trial(
        "start", str(run_id), url, str(home), QUESTION, world.search_url, review="plan,report"
    )
    assert (await forks.run(trial)).status == "paused"
    assert (await forks.run(replace(trial, action="approve"))).status == "decided"
    new = [(f"more-{number}", QUESTION, ()) for number in range(count - 1)]
    async with ledger.transaction() as tx:
        await tasks.add(tx, run_id, new, "branch")
    ended = await forks.run(replace(trial, action="resume"))
    assert ended.status == "paused", ended.trace
    return trial


async def _within(trial: Trial) -> list[float]:
    async with open_runtime(trial.settings) as opened:
        runtime, seconds = with_inline_readers(opened), list[float]()
        for _ in range(ROUNDS):
            began = perf_counter()
            assert (await resume_run(runtime, UUID(trial.run_id))).run.status == "paused"
            seconds.append(perf_counter() - began)
    return seconds


async def _counted(ledger: Ledger, trial: Trial) -> dict[str, int]:
    async with ledger.pool.connection() as connection:
        row = await (await connection.execute(_COUNTED, {"thread": trial.run_id})).fetchone()
    assert row is not None
    return row


def _told(name: str, seconds: dict[int, list[float]], *, aimed: bool = True) -> None:
    few, many = median(seconds[FEW]), median(seconds[MANY])
    print(f"{name}: {many * 1000:.0f} ms against {few * 1000:.0f} ms")
    if aimed:
        tell("resume of a long run against a short one", many / few, TIMES_MAX)
