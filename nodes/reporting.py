"""A report that is written: recorded with its citations, and asked for where it needs a person."""

from typing import Any
from uuid import UUID

from ledger import artifacts, citations, evidence, reviews, runs, sources
from ledger.canonical import Json
from ledger.db import Transaction
from nodes import recorded
from nodes.asking import Gate, Question, ask
from nodes.options import RunOptions
from nodes.report import Report
from nodes.screening import Finding, screened
from nodes.state import Update


async def record(tx: Transaction, run_id: UUID, report: Report) -> str:
    """Keep a report and its citations; returns its artifact."""
    name = await artifacts.put(tx, report.markdown.encode(), "text/markdown; charset=utf-8")
    await citations.record(tx, run_id, name, report.citations)
    await runs.set_phase(tx, run_id, "report")
    return name


async def asked_for(
    tx: Transaction, gate: Gate, report: Report, *, name: str, revised: bool = False
) -> Update:
    """Ask for the report where the review policy wants that, and for what of it is sensitive and was not released."""
    run_id, options = gate.run_id, gate.options
    questions: list[Question] = []
    if options.asks("report", needed=False):
        shown = await _shown(tx, run_id, name, report, revised=revised)
        questions.append(Question("report", shown))
    if options.sensitive and (found := await _sensitive(tx, run_id, options, report)):
        questions.append(Question("sensitive", {"sensitive": found, "report_artifact": name}))
    return await ask(tx, gate, questions)


async def _shown(
    tx: Transaction, run_id: UUID, name: str, report: Report, *, revised: bool
) -> Json:
    cited = set(report.citations)
    claims = [each for each in await recorded.claims(tx, run_id) if cited & set(each.evidence_ids)]
    of_claims = {source_id for claim in claims for source_id in claim.source_ids}
    read = [each for each in await sources.everything(tx, run_id) if each.source_id in of_claims]
    return {
        "report": report.markdown,
        "report_artifact": name,
        "citations": list(report.citations),
        "claims": recorded.shown_claims(claims),
        "sources": recorded.shown_sources(read),
        "revised": revised,
    }


async def _sensitive(
    tx: Transaction, run_id: UUID, options: RunOptions, report: Report
) -> list[dict[str, Json]]:
    found = screened(
        options.sensitive,
        run_id,
        report,
        evidence=await evidence.everything(tx, run_id),
        sources={each.source_id: each for each in await sources.everything(tx, run_id)},
        claims=await recorded.claims(tx, run_id),
    )
    released = await _released(tx, run_id)
    return [each.shown() for each in found if each.key not in released]


async def _released(tx: Transaction, run_id: UUID) -> set[tuple[str, str]]:
    """Return what people have released in this run: the ids of what they saw, with the names of the rules."""
    seen: list[Any] = [
        each
        for review in await reviews.newest_first(tx, run_id)
        if review.kind == "sensitive"
        and review.decision is not None
        and review.decision.choice == "approve"
        for each in review.shown["sensitive"]
    ]
    return {Finding(each["id"], each["name"], "").key for each in seen}
