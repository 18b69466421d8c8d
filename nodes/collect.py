"""Step `collect`: joins a wave of branches and empties the channel that they reported in."""

from langgraph.runtime import Runtime

from ledger import tasks
from ledger.canonical import Json
from nodes.options import RunOptions
from nodes.resources import Resources, run_id_of
from nodes.state import ResearchState, Update


async def collect(
    resources: Resources, state: ResearchState, runtime: Runtime[RunOptions]
) -> Update:
    """Count what the wave came to."""
    run_id = run_id_of(runtime)
    async with resources.ledger.transaction(run_id) as tx:
        counts = await tasks.counts(tx, run_id)
    ended = state["finished"]
    step: Json = {
        "name": "collect",
        "tasks": {task_id: outcome["status"] for task_id, outcome in sorted(ended.items())},
        "findings": sum(outcome["findings"] for outcome in ended.values()),
    }
    return {"finished": None, "ready": [], "tasks": counts, "step": step}
