"""Step `revise`: makes the report anew out of a text that a person edited, or that has to leave something out.

Its cited sentences are checked again; what the quotes do not support, and what was added without a citation, is marked in
the text. The list of citations is code's. What comes of it is asked for again where the policy wants that.
"""

from collections.abc import Sequence
from typing import Any, cast
from uuid import UUID

from langgraph.runtime import Runtime

from ledger import artifacts, citations, evidence, forks, runs, sources, votes
from ledger.db import Transaction
from ledger.evidence import Evidence
from ledger.questions import Review
from nodes import recorded
from nodes.asking import Gate
from nodes.decisions.base import part_of
from nodes.decisions.report import text_of
from nodes.material import Verdict
from nodes.options import RunOptions
from nodes.report import Report, citation_list
from nodes.reporting import asked_for, record
from nodes.researchers.base import Researcher
from nodes.resources import Resources, run_id_of
from nodes.revision import Base, Judge, Revised, revise_text
from nodes.screening import line_id
from nodes.state import ResearchState, Update


async def revise(
    resources: Resources, state: ResearchState, runtime: Runtime[RunOptions]
) -> Update:
    """Check and mark the edited text, write its citations, and ask for what of it needs a person."""
    run_id = run_id_of(runtime)
    products = state.get("products", {})
    async with resources.ledger.transaction(run_id) as tx:
        run = await runs.get(tx, run_id)
        options = RunOptions.model_validate(run.options)
        decided = [await forks.review_of(tx, run_id, each) for each in state.get("revision", [])]
        base = await _base(tx, run_id, products["report"])
        quoted = await evidence.everything(tx, run_id)
        read = {each.source_id: each for each in await sources.everything(tx, run_id)}
    text, who = _edited(base.text, decided)
    kept = _without(run_id, text, decided)
    revised = await revise_text(
        kept, base, who, _judge(resources.researchers.of(run, "@revise"), quoted)
    )
    parts = [revised.text, *citation_list(revised.numbers, quoted, read)]
    report = Report("\n\n".join(parts) + "\n", tuple(revised.numbers))
    async with resources.ledger.transaction(run_id) as tx:
        name = await record(tx, run_id, report)
        gate = Gate("revise", run_id, options, state.get("decided", 0), resources.targets)
        asked = await asked_for(tx, gate, report, name=name, revised=True)
    step = {"name": "revise", "citations": len(report.citations), **_counted(revised)}
    return {"products": {**products, "report": name}, "revision": [], **asked, "step": step}


async def _base(tx: Transaction, run_id: UUID, report: str) -> Base:
    cited = [each.evidence_id for each in await citations.of_report(tx, run_id, report)]
    standing = await recorded.claims(tx, run_id)
    citable = frozenset(name for claim in standing for name in claim.evidence_ids)
    return Base(await artifacts.get_text(tx, report), cited, citable)


def _edited(text: str, decided: Sequence[Review]) -> tuple[str, str]:
    """Return the text that a person gave and who gave it; where nobody did, the report's own."""
    for review in decided:
        if review.kind == "report" and review.decision is not None:
            given = text_of(review.decision.edit)
            if given is not None:
                agreed = [
                    vote.decided_by
                    for vote in review.votes
                    if votes.same_content(vote, "edit", review.decision.edit)
                ]
                return given, " and ".join(dict.fromkeys([*agreed, review.decision.decided_by]))
    return text, "nobody"


def _without(run_id: UUID, text: str, decided: Sequence[Review]) -> str:
    """Return the text without the lines that a person left out as sensitive."""
    omitted = {
        name
        for review in decided
        if review.kind == "sensitive" and review.decision is not None and review.decision.edit
        for name in _names(review.decision.edit)
    }
    return "\n".join(line for line in text.splitlines() if line_id(run_id, line) not in omitted)


def _names(edit: Any) -> Sequence[str]:
    return cast("Sequence[str]", part_of(edit, "omit"))


def _judge(researcher: Researcher, quoted: dict[str, Evidence]) -> Judge:
    async def judge(sentence: str, cited: Sequence[str]) -> Verdict:
        return await researcher.check(sentence, [quoted[name].exact for name in cited])

    return judge


def _counted(revised: Revised) -> dict[str, int]:
    return {"doubted": revised.doubted, "added": revised.added, "left_out": revised.left_out}
