"""Step `compact`: writes the working summary when the material is more than a report can hold.

The summary points to findings and never replaces them: it says which are used whole, what a model says of others, and how
many of each task are left out, as the report does, too. The checkpoint before it stays.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from langgraph.runtime import Runtime

from ledger import artifacts, runs, tasks
from ledger.canonical import Json
from nodes import notes, recorded
from nodes.material import Claim, Statement, Task
from nodes.options import RunOptions
from nodes.researchers.base import Researcher
from nodes.resources import Resources, run_id_of
from nodes.state import ResearchState, Update
from nodes.summary import as_claims, summary_of

# Of the room, what stays for findings that stand whole where a model sums up the others.
_WHOLE = 0.75


@dataclass(frozen=True, slots=True)
class Compacted:
    """What a report is written from, and what was done without."""

    used: Sequence[Claim]
    statements: Sequence[Statement] = ()
    noted: Sequence[str] = ()

    @property
    def mentioned(self) -> set[str]:
        """The findings that are used, or that a statement rests on."""
        summed = {name for each in self.statements for name in each.finding_ids}
        return {claim.finding_id for claim in self.used} | summed


async def compact(
    resources: Resources, state: ResearchState, runtime: Runtime[RunOptions]
) -> Update:
    """Choose what the report is written from."""
    run_id = run_id_of(runtime)
    async with resources.ledger.transaction(run_id) as tx:
        run = await runs.get(tx, run_id)
        claims = await recorded.claims(tx, run_id)
        asked = [
            recorded.as_task(task, run.question) for task in await tasks.everything(tx, run_id)
        ]
    researcher = resources.researchers.of(run, "@compact")
    found = await _compacted(researcher, run.question, asked, claims)
    return await _recorded(resources, run_id, state, claims, found)


async def _recorded(
    resources: Resources,
    run_id: UUID,
    state: ResearchState,
    claims: Sequence[Claim],
    found: Compacted,
) -> Update:
    mentioned = [claim for claim in claims if claim.finding_id in found.mentioned]
    summary = summary_of(found.used, found.statements, left_out(claims, mentioned))
    async with resources.ledger.transaction(run_id) as tx:
        name = await artifacts.put_json(tx, summary)
        products = await notes.keep(tx, state.get("products", {}), found.noted)
        await runs.set_phase(tx, run_id, "synthesize")
    step: Json = {"name": "compact", "claims": len(claims), "used": len(found.used)}
    return {"products": {**products, "summary": name}, "step": step}


async def _compacted(
    researcher: Researcher, question: str, asked: Sequence[Task], claims: Sequence[Claim]
) -> Compacted:
    """Return all claims where they fit, else those that the report needs most and a summary of the others."""
    order, room = [task.task_id for task in asked], researcher.material_characters
    length = _length(claims)
    if length <= room:
        return Compacted(chosen(claims, order, room))
    first = await researcher.condense(question, claims, max(1, len(claims) * room // length))
    by_id = {claim.finding_id: claim for claim in claims}
    ranked = [by_id[name] for name in dict.fromkeys([*first, *by_id])]
    whole = chosen(ranked, order, int(room * _WHOLE))
    statements = await _summed_up(researcher, asked, claims, whole)
    if not statements:
        return Compacted(chosen(ranked, order, room), (), researcher.notes)
    kept = _fitting(statements, claims, order, room - _length(whole))
    noted = [*researcher.notes]
    if (beyond := len(statements) - len(kept)) > 0:
        noted.append(f"{beyond} statements of the working summary did not fit, either")
    return Compacted(whole, kept, noted)


async def _summed_up(
    researcher: Researcher, asked: Sequence[Task], claims: Sequence[Claim], whole: Sequence[Claim]
) -> list[Statement]:
    """Return what the researcher says of the claims of each task that do not stand whole."""
    used, statements = {claim.finding_id for claim in whole}, list[Statement]()
    for task in asked:
        rest = [
            claim
            for claim in claims
            if claim.task_id == task.task_id and claim.finding_id not in used
        ]
        if rest:
            statements += await researcher.summarize(task, rest)
    return statements


def _fitting(
    statements: Sequence[Statement], claims: Sequence[Claim], order: Sequence[str], room: int
) -> list[Statement]:
    kept = chosen(as_claims(statements, claims), order, room)
    return [Statement(each.task_id, each.text, each.sums_up) for each in kept]


def _length(claims: Sequence[Claim]) -> int:
    return sum(len(claim.text) for claim in claims)


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
