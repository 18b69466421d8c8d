"""Step `synthesize`: arranges the chosen claims into the draft of a report."""

import json
from dataclasses import asdict

from langgraph.runtime import Runtime

from ledger import artifacts, tasks
from ledger import runs as ledger_runs
from nodes import recorded
from nodes.options import RunOptions
from nodes.resources import Resources, run_id_of
from nodes.state import ResearchState, Update


async def synthesize(
    resources: Resources, state: ResearchState, runtime: Runtime[RunOptions]
) -> Update:
    """Write the draft from the working summary."""
    run_id = run_id_of(runtime)
    products = state.get("products", {})
    async with resources.ledger.transaction(run_id) as tx:
        run = await ledger_runs.get(tx, run_id)
        planned = [
            task for task in await tasks.everything(tx, run_id) if task.status != "superseded"
        ]
        summary = json.loads(await artifacts.get(tx, products["summary"]))
        claims = await recorded.claims(tx, run_id)
    used = set(summary["findings"])
    draft = await resources.researchers.of(run, "synthesize").synthesize(
        run.question,
        [recorded.as_task(task, run.question) for task in planned],
        [claim for claim in claims if claim.finding_id in used],
        [gap for task in planned for gap in task.gaps],
    )
    async with resources.ledger.transaction(run_id) as tx:
        name = await artifacts.put_json(tx, asdict(draft))
        await ledger_runs.set_phase(tx, run_id, "check")
    sentences = sum(len(section.sentences) for section in draft.sections)
    return {
        "products": {**products, "draft": name},
        "step": {"name": "synthesize", "sentences": sentences},
    }
