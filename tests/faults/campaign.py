"""Killing a run and resuming it, and what must be true then."""

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import UUID

from ledger.db import Ledger
from ledger.faults import FaultPoint
from ledger.ids import new_run_id
from tests.support.deeds import Action
from tests.support.observed import Observed, asked, observe
from tests.support.pages import QUESTION
from tests.support.search_server import SearchServer, World
from tests.support.trials import ForkServer, Trial


@dataclass(frozen=True)
class Campaign:
    """Where runs are killed: one migrated database, one outside world that counts."""

    forks: ForkServer
    ledger: Ledger
    server: SearchServer
    database_url: str
    home: Path

    def trial(self, *, corpus: tuple[str, ...] = (), review: str = "none") -> tuple[Trial, World]:
        """Return a new run with a world of its own; a run over a corpus has no web search."""
        run_id = str(new_run_id())
        world = self.server.world(run_id)
        url = None if corpus else world.search_url
        return (
            Trial(
                "start", run_id, self.database_url, str(self.home), QUESTION, url, corpus, review
            ),
            world,
        )

    async def observed(self, trial: Trial, world: World) -> Observed:
        """Return what the run came to so far."""
        return await observe(self.ledger, UUID(trial.run_id), world)

    async def uninterrupted(self, trial: Trial, world: World) -> tuple[list[FaultPoint], Observed]:
        """Work a run without a fault; returns the fault points that it reached and what it came to."""
        ended = await self.forks.run(trial)
        assert ended.status == "completed", ended.trace
        return ended.reached, await self.observed(trial, world)

    async def killed_at(self, point: FaultPoint) -> tuple[Trial, World]:
        """Return a run that was killed at a fault point of this kind: how many come before it is not the same each time."""
        reached, _ = await self.uninterrupted(*self.trial())
        at = 1 + reached.index(point)
        for kill_at in sorted(range(1, len(reached) + 1), key=lambda number: abs(number - at)):
            trial, world = self.trial()
            ended = await self.forks.run(replace(trial, kill_at=kill_at))
            if ended.killed and ended.reached[-1] is point:
                self.server.settle()
                return trial, world
        raise AssertionError(f"no run was killed at {point}")

    async def killed_and_resumed(
        self, trial: Trial, world: World, *kills: int
    ) -> tuple[list[FaultPoint], Observed]:
        """Kill a run at the k-th point that it reaches, and each resume at the next k; then let it finish.

        Returns the points at which it was killed, with what must be true checked after each death.
        """
        points: list[FaultPoint] = []
        for number, kill_at in enumerate(kills):
            action: Action = "resume" if number else "start"
            ended = await self.forks.run(replace(trial, action=action, kill_at=kill_at))
            if not ended.killed:
                assert ended.status == "completed", ended.trace
                break
            points.append(ended.reached[-1])
        self.server.settle()
        calls, before = world.counts, await self.observed(trial, world)
        ended = await self.forks.run(replace(trial, action="resume"))
        assert ended.status == "completed", (kills, points, ended.trace)
        self.server.settle()
        after = await self.observed(trial, world)
        check_nothing_was_repeated(calls, before, world.counts, after)
        check_whole(after)
        return points, after


def check_nothing_was_repeated(
    calls_before: Counter[str], before: Observed, calls: Counter[str], after: Observed
) -> None:
    """Every call made since `before` was for an operation that had no answer then; each was made once."""
    open_then = Counter(asked(each) for each in after.operations) - before.answered
    assert calls - calls_before == open_then
    assert before.answered - calls_before == Counter()
    for task_id, task in before.ended.items():
        assert after.ended[task_id] == task, "a branch that had ended was worked again"


def check_whole(run: Observed) -> None:
    """The run's records are whole."""
    assert run.broken_entry is None
    for operation in run.operations:
        assert [each.accepted for each in operation.attempts].count(True) == 1, operation
    assert len(run.ended) == len(run.tasks)
