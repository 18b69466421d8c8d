"""Step `plan`: records the run, reads its corpus, and turns the question into tasks.

What a person answered at a review (`guidance`) is planned the same way, as further tasks.
"""

from uuid import UUID

from langgraph.runtime import Runtime

from ledger import runs, tasks
from ledger.canonical import Json
from ledger.db import Transaction
from ledger.errors import NotFound
from nodes.asking import ask
from nodes.material import TaskDraft
from nodes.options import TASKS_MAX, BadInput, RunOptions, checked_question
from nodes.plans import WORKER, renumbered, validated
from nodes.resources import Resources, run_id_of
from nodes.state import ResearchState, Update


async def plan(resources: Resources, state: ResearchState, runtime: Runtime[RunOptions]) -> Update:
    """Plan the question, or what was asked on top of it."""
    run_id = run_id_of(runtime)
    run = await _recorded(resources, run_id, state, runtime.context)
    options = RunOptions.model_validate(run.options)
    if run.corpus_artifact is None:
        corpus = await resources.toolbox.prepare(options, resources.progress)
        async with resources.ledger.transaction(run_id) as tx:
            await runs.set_corpus(tx, run_id, corpus)
    guidance = state.get("guidance", [])
    asked = guidance[-1] if guidance else run.question
    drafts = validated(
        renumbered(await resources.researcher.plan(asked, TASKS_MAX), 1 + len(guidance))
    )
    async with resources.ledger.transaction(run_id) as tx:
        await tasks.add(
            tx,
            run_id,
            [(draft.task_id, draft.question, draft.depends_on) for draft in drafts],
            WORKER,
        )
        await runs.set_phase(tx, run_id, "plan")
        review = await _asked(tx, run_id, options, state.get("decided", 0))
        counts = await tasks.counts(tx, run_id)
    resources.progress.phase(run_id, "plan", f"{len(drafts)} task{'s' if len(drafts) > 1 else ''}")
    return {
        "tasks": counts,
        "review": review,
        "step": {"name": "plan", "tasks": _listed(drafts)},
        "wave": 0,
    }


async def _recorded(
    resources: Resources, run_id: UUID, state: ResearchState, options: RunOptions | None
) -> runs.Run:
    """Return the run's row, written now if the run was begun elsewhere than by `start_run` (the dev server)."""
    question = checked_question(state["question"]["text"])
    async with resources.ledger.transaction(run_id) as tx:
        try:
            run = await runs.get(tx, run_id)
        except NotFound:
            body = (options or RunOptions()).model_dump(mode="json")
            workflow = resources.workflow
            return await runs.create(
                tx, run_id, question, body, workflow.version, workflow.fingerprint
            )
    if run.status in runs.FINISHED or run.question != question:
        why = f"is {run.status}" if run.status in runs.FINISHED else "has another question"
        raise BadInput(
            f"run {run_id} {why}, and a thread is one run; begin a new thread for a new question"
        )
    return run


async def _asked(
    tx: Transaction, run_id: UUID, options: RunOptions, decided_before: int
) -> dict[str, str]:
    if not options.asks("plan", needed=False):
        return {}
    planned = [task for task in await tasks.everything(tx, run_id) if task.status == "pending"]
    shown: Json = {
        "tasks": [
            {"id": task.task_id, "question": task.question, "depends_on": list(task.depends_on)}
            for task in planned
        ]
    }
    lines = [f"{task.task_id}: {task.question}" for task in planned]
    return await ask(tx, run_id, "plan", shown, lines, decided_before)


def _listed(drafts: tuple[TaskDraft, ...]) -> list[Json]:
    return [{"id": draft.task_id, "question": draft.question[:200]} for draft in drafts]
