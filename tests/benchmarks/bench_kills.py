"""Calls repeated after SIGKILL and resume, against the obvious LangGraph graph, in one run.

Killed at every j-th answer of the counting server: once the client is quiet (no further answer comes), and within 40 ms
of the answer, when what it brought may not be stored yet. Both read pages as the product does, in processes of their
own. A call counts as repeated when its answer had left the server before the kill and it is asked again. The floor is
what was in flight.
"""

import asyncio
import os
import signal
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from statistics import mean
from typing import Literal

from ledger.ids import new_run_id
from tests.support.pages import ten_subjects
from tests.support.search_server import SearchServer, World
from tests.support.targets import tell
from tests.support.trials import ForkServer, Trial

QUIET_SECONDS = 0.3
QUIET_EVERY = 3
#: After an answer left; the first is the moment at which the client reads it.
AT_ONCE_SECONDS = (0.0, 0.01, 0.02, 0.03, 0.04)
#: What an answer takes: as different as services are, the same for the same question in every run.
LATENCY_SECONDS = (0.1, 0.6)
#: Of each page, beside what it has to say: about 20 kB, what a small page of a manual has.
FILLER_PARAGRAPHS = 120

FILLER = tuple(
    f"Paragraph {number} of a long page speaks of other things than those that anybody asked about, at some length."
    for number in range(FILLER_PARAGRAPHS)
)

Workflow = Literal["perdure", "plain"]


@dataclass(frozen=True)
class Killing:
    """Kills at an answer, resumes, and counts."""

    forks: ForkServer
    server: SearchServer
    database_url: str
    home: Path

    async def calls(self) -> int:
        """Return how many calls a run makes that nobody kills."""
        trial, world = self.trial("perdure")
        assert (await self.forks.run(trial)).status == "completed"
        return len(world.asked)

    def trial(self, workflow: Workflow) -> tuple[Trial, World]:
        """Return a new run of ten branches with a world of its own."""
        run_id = str(new_run_id())
        world = self.server.world(run_id)
        question, pages = ten_subjects()
        world.pages = {name: (title, (*said, *FILLER)) for name, (title, said) in pages.items()}
        world.latency_seconds = latency
        trial = Trial(
            "start", run_id, self.database_url, str(self.home), question, world.search_url
        )
        return replace(trial, workflow=workflow, branches=10, own_readers=True), world

    async def repeated(
        self, workflow: Workflow, answers: int, seconds: float, *, quiet: bool
    ) -> float:
        """Kill so long after the n-th answer; returns the share of answered calls that were made again."""
        trial, world = self.trial(workflow)
        pid: list[int] = []

        def kill(answered: int) -> None:
            if answered == answers:
                asyncio.get_running_loop().call_later(seconds, _kill, pid[0])

        world.on_answer = kill
        world.answers_max = answers if quiet else None
        running = await self.forks.begin(trial)
        pid.append(running.pid)
        ended = await running.end()
        self.server.settle()
        answered = Counter(world.answered)
        asked = world.counts
        world.on_answer, world.answers_max = lambda _: None, None
        again = await self.forks.run(replace(trial, action="resume"))
        assert again.status == "completed", (ended, again.trace)
        return (answered & (world.counts - asked)).total() / answered.total()


def latency(asked: str) -> float:
    """Return what the answer to a question takes."""
    return Random(asked).uniform(*LATENCY_SECONDS)


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):  # it had finished
        os.kill(pid, signal.SIGKILL)


async def test_calls_repeated_after_a_kill(
    forks: ForkServer, search_server: SearchServer, durable_url: str, tmp_path: Path
) -> None:
    killing = Killing(forks, search_server, durable_url, tmp_path)
    answers = range(1, await killing.calls() + 1)
    quiet: dict[str, list[float]] = {"perdure": [], "plain": []}
    at_once: dict[str, list[float]] = {"perdure": [], "plain": []}
    workflows: tuple[Workflow, Workflow] = ("perdure", "plain")
    for number in answers:
        seconds = AT_ONCE_SECONDS[number % len(AT_ONCE_SECONDS)]
        for workflow in workflows:
            at_once[workflow].append(await killing.repeated(workflow, number, seconds, quiet=False))
            if number % QUIET_EVERY == 0:
                quiet[workflow].append(
                    await killing.repeated(workflow, number, QUIET_SECONDS, quiet=True)
                )
    print(
        f"\ncalls repeated after SIGKILL, share of those answered ({len(at_once['plain'])} kills each):"
    )
    for name, shares in (("once quiet", quiet), ("within 40 ms", at_once)):
        ours, theirs = shares["perdure"], shares["plain"]
        print(
            f"  killed {name}: perdure {mean(ours):.1%} (worst {max(ours):.0%}),"
            f" LangGraph, a node per call {mean(theirs):.1%} (worst {max(theirs):.0%})"
        )
    tell("repeated once quiet", max(quiet["perdure"]), 0)
    tell(
        "repeated within 40 ms, times LangGraph's mean",
        mean(at_once["perdure"]) / mean(at_once["plain"]),
        1 / 3,
    )
