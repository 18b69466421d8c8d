"""Works runs for the command line: all of it that needs the graph. Imported when a run is worked, see graph/cli/later.py."""

import asyncio
import signal
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from uuid import UUID

from graph import sweeping, upgrading
from graph.build import topology
from graph.cli.output import say
from graph.control import retry_run, settle_effect
from graph.forking import fork_run
from graph.migrate import migrate
from graph.opening import open_database
from graph.runs import Outcome, decide, find_run, resume_run, start_run
from graph.runtime import Runtime, open_runtime
from graph.settings import Settings
from graph.sweeping import Swept
from graph.upgrading import Upgraded
from ledger import artifacts
from ledger.effects import Effect, Settlement
from ledger.forks import Effects
from ledger.migrate import migrations
from ledger.questions import Decision, Review
from ledger.retries import Rule
from ledger.runs import Run
from nodes.options import RunOptions
from nodes.resources import Progress, Silent


@dataclass(frozen=True, slots=True)
class Worked:
    """Where a run stands, and its report as Markdown if it is written."""

    outcome: Outcome
    report: str | None


async def start(
    settings: Settings, progress: Progress, question: str, options: RunOptions, run_id: UUID
) -> Worked:
    """Start a run and work it; raises as `start_run` does."""
    async with _drained(settings, progress) as runtime:
        return await _worked(runtime, await start_run(runtime, question, options, run_id))


async def resume(
    settings: Settings, progress: Progress, name: str, model: str | None, by: str | None
) -> Worked:
    """Go on with the run that a person means by its id or the beginning of it; raises as `resume_run` does."""
    async with _drained(settings, progress) as runtime:
        run = await find_run(runtime, name)
        return await _worked(runtime, await resume_run(runtime, run.run_id, model=model, by=by))


async def retried(
    settings: Settings, progress: Progress, name: str, task: str, rule: Rule
) -> Worked:
    """Research one branch of a run anew; raises as `retry_run` does."""
    async with _drained(settings, progress) as runtime:
        run = await find_run(runtime, name)
        return await _worked(runtime, await retry_run(runtime, run.run_id, task, rule))


async def forked(settings: Settings, name: str, checkpoint: str, effects: Effects) -> Run:
    """Begin a new run at a checkpoint of another; raises as `fork_run` does."""
    async with open_runtime(settings) as runtime:
        origin = await find_run(runtime, name)
        return await fork_run(runtime, origin.run_id, checkpoint, effects)


async def sweep(settings: Settings, progress: Progress) -> list[Swept]:
    """Take up the runs whose workers died, and work each to its end or its next pause."""
    async with _drained(settings, progress) as runtime:
        return await sweeping.sweep(runtime)


async def watch(settings: Settings, progress: Progress, tell: Callable[[Swept], None]) -> None:
    """Do so as soon as a worker is dead, until this process is told to end."""
    async with _drained(settings, progress) as runtime:
        say("watching for runs whose workers died")
        await sweeping.watch(runtime, tell)


async def decided(settings: Settings, review_id: str, decision: Decision) -> Review:
    """Record a decision; raises as `decide` does."""
    async with open_runtime(settings) as runtime:
        return await decide(runtime, review_id, decision)


async def settled(
    settings: Settings, key: str, happened: str | None, said: Settlement, *, again: bool
) -> Effect:
    """Record what a person says about an effect; raises as `settle_effect` does."""
    async with open_runtime(settings) as runtime:
        return await settle_effect(runtime, key, happened, said, again=again)


async def migrated(settings: Settings) -> list[str]:
    """Bring both schemas up to date and return the names of our migrations that were applied."""
    async with open_database(settings) as database_url:
        applied = await migrate(database_url)
    known = migrations()
    return [migration.name for migration in known[len(known) - applied :]]


async def upgraded(
    settings: Settings, name: str | None, tell: Callable[[int, int], None], *, check: bool
) -> list[Upgraded]:
    """Bring a run, or all where none is named, to this version; `tell` hears how many of how many are done.

    Raises NotFound and Ambiguous.
    """
    async with _drained(settings, Silent()) as runtime:
        if name is not None:
            run = await find_run(runtime, name)
            return [await upgrading.upgrade_run(runtime, run.run_id, check=check)]
        total, found = await upgrading.count(runtime), list[Upgraded]()
        async with aclosing(upgrading.upgrade_all(runtime, check=check)) as upgraded:
            async for each in upgraded:
                found.append(each)
                tell(len(found), total)
        return found


def mermaid() -> str:
    """Return the graph, its branch spread out, as a Mermaid chart; opens nothing."""
    return topology().compile().get_graph(xray=True).draw_mermaid()


async def _worked(runtime: Runtime, outcome: Outcome) -> Worked:
    report = outcome.run.report_artifact
    if report is None:
        return Worked(outcome, None)
    async with runtime.ledger.transaction() as tx:
        return Worked(outcome, await artifacts.get_text(tx, report))


@asynccontextmanager
async def _drained(settings: Settings, progress: Progress) -> AsyncGenerator[Runtime]:
    """Open a runtime whose runs end their running step at the first SIGTERM; at the second, all is as with Ctrl-C."""
    async with open_runtime(settings, progress) as runtime:

        def told_to_end() -> None:
            if runtime.control.drain_requested:
                signal.raise_signal(signal.SIGINT)
            runtime.control.request_drain("SIGTERM")
            say("told to end: the running step is finished first; once more stops at once")

        before = signal.getsignal(signal.SIGTERM)
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, told_to_end)
        try:
            yield runtime
        finally:
            # The loop would leave the signal to the system's own way, which ends the process on the spot.
            signal.signal(signal.SIGTERM, before)
