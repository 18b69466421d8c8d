"""Step `dispatch`: sends out the tasks that can be worked now; when none is left, looks at what was found.

A task whose dependencies have ended goes out in the next wave; a gap that is worth another task gets one, once. Then
disagreements become findings of their own, and a person is asked where the run's review policy wants it.
"""

from collections.abc import Mapping, Sequence
from uuid import UUID

from langgraph.runtime import Runtime
from langgraph.types import Send

from ledger import findings, runs, sources, tasks
from ledger.canonical import Json
from ledger.db import Transaction
from ledger.findings import NewFinding
from nodes import notes, recorded
from nodes.asking import Gate, Question, ask, passed_by, to_reviews
from nodes.conflicts import conflicts
from nodes.material import Claim, Disagreement
from nodes.options import TASKS_MAX, RunOptions
from nodes.plans import WORKER, validated
from nodes.resources import BRANCHES, Resources, run_id_of
from nodes.state import ResearchState, Update

# One wave is one checkpoint, which names each of its tasks: this keeps it to a few kB.
WAVE_TASKS_MAX = 32
GAP_PREFIX = "gap-"


async def dispatch(
    resources: Resources, state: ResearchState, runtime: Runtime[RunOptions]
) -> Update:
    """Name the tasks of the next wave, or close the research."""
    run_id = run_id_of(runtime)
    async with resources.ledger.transaction(run_id) as tx:
        if waits := await passed_by(tx, run_id, "dispatch"):
            return {"ready": [], **waits, "step": {"name": "dispatch", "waits": waits["gate"]}}
        ready = await tasks.ready(tx, run_id, WAVE_TASKS_MAX)
    products: Mapping[str, str] = state.get("products", {})
    told = await _used_up(resources, run_id)
    if not ready and told is None:
        # Not out of what is reserved for the report: no branch could begin with them.
        ready, products = await _for_gaps(resources, run_id, products)
        told = await _used_up(resources, run_id)
    if ready and told:
        await _leave(resources, run_id, ready, told)
        ready = []
    if not ready:
        return await _close(resources, run_id, state.get("decided", 0), products)
    wave = state.get("wave", 0) + 1
    async with resources.ledger.transaction(run_id) as tx:
        await runs.set_phase(tx, run_id, "research")
        counts = await tasks.counts(tx, run_id)
    resources.progress.phase(
        run_id, "research", f"wave {wave}: {len(ready)} task{'s' if len(ready) > 1 else ''}"
    )
    ids = [task.task_id for task in ready]
    return {
        "ready": ids,
        "wave": wave,
        "tasks": counts,
        "products": dict(products),
        "step": {"name": "dispatch", "wave": wave, "tasks": ids},
    }


def to_branches(state: ResearchState) -> list[Send] | str:
    """Route by what `dispatch` wrote: a pure function, because LangGraph never runs a router again."""
    ready = state.get("ready", [])
    return [Send("branch", {"task_id": task_id}) for task_id in ready] or to_reviews(state)


async def _used_up(resources: Resources, run_id: UUID) -> str | None:
    """Say which budget is used up, so that no branch begins."""
    async with resources.ledger.transaction(run_id) as tx:
        run = await runs.get(tx, run_id)
    return await resources.researchers.of(run, BRANCHES).used_up()


async def _leave(
    resources: Resources, run_id: UUID, left: Sequence[tasks.Task], reason: str
) -> None:
    """End tasks that are not begun, with what depends on them: the report says so."""
    async with resources.ledger.transaction(run_id) as tx:
        while left:
            for task in left:
                await tasks.begin(tx, run_id, task.task_id)
                await tasks.end(
                    tx, run_id, task, "blocked", reason=reason, gaps=[task.question], failures=[]
                )
            left = await tasks.ready(tx, run_id, WAVE_TASKS_MAX)


async def _for_gaps(
    resources: Resources, run_id: UUID, products: Mapping[str, str]
) -> tuple[list[tasks.Task], Mapping[str, str]]:
    """Plan one wave of tasks for what stayed unanswered, a second never; return them, and the products with the notes."""
    async with resources.ledger.transaction(run_id) as tx:
        run = await runs.get(tx, run_id)
        existing = await tasks.everything(tx, run_id)
    gaps = [gap for task in existing for gap in task.gaps]
    if not gaps or any(task.task_id.startswith(GAP_PREFIX) for task in existing):
        return [], products
    researcher = resources.researchers.of(run, "@dispatch")
    drafts = await researcher.gap_tasks(run.question, gaps, TASKS_MAX)
    async with resources.ledger.transaction(run_id) as tx:
        products = await notes.keep(tx, products, researcher.notes)
    if not drafts:
        return [], products
    plan = validated(drafts, [task.task_id for task in existing])
    async with resources.ledger.transaction(run_id) as tx:
        rows = [
            (f"{GAP_PREFIX}{draft.task_id}", draft.question, draft.depends_on) for draft in plan
        ]
        await tasks.add(tx, run_id, rows, WORKER)
        return await tasks.ready(tx, run_id, WAVE_TASKS_MAX), products


async def _close(
    resources: Resources, run_id: UUID, decided_before: int, products: Mapping[str, str]
) -> Update:
    async with resources.ledger.transaction(run_id) as tx:
        run = await runs.get(tx, run_id)
        claims = await recorded.claims(tx, run_id)
    researcher = resources.researchers.of(run, "@dispatch")
    disagreements = await researcher.disagreements(claims)
    async with resources.ledger.transaction(run_id) as tx:
        await _record(tx, run_id, claims, disagreements)
        kept = await notes.keep(tx, products, researcher.notes)
        await runs.set_phase(tx, run_id, "sources")
        options = RunOptions.model_validate(run.options)
        gate = Gate("dispatch", run_id, options, decided_before, resources.targets)
        asked = await _asked(tx, gate, claims, disagreements)
        counts = await tasks.counts(tx, run_id)
    step: Json = {"name": "dispatch", "claims": len(claims), "disagreements": len(disagreements)}
    return {"ready": [], "tasks": counts, "products": kept, **asked, "step": step}


async def _record(
    tx: Transaction,
    run_id: UUID,
    claims: tuple[Claim, ...],
    disagreements: tuple[Disagreement, ...],
) -> None:
    task_of = {claim.finding_id: claim.task_id for claim in claims}
    new = [
        NewFinding(
            task_id=task_of[pair.finding_ids[0]],
            attempt=1,
            kind="disagreement",
            claim=pair.reason,
            about=pair.finding_ids,
        )
        for pair in disagreements
    ]
    await findings.record(tx, run_id, new)
    await findings.flag(tx, run_id, [name for pair in disagreements for name in pair.finding_ids])


async def _asked(
    tx: Transaction,
    gate: Gate,
    claims: tuple[Claim, ...],
    disagreements: tuple[Disagreement, ...],
) -> Update:
    """Ask for the sources and for what differs, where the policy wants it.

    `auto` does for flagged sources and for all that differs. Whose findings stand after a retry by the rule `review` is
    always asked.
    """
    run_id, options = gate.run_id, gate.options
    read = [each for each in await sources.everything(tx, run_id) if each.excluded_by is None]
    questions: list[Question] = []
    if options.asks("sources", needed=any(source.is_flagged for source in read)):
        shown: Json = {
            "sources": recorded.shown_sources(read),
            "claims": recorded.shown_claims(claims),
            "disagreements": [
                {"between": list(pair.finding_ids), "reason": pair.reason} for pair in disagreements
            ],
        }
        questions.append(Question("sources", shown))
    wanted = options.asks("conflict", needed=True)
    questions += await conflicts(tx, run_id, claims, disagreements if wanted else ())
    return await ask(tx, gate, questions)
