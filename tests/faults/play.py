"""Plays one case: a scenario, harmed at one boundary or at two, and what is wrong afterwards."""

import asyncio
import os
import signal
from collections.abc import Awaitable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import TypeVar
from uuid import UUID

import psutil

from tests.faults.cases import Case, Harm, Played
from tests.faults.consequences import problems_of
from tests.faults.gate import Held, Trap
from tests.faults.lane import Lane
from tests.faults.oracle import Facts, Snapshot, compared, repeated
from tests.faults.proxy import Link
from tests.faults.scripts import Step
from tests.support.trials import Ended, Trial

T = TypeVar("T")
# What takes as long as this, on however slow a machine, never ends.
SECONDS_MAX = 120
# A step is done again after each harm; one time more is for what the first harm makes fail by itself.
TRIES_MAX = 2


class Hung(Exception):
    """Something that has to end did not."""


@dataclass
class Sleeper:
    """A process that was frozen at a boundary, and what it left there."""

    pid: int
    held: Held
    end: "asyncio.Task[Ended]"
    #: Whether it had taken the run: who had not may take it when it wakes, and finds that it is finished.
    worked: bool
    #: Of the run and of its forks.
    fences: dict[UUID, int]


@dataclass
class Play:
    """One case under way on a lane."""

    lane: Lane
    case: Case
    expected: Facts | None
    trial: Trial = field(init=False)
    problems: list[str] = field(default_factory=list[str])
    snapshots: list[Snapshot] = field(default_factory=list[Snapshot])
    before: list[str] = field(default_factory=list[str])
    harmed: int = 0
    #: For each process at work, where it is told that it was frozen.
    freezing: dict[int, "asyncio.Future[Held]"] = field(
        default_factory=dict[int, "asyncio.Future[Held]"]
    )
    sleeper: Sleeper | None = None
    woke: str | None = None

    def __post_init__(self) -> None:
        self.trial, self.world = self.lane.new_run(self.case.scenario, self.case.bug)

    @property
    def run_id(self) -> UUID:
        """The run that is played."""
        return UUID(self.trial.run_id)

    async def play(self) -> Played:
        """Play the script to its end, wake who was frozen, and judge."""
        began, gate = monotonic(), self.lane.gate
        gate.traps.clear()
        gate.count_anew()
        gate.begun.clear()
        self._set_trap(0)
        try:
            for step in self.case.scenario.steps:
                await self._until_done(step)
            await self._wake()
        except Hung as hung:
            self.problems.append(f"hung: {hung}")
        finally:
            self._leave_nobody_frozen()
        reached = gate.count_anew()
        gate.traps.clear()
        reports = Path(self.trial.home) / "reports"
        facts = await self.lane.oracle.facts(self.run_id, self.world, reports, self.lane.published)
        if facts is None:
            self.problems.append("the run is not recorded")
        else:
            self.problems += facts.problems
            self.problems += repeated(facts, self.snapshots, self.world.counts)
            if self.expected is not None:
                self.problems += compared(self.expected, facts)
        before, after = (self.before, reached) if self.harmed else (reached, [])
        seconds = monotonic() - began
        return Played(
            self.case,
            facts,
            before,
            after,
            self.problems,
            seconds,
            self.harmed,
            self.woke,
            dict(gate.begun),
        )

    def _leave_nobody_frozen(self) -> None:
        if self.sleeper is not None and not self.sleeper.end.done():
            os.kill(self.sleeper.pid, signal.SIGKILL)

    def _set_trap(self, number: int) -> None:
        if number < len(self.case.harms):
            harm = self.case.harms[number]
            self.lane.gate.traps.append(
                Trap(harm.trapped, harm.when, lambda held: self._harm(harm, held))
            )

    async def _until_done(self, step: Step) -> None:
        """Do a step, again where it was harmed, until the run stands where it should."""
        if step.do == "restart":
            await self.lane.restart()
            return
        if step.dies_at is not None:
            self.lane.gate.traps.append(Trap(step.dies_at, "before", self._kill))
        if (at := step.at) is not None and (meanwhile := step.meanwhile) is not None:
            self.lane.gate.traps.append(
                Trap(at, "before", lambda held: self._meanwhile(meanwhile, held))
            )
        tries = TRIES_MAX + len(self.case.harms) if self.case.harms or step.dies_at else 1
        told = ""
        until = monotonic() + SECONDS_MAX
        while tries > 0 and monotonic() < until:
            ended = await self._once(step)
            if ended is not None and ended.status == step.ends:
                return
            if ended is not None and ended.status == "left":
                # What is to be sent is left for later.
                continue
            tries -= 1
            if ended is not None and ended.status == "blocked" and await self._settled_by_person():
                tries += 1
            if ended is not None and not ended.killed:
                told = f": {ended.status or ''} {ended.trace}"
                if ended.error and ended.code is None:
                    break
        raise Hung(f"{step.do} does not come to {step.ends}{told}")

    async def _once(self, step: Step) -> Ended | None:
        """Let one process do a step; returns None if it was frozen."""
        assert step.do != "restart"
        trial = replace(self.trial, action=step.do, decision=dict(step.decision))
        began = len(self.lane.gate.reached)
        running = await self.lane.forks.begin(trial)
        self.lane.at_work.append(running.pid)
        frozen = self.freezing[running.pid] = asyncio.get_running_loop().create_future()
        end = asyncio.create_task(running.end())
        try:
            await asyncio.wait(
                {end, frozen}, timeout=SECONDS_MAX, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            self.lane.at_work.remove(running.pid)
        if frozen.done():
            worked = any("leases" in label for label in self.before[began:])
            fences = await self.lane.oracle.fences(self.run_id)
            self.sleeper = Sleeper(running.pid, frozen.result(), end, worked, fences)
            return None
        if not end.done():
            running.kill()
            raise Hung(f"{step.do} does not end")
        await self._settled(running.pid)
        if end.result().killed:
            await self.lane.lease_runs_out(self.trial)
        return end.result()

    async def _settled_by_person(self) -> bool:
        """Let a person settle what waits for one, by what was carried out; returns whether anything did."""
        await self.lane.outside.over()
        found = await self.lane.oracle.consequences.of(self.run_id, self.world.taken)
        waiting = [each for each in found if each.effect.status == "awaiting_person"]
        told = problems_of(found, self.world.taken, self.lane.published, done=False)
        self.problems += [f"when a person was asked: {each}" for each in told]
        if waiting:
            happened = [each.effect.key for each in waiting if each.times]
            await self._once(Step("settle", "settled", {"happened": happened}))
        return bool(waiting)

    async def _settled(self, pid: int) -> None:
        """Wait until nothing of a dead process is left."""
        while acting := self.lane.gate.acting_on(pid):
            await in_time(asyncio.gather(*acting), "what is done at a boundary")
        await in_time(self.lane.proxy.ended(pid), "the database's end of a session")

    async def _harm(self, harm: Harm, held: Held) -> None:
        if not self.harmed:
            self.before = self.lane.gate.count_anew()
        self.harmed += 1
        self._set_trap(self.harmed)
        self.snapshots.append(await self.lane.oracle.snapshot(self.run_id, self.world))
        match harm.action:
            case "kill_before" | "kill_after":
                await self._kill(held)
            case "cut_before" | "cut_after":
                for link in self.lane.proxy.of(held.pid):
                    link.drop()
                held.drop()
            case "stop_before" | "stop_after":
                await self.lane.restart()
                # A call to somebody else goes on meanwhile.
                held.drop() if isinstance(held, Link) else held.let_go()
            case "freeze" | "freeze_after":
                await self._freeze(held)

    async def _kill(self, held: Held) -> None:
        with suppress(ProcessLookupError):  # a branch beside it was faster
            os.kill(held.pid, signal.SIGKILL)
        held.drop()

    async def _meanwhile(self, step: Step, held: Held) -> None:
        try:
            await self._until_done(step)
        finally:
            held.let_go()

    async def _freeze(self, held: Held) -> None:
        """Stop a process for longer than its lease lasts; what is in its successor's way is the successor's to end."""
        os.kill(held.pid, signal.SIGSTOP)
        await in_time(_stopped(held.pid), "a process that is to be frozen")
        await self.lane.lease_runs_out(self.trial)
        self.freezing[held.pid].set_result(held)

    async def _wake(self) -> None:
        """Let the frozen process go on after others have finished: it must change nothing.

        A call that it had recorded it may still make; one for each record is what is counted in the end.
        """
        if (sleeper := self.sleeper) is None:
            return
        # Nobody takes over what is completed or cancelled: its worker is still the one that may write.
        overtaken = await self._overtaken(sleeper)
        before = [await self.lane.oracle.digests(run_id) for run_id in overtaken]
        os.kill(sleeper.pid, signal.SIGCONT)
        sleeper.held.let_go()
        ended = await in_time(sleeper.end, "a process that was woken")
        await self._settled(sleeper.pid)
        self.woke = f"exit {ended.code}" if ended.error else str(ended.status)
        if overtaken and sleeper.worked and ended.error not in {None, "LeaseLost"}:
            self.woke += f" {ended.error}"
        after = [await self.lane.oracle.digests(run_id) for run_id in overtaken]
        changed = [
            name
            for old, new in zip(before, after, strict=True)
            for name in new
            if new[name] != old[name]
        ]
        if changed and sleeper.worked:
            self.problems.append(f"who woke changed {', '.join(changed)}")
        if ended.error and ended.code is None:
            self.problems.append(f"who woke ended with a defect: {ended.trace}")

    async def _overtaken(self, sleeper: Sleeper) -> list[UUID]:
        fences = await self.lane.oracle.fences(self.run_id)
        return [run_id for run_id, fence in fences.items() if fence != sleeper.fences.get(run_id)]


async def in_time(awaited: Awaitable[T], what: str) -> T:
    """Wait for what has to come soon; raises Hung."""
    try:
        async with asyncio.timeout(SECONDS_MAX):
            return await awaited
    except TimeoutError:
        raise Hung(f"{what} did not come") from None


async def _stopped(pid: int) -> None:
    """Wait until the system has stopped a process."""
    while psutil.Process(pid).status() != psutil.STATUS_STOPPED:  # noqa: ASYNC110  # the system tells nobody
        await asyncio.sleep(0)
