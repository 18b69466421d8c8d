"""Step `intend`: records what the run is going to do outside, before anything of it is done.

Each publication becomes a row with its target, the canonical request and its key, committed with no call made.
"""

from langgraph.runtime import Runtime

from ledger import runs
from nodes.consequences import intend_publications
from nodes.options import RunOptions
from nodes.resources import Resources, run_id_of
from nodes.state import ResearchState, Update


async def intend(
    resources: Resources, state: ResearchState, runtime: Runtime[RunOptions]
) -> Update:
    """Record the publications of the report."""
    run_id = run_id_of(runtime)
    report = state.get("products", {})["report"]
    async with resources.ledger.transaction(run_id) as tx:
        run = await runs.get(tx, run_id)
        decided = await intend_publications(tx, resources.targets, run, report)
        await runs.set_phase(tx, run_id, "publish")
    return {"effects": decided, "step": {"name": "intend", "effects": len(decided)}}
