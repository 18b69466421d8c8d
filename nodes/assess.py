"""Step `assess` of a branch: asks for another round, or ends the task with what it came to."""

from typing import Literal
from uuid import UUID

from langgraph.runtime import Runtime

from ledger import findings, retries, runs, tasks
from ledger.findings import NewFinding
from nodes import recorded
from nodes.material import Assessment
from nodes.options import RunOptions
from nodes.resources import Resources, run_id_of
from nodes.state import BranchState, Update

# A third round with yet other words found nothing that the second had not, and a loop needs an end.
ROUNDS_MAX = 2


async def assess(resources: Resources, state: BranchState, runtime: Runtime[RunOptions]) -> Update:
    """Judge the branch so far."""
    run_id = run_id_of(runtime)
    task_id, round_number = state["task_id"], state.get("round", 1)
    async with resources.ledger.transaction(run_id) as tx:
        run = await runs.get(tx, run_id)
        task = await tasks.get(tx, run_id, task_id)
        claims = await recorded.claims(tx, run_id, task_id)
    researcher = resources.researchers.of(run, task_id, task.retries)
    judged = await researcher.assess(recorded.as_task(task, run.question), claims, round_number)
    failures = [*state.get("failures", []), *researcher.notes]
    if judged.queries and round_number < ROUNDS_MAX:
        return {
            "queries": list(judged.queries),
            "failures": failures,
            "step": {"name": "assess", "again": list(judged.queries)},
        }
    return await _end(resources, run_id, task, {**state, "failures": failures}, judged, len(claims))


def again(state: BranchState) -> Literal["search", "__end__"]:
    """Route by what `assess` wrote: a pure function, because LangGraph never runs a router again."""
    return "__end__" if state.get("finished") else "search"


async def _end(
    resources: Resources,
    run_id: UUID,
    task: tasks.Task,
    state: BranchState,
    judged: Assessment,
    claims: int,
) -> Update:
    failures = state.get("failures", [])
    blocked = bool(failures) and not state.get("sources") and not claims
    status: Literal["blocked", "complete"] = "blocked" if blocked else "complete"
    reason = "nothing could be read: " + failures[0] if blocked else None
    if not blocked and not claims:
        reason = "the material does not answer this"
    async with resources.ledger.transaction(run_id) as tx:
        await findings.record(tx, run_id, [_open_question(task, gap) for gap in judged.gaps])
        settled = await retries.settle(tx, run_id, task.task_id, found=claims > 0)
        if blocked and settled is not None and await recorded.claims(tx, run_id, task.task_id):
            status, reason = (
                "complete",
                f"researched anew, and {reason}; what was found before stands",
            )
        await tasks.end(
            tx, run_id, task, status, reason=reason, gaps=judged.gaps, failures=failures
        )
    resources.progress.task(
        run_id, task.task_id, status, f"{claims} claim{'' if claims == 1 else 's'}"
    )
    outcome = {"status": status, "findings": claims, "gaps": len(judged.gaps)}
    return {
        "finished": {task.task_id: outcome},
        "queries": [],
        "step": {"name": "assess", **outcome},
    }


def _open_question(task: tasks.Task, gap: str) -> NewFinding:
    return NewFinding(
        task_id=task.task_id,
        attempt=task.attempts,
        retry=task.retries,
        kind="open_question",
        claim=gap,
    )
