"""Works runs for the command line: all of it that needs the graph. Imported when a run is worked, see graph/cli/later.py."""

from dataclasses import dataclass
from uuid import UUID

from graph.build import topology
from graph.control import fork_run, retry_run
from graph.migrate import migrate
from graph.opening import open_database
from graph.runs import Outcome, decide, find_run, resume_run, start_run
from graph.runtime import Runtime, open_runtime
from graph.settings import Settings
from ledger import artifacts
from ledger.migrate import migrations
from ledger.retries import Rule
from ledger.reviews import Decision, Review
from ledger.runs import Run
from nodes.options import RunOptions
from nodes.resources import Progress


@dataclass(frozen=True, slots=True)
class Worked:
    """Where a run stands, and its report as Markdown if it is written."""

    outcome: Outcome
    report: str | None


async def start(
    settings: Settings, progress: Progress, question: str, options: RunOptions, run_id: UUID
) -> Worked:
    """Start a run and work it; raises as `start_run` does."""
    async with open_runtime(settings, progress) as runtime:
        return await _worked(runtime, await start_run(runtime, question, options, run_id))


async def resume(settings: Settings, progress: Progress, name: str) -> Worked:
    """Go on with the run that a person means by its id or the beginning of it; raises as `resume_run` does."""
    async with open_runtime(settings, progress) as runtime:
        run = await find_run(runtime, name)
        return await _worked(runtime, await resume_run(runtime, run.run_id))


async def retried(
    settings: Settings, progress: Progress, name: str, task: str, rule: Rule
) -> Worked:
    """Research one branch of a run anew; raises as `retry_run` does."""
    async with open_runtime(settings, progress) as runtime:
        run = await find_run(runtime, name)
        return await _worked(runtime, await retry_run(runtime, run.run_id, task, rule))


async def forked(settings: Settings, name: str, checkpoint: str) -> Run:
    """Begin a new run at a checkpoint of another; raises as `fork_run` does."""
    async with open_runtime(settings) as runtime:
        origin = await find_run(runtime, name)
        return await fork_run(runtime, origin.run_id, checkpoint)


async def decided(settings: Settings, review_id: str, decision: Decision) -> Review:
    """Record a decision; raises as `decide` does."""
    async with open_runtime(settings) as runtime:
        return await decide(runtime, review_id, decision)


async def migrated(settings: Settings) -> list[str]:
    """Bring both schemas up to date and return the names of our migrations that were applied."""
    async with open_database(settings) as database_url:
        applied = await migrate(database_url)
    known = migrations()
    return [migration.name for migration in known[len(known) - applied :]]


def mermaid() -> str:
    """Return the graph, its branch spread out, as a Mermaid chart; opens nothing."""
    return topology().compile().get_graph(xray=True).draw_mermaid()


async def _worked(runtime: Runtime, outcome: Outcome) -> Worked:
    report = outcome.run.report_artifact
    if report is None:
        return Worked(outcome, None)
    async with runtime.ledger.transaction() as tx:
        return Worked(outcome, await artifacts.get_text(tx, report))
