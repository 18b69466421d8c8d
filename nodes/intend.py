"""Step `intend`: records what the run is going to do outside, before anything of it is done.

Each publication becomes a row with its target, the canonical request and its key, committed with no call made.
"""

from langgraph.runtime import Runtime

from ledger import runs
from ledger.db import Transaction
from nodes.asking import Gate, Question, ask, passed_by
from nodes.consequences import intend_publications, publications
from nodes.decisions.effect import to_release
from nodes.options import RunOptions
from nodes.resources import Resources, run_id_of
from nodes.state import ResearchState, Update

#: Targets on this machine: what is done there, its owner can undo.
STAYS_HERE = frozenset({"file"})


async def intend(
    resources: Resources, state: ResearchState, runtime: Runtime[RunOptions]
) -> Update:
    """Record the publications of the report, and ask for those that a person has to release."""
    run_id = run_id_of(runtime)
    async with resources.ledger.transaction(run_id) as tx:
        if waits := await passed_by(tx, run_id, "intend"):
            return {**waits, "step": {"name": "intend", "waits": waits["gate"]}}
        report = state.get("products", {})["report"]
        run = await runs.get(tx, run_id)
        decided = await intend_publications(tx, resources.targets, run, report)
        await runs.set_phase(tx, run_id, "publish")
        options = RunOptions.model_validate(run.options)
        gate = Gate("intend", run_id, options, state.get("decided", 0), resources.targets)
        asked = await ask(tx, gate, await _questions(tx, gate, report))
    step = {"name": "intend", "effects": len(decided)}
    return {**asked, "effects": decided | asked["effects"], "step": step}


async def _questions(tx: Transaction, gate: Gate, report: str) -> list[Question]:
    """Return what is asked before it is done; `auto` asks for what leaves this machine."""
    return [
        Question("effect", to_release(effect))
        for effect in await publications(tx, gate.run_id, report)
        if effect.status == "intended"
        and not effect.attempts
        and gate.options.asks("effect", needed=effect.kind not in STAYS_HERE)
    ]
