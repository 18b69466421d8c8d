"""Step `plan`: records the run, reads its corpus, and turns the question into tasks.

What a person answered at a review is planned the same way, as further tasks; a plan that a person rejected is made anew by
their instruction, beside the rejected one, which stays readable.
"""

from collections.abc import Sequence
from uuid import UUID

from langgraph.runtime import Runtime

from ledger import forks, runs, tasks
from ledger.canonical import Json
from ledger.db import Transaction
from ledger.errors import NotFound
from ledger.questions import Decision
from nodes import notes
from nodes.asking import Gate, Question, ask
from nodes.decisions.plan import instruction_of
from nodes.material import TaskDraft
from nodes.notices import checked_targets
from nodes.options import TASKS_MAX, BadInput, RunOptions, checked_question
from nodes.plans import WORKER, renumbered, validated
from nodes.researchers.base import Researcher
from nodes.resources import Resources, run_id_of
from nodes.state import ResearchState, Update


async def plan(resources: Resources, state: ResearchState, runtime: Runtime[RunOptions]) -> Update:
    """Plan the question, what was asked on top of it, or the question anew by an instruction."""
    run_id = run_id_of(runtime)
    run = await _recorded(resources, run_id, state, runtime.context)
    options = RunOptions.model_validate(run.options)
    if run.corpus_artifact is None:
        corpus = await resources.toolbox.prepare(options, resources.progress)
        async with resources.ledger.transaction(run_id) as tx:
            await runs.set_corpus(tx, run_id, corpus)
    number, guidance = state.get("plans", 0), state.get("guidance", [])
    said = await _said(resources, run_id, guidance)
    researcher = resources.researchers.of(run, "@plan")
    drafts = await _drafts(researcher, run, number, said)
    async with resources.ledger.transaction(run_id) as tx:
        await tasks.add(
            tx,
            run_id,
            [(draft.task_id, draft.question, draft.depends_on) for draft in drafts],
            WORKER,
        )
        await runs.set_phase(tx, run_id, "plan")
        before = state.get("decided", 0)
        asked = await _asked(tx, Gate("plan", run_id, options, before, resources.targets))
        counts = await tasks.counts(tx, run_id)
        products = await notes.keep(tx, state.get("products", {}), researcher.notes)
    resources.progress.phase(run_id, "plan", f"{len(drafts)} task{'s' if len(drafts) > 1 else ''}")
    return {
        "tasks": counts,
        **asked,
        "step": {"name": "plan", "tasks": _listed(drafts)},
        "wave": 0,
        "guidance": [],
        "products": products,
        "plans": max(number + len(said), 1),
    }


async def _said(resources: Resources, run_id: UUID, guidance: Sequence[str]) -> list[Decision]:
    """Return the decisions whose words are planned now; state names their reviews, the ledger has the words."""
    async with resources.ledger.transaction(run_id) as tx:
        found = [await forks.review_of(tx, run_id, review_id) for review_id in guidance]
    return [review.decision for review in found if review.decision is not None]


async def _drafts(
    researcher: Researcher, run: runs.Run, number: int, said: Sequence[Decision]
) -> tuple[TaskDraft, ...]:
    """Plan the question where nobody has said anything yet, else each thing that was said."""
    planned: list[TaskDraft] = []
    # The question alone is the first plan, however often the step runs: its tasks are there already, then.
    first = number + 1 if said else 1
    for wave, (asked, instruction) in enumerate(_requests(run.question, said), start=first):
        made = await researcher.plan(asked, TASKS_MAX, instruction)
        planned += validated(renumbered(made, wave))
    return tuple(planned)


def _requests(question: str, said: Sequence[Decision]) -> list[tuple[str, str | None]]:
    if not said:
        return [(question, None)]
    return [
        (question, instruction_of(each.response, each.comment))
        if each.choice == "reject"
        else (each.response or "", None)
        for each in said
    ]


async def _recorded(
    resources: Resources, run_id: UUID, state: ResearchState, options: RunOptions | None
) -> runs.Run:
    """Return the run's row, written now if the run was begun elsewhere than by `start_run` (the dev server)."""
    question = checked_question(state["question"]["text"])
    async with resources.ledger.transaction(run_id) as tx:
        try:
            run = await runs.get(tx, run_id)
        except NotFound:
            run = None
    if run is None:
        given = resources.policy.over(options or RunOptions())
        body = (await checked_targets(resources.targets, given)).model_dump(mode="json")
        workflow = resources.workflow
        async with resources.ledger.transaction(run_id) as tx:
            return await runs.create(
                tx, run_id, question, body, workflow.version, workflow.fingerprint
            )
    if run.status in runs.FINISHED or run.question != question:
        why = f"is {run.status}" if run.status in runs.FINISHED else "has another question"
        raise BadInput(
            f"run {run_id} {why}, and a thread is one run; begin a new thread for a new question"
        )
    return run


async def _asked(tx: Transaction, gate: Gate) -> Update:
    questions: list[Question] = []
    if gate.options.asks("plan", needed=False):
        existing = await tasks.everything(tx, gate.run_id)
        planned = [task for task in existing if task.status == "pending"]
        shown: Json = {
            "tasks": [
                {"id": task.task_id, "question": task.question, "depends_on": list(task.depends_on)}
                for task in planned
            ]
        }
        questions.append(Question("plan", shown))
    return await ask(tx, gate, questions)


def _listed(drafts: tuple[TaskDraft, ...]) -> list[Json]:
    return [{"id": draft.task_id, "question": draft.question[:200]} for draft in drafts]
