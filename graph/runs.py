"""What every surface calls: start a run, go on with one, decide a review, cancel.

LangGraph says what runs next; whether a run is finished is said by its row, because LangGraph's `next` is empty in the
middle of a run at some crash points. So the driver goes on until the row says completed or an open review stops it.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias
from uuid import UUID

from langgraph.errors import GraphDrained
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, StateSnapshot

from graph import relaying
from graph.changing import change_model
from graph.display import run_html
from graph.errors import RunStuck
from graph.recovery import check_finished
from graph.runtime import Runtime
from graph.threads import run_config
from graph.waiting import set_waiting
from graph.working import working
from ledger import audit, integrity, reviews, runs, tasks
from ledger.errors import LedgerDamaged, ReviewForeign, ReviewStale, RunCancelled, RunDrained
from ledger.ids import new_run_id
from ledger.questions import Decision, Review
from ledger.runs import Run
from nodes.decisions.kinds import checked_decision
from nodes.notices import checked_targets
from nodes.options import RunOptions, checked_question
from nodes.publish import report_path
from nodes.review import review_id_of
from nodes.state import Question
from nodes.tools.corpus_files import PYDOC_TOPICS, find

Graph: TypeAlias = CompiledStateGraph[Any, Any, Any, Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Where a run stands after it was worked; `report_path` is set when its report is written."""

    run: Run
    report_path: Path | None
    reviews: tuple[Review, ...]

    def _repr_html_(self) -> str:
        return run_html(self.run, self.report_path, self.reviews)


async def start_run(
    runtime: Runtime, question: str, options: RunOptions, run_id: UUID | None = None
) -> Outcome:
    """Record a new run and work it until it is finished or waits for a person.

    Raises BadInput, RunExists, RunHeld, RunDrained and whatever stops the work; the run can then be resumed.
    """
    asked = checked_question(question)
    runtime.resources.researchers.check(options.model)
    # What is set for all runs is recorded with this one: a resume may come from another folder, or other settings.
    corpus = located(options.corpus or runtime.settings.corpus)
    options = runtime.resources.policy.over(options.model_copy(update={"corpus": corpus}))
    runtime.resources.toolbox.check(options)
    options = await checked_targets(runtime.resources.targets, options)
    name = run_id or new_run_id()
    async with working(runtime, name, new=True):
        workflow = runtime.resources.workflow
        async with runtime.ledger.transaction(name) as tx:
            body = options.model_dump(mode="json")
            run = await runs.create(tx, name, asked, body, workflow.version, workflow.fingerprint)
        return await work(runtime, run)


def located(corpus: Sequence[str]) -> tuple[str, ...]:
    """Return the paths so that they hold in any folder; raises CorpusMissing before there is a run."""
    # An empty path, from an unset variable, is no folder; made absolute it would be the one we are in.
    paths = tuple(
        path if path in {PYDOC_TOPICS, ""} else str(Path(path).absolute()) for path in corpus
    )
    if paths:
        find(paths)
    return paths


async def resume_run(
    runtime: Runtime, run_id: UUID, *, model: str | None = None, by: str | None = None
) -> Outcome:
    """Go on with a run, with another model where one is named; a finished one is returned as it is.

    Raises NotFound, RunBlocked, RunHeld, UnknownWorkflow, RunLeft, RunDrained; for another model what `change_model` raises.
    """
    if model is not None:
        await change_model(runtime, run_id, model, by)
    standing = await outcome(runtime, run_id)
    if standing.run.status in runs.FINISHED:
        # Whoever wrote into the database that it is finished is not believed.
        await check_finished(runtime, standing.run)
        return standing
    async with working(runtime, run_id) as run:
        if run is not None and run.status in runs.FINISHED:
            # It ended before it was taken: nothing goes on, and nothing is told of it.
            return await outcome(runtime, run_id)
        async with runtime.ledger.transaction(run_id) as tx:
            await audit.append(tx, run_id, "run_resumed", {"fence": tx.fence})
        # As it stands by now: it may have been brought to another version.
        return await work(runtime, run or standing.run)


async def outcome(runtime: Runtime, run_id: UUID) -> Outcome:
    """Return where a run stands."""
    async with runtime.ledger.transaction() as tx:
        run = await runs.get(tx, run_id)
        asked = tuple(
            review for review in await reviews.newest_first(tx, run_id) if review.status == "open"
        )
    written = report_path(runtime.resources.reports, run_id) if run.status == "completed" else None
    return Outcome(run, written, asked)


async def decide(
    runtime: Runtime, review_id: str, decision: Decision, run_id: UUID | None = None
) -> Review:
    """Record what a person decided, or their vote where two have to agree. The run goes on when it is resumed.

    `run_id` is the run that the caller means. Raises NotFound, BadInput, LedgerDamaged, and ReviewClosed with its kinds.
    """
    async with runtime.ledger.transaction(one_moment=True) as tx:
        review = await reviews.find(tx, review_id)
        if run_id not in {None, review.run_id}:
            raise ReviewForeign(f"review {review.review_id} is one of run {review.run_id}")
        if damage := await integrity.damaged_rows(tx, review.run_id):
            raise LedgerDamaged(review.run_id, "; ".join(str(each) for each in damage[:3]))
        run = await runs.get(tx, review.run_id)
        if run.status in runs.FINISHED and review.status == "open":
            raise ReviewStale(f"run {run.run_id} is {run.status}: nothing goes on there")
        if review.status == "open":
            checked_decision(review, decision, await tasks.everything(tx, review.run_id))
    async with runtime.ledger.transaction(actor=decision.decided_by) as tx:
        return await reviews.decide(tx, review, decision)


async def cancel_run(runtime: Runtime, run_id: UUID) -> Run:
    """Stop a run for good; its worker's next write is refused. Raises IllegalTransition if it is finished."""
    async with runtime.ledger.transaction() as tx:
        await runs.cancel(tx, run_id)
        return await runs.get(tx, run_id)


async def work(runtime: Runtime, run: Run) -> Outcome:
    """Drive a run that this process holds until it is finished or waits for a person."""
    graph = runtime.compiled()
    options = RunOptions.model_validate(run.options)
    runtime.resources.progress.phase(run.run_id, "begin", "")
    # A run that is cancelled meanwhile ends here; its row says so.
    with suppress(RunCancelled):
        await _drive(runtime, graph, run, options)
    if options.notify:
        await relaying.run_once(runtime)
    return await outcome(runtime, run.run_id)


async def _drive(runtime: Runtime, graph: Graph, run: Run, options: RunOptions) -> None:
    config = run_config(run.run_id, options)
    before = None
    while True:
        state = await graph.aget_state(config)
        head = state.config.get("configurable", {}).get("checkpoint_id")
        # A review node that stops to ask is progress without a checkpoint of its own.
        here = (head, {interrupt.id for interrupt in state.interrupts})
        if head is not None and here == before:
            raise RunStuck(
                f"run {run.run_id} has no next step and is not finished; `perdure history {run.run_id}` shows how far it came"
            )
        entry = await _entry(runtime, run, state)
        if entry is _WAITS:
            # It may have been blocked meanwhile: what it waits for now is a person's decision.
            async with runtime.ledger.transaction(run.run_id) as tx:
                await set_waiting(tx, run.run_id)
            return
        before = here
        try:
            await graph.ainvoke(
                entry, config, context=options, durability="sync", control=runtime.control
            )
        except GraphDrained:
            raise RunDrained(run.run_id) from None
        async with runtime.ledger.transaction() as tx:
            if (await runs.get(tx, run.run_id)).status in runs.FINISHED:
                return


_WAITS = object()


async def _entry(runtime: Runtime, run: Run, state: StateSnapshot) -> Any:
    """Return what wakes the graph: its input, the decided reviews by interrupt id, None to go on, or _WAITS."""
    asked: Question | None = state.values.get("question")
    if not asked or asked["text"].strip() != run.question:
        # Not begun (an input that was stored and not yet taken up leaves the channel empty), or LangGraph's server
        # was given another question on this thread, which the run refused.
        return {"question": run.question}
    if not state.interrupts:
        return None
    async with runtime.ledger.transaction(run.run_id) as tx:
        await reviews.pass_deadlines(tx, run.run_id)
        answers = {
            interrupt.id: await reviews.get(tx, run.run_id, review_id_of(interrupt.value))
            for interrupt in state.interrupts
        }
    # All or none: what is woken beside a review that is still open would run again.
    if any(review.decision is None for review in answers.values()):
        return _WAITS
    return Command(resume={name: review.review_id for name, review in answers.items()})


async def find_run(runtime: Runtime, prefix: str) -> Run:
    """Return the run that a person means by its id or the beginning of it; raises NotFound or Ambiguous."""
    async with runtime.ledger.transaction() as tx:
        return await runs.find(tx, prefix)
