"""Step `compact`: writes the working summary when the material is more than a report can hold.

The summary points to findings and never replaces them: it says which are used and how many of each task are left out, and
the report says so too. The checkpoint before it stays.
"""

from collections.abc import Sequence
from uuid import UUID

from langgraph.runtime import Runtime

from ledger import artifacts, runs, tasks
from ledger.canonical import Json
from nodes import notes, recorded
from nodes.material import Claim
from nodes.options import RunOptions
from nodes.resources import Resources, run_id_of
from nodes.state import ResearchState, Update

SUMMARY_VERSION = 1
# About twenty printed pages of claims.
MATERIAL_CHARACTERS_MAX = 40_000


async def compact(
    resources: Resources, state: ResearchState, runtime: Runtime[RunOptions]
) -> Update:
    """Choose what the report is written from."""
    run_id = run_id_of(runtime)
    claims, noted = await _by_importance(resources, run_id)
    async with resources.ledger.transaction(run_id) as tx:
        order = [task.task_id for task in await tasks.everything(tx, run_id)]
        used = chosen(claims, order, MATERIAL_CHARACTERS_MAX)
        summary: Json = {
            "version": SUMMARY_VERSION,
            "findings": [claim.finding_id for claim in used],
            "left_out": {name: count for name, count in left_out(claims, used).items() if count},
        }
        name = await artifacts.put_json(tx, summary)
        products = await notes.keep(tx, state.get("products", {}), noted)
        await runs.set_phase(tx, run_id, "synthesize")
    step: Json = {"name": "compact", "claims": len(claims), "used": len(used)}
    return {"products": {**products, "summary": name}, "step": step}


async def _by_importance(
    resources: Resources, run_id: UUID
) -> tuple[tuple[Claim, ...], Sequence[str]]:
    """Return the claims, where they do not all fit those first that the report needs most; and what was done without."""
    async with resources.ledger.transaction(run_id) as tx:
        run = await runs.get(tx, run_id)
        claims = await recorded.claims(tx, run_id)
    length = sum(len(claim.text) for claim in claims)
    if length <= MATERIAL_CHARACTERS_MAX:
        return claims, ()
    keep = max(1, len(claims) * MATERIAL_CHARACTERS_MAX // length)
    researcher = resources.researchers.of(run, "@compact")
    order = await researcher.condense(run.question, claims, keep)
    by_id = {claim.finding_id: claim for claim in claims}
    return tuple(by_id[name] for name in dict.fromkeys([*order, *by_id])), researcher.notes


def chosen(claims: Sequence[Claim], order: Sequence[str], characters_max: int) -> tuple[Claim, ...]:
    """Return the claims that fit, taking from each task in turn its best one, so that no task vanishes."""
    waiting = {
        task_id: [claim for claim in claims if claim.task_id == task_id] for task_id in order
    }
    used: list[Claim] = []
    room = characters_max
    while any(waiting.values()):
        for queue in waiting.values():
            if queue:
                claim = queue.pop(0)
                room -= len(claim.text)
                if room >= 0 or not used:
                    used.append(claim)
    return tuple(claim for task_id in order for claim in used if claim.task_id == task_id)


def left_out(claims: Sequence[Claim], used: Sequence[Claim]) -> dict[str, int]:
    """Return how many claims of each task are not used."""
    kept = {claim.finding_id for claim in used}
    counts: dict[str, int] = {}
    for claim in claims:
        counts[claim.task_id] = counts.get(claim.task_id, 0) + (claim.finding_id not in kept)
    return counts
