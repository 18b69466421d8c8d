"""Step `synthesize`: arranges the chosen claims into the draft of a report."""

import json
from dataclasses import asdict, replace
from uuid import UUID

from langgraph.runtime import Runtime

from ledger import artifacts, findings, tasks
from ledger import runs as ledger_runs
from ledger.db import Transaction
from nodes import recorded
from nodes.material import Disagreement, Draft
from nodes.options import RunOptions
from nodes.resources import Resources, run_id_of
from nodes.state import ResearchState, Update
from nodes.summary import material_of


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
    given = material_of(summary, claims)
    used = {name for claim in given for name in claim.sums_up or (claim.finding_id,)}
    draft = await resources.researchers.of(run, "@synthesize").synthesize(
        run.question,
        [recorded.as_task(task, run.question) for task in planned],
        given,
        [gap for task in planned for gap in task.gaps],
    )
    async with resources.ledger.transaction(run_id) as tx:
        draft = replace(draft, disagreements=await _all_disagreements(tx, run_id, draft, used))
        name = await artifacts.put_json(tx, asdict(draft))
        await ledger_runs.set_phase(tx, run_id, "check")
    sentences = sum(len(section.sentences) for section in draft.sections)
    return {
        "products": {**products, "draft": name},
        "step": {"name": "synthesize", "sentences": sentences},
    }


async def _all_disagreements(
    tx: Transaction, run_id: UUID, draft: Draft, used: set[str]
) -> tuple[Disagreement, ...]:
    """Return those of the draft and, of what it is written from, those that were recorded when the research ended."""
    known = {frozenset(pair.finding_ids) for pair in draft.disagreements}
    recorded_pairs = [
        Disagreement((each.about[0], each.about[1]), each.claim)
        for each in await findings.standing(tx, run_id)
        if each.kind == "disagreement" and set(each.about) <= used
    ]
    return draft.disagreements + tuple(
        pair for pair in recorded_pairs if frozenset(pair.finding_ids) not in known
    )
