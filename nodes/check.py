"""Step `check`: gives every sentence of the draft a verdict, and makes the report of those that stand.

A sentence that its quotes do not support is left out and named. The report's citations are recorded with it.
"""

import json
from typing import Any
from uuid import UUID

from langgraph.runtime import Runtime
from pydantic import TypeAdapter

from ledger import artifacts, evidence, findings, runs, sources, tasks
from ledger.db import Transaction
from ledger.evidence import Evidence
from nodes.asking import Gate
from nodes.conflicts import kept_apart
from nodes.material import Draft, DraftSentence, Verdict
from nodes.options import RunOptions
from nodes.report import Material, Report, write
from nodes.reporting import asked_for, record
from nodes.resources import Resources, run_id_of
from nodes.state import ResearchState, Update

_DRAFT = TypeAdapter(Draft)


async def check(resources: Resources, state: ResearchState, runtime: Runtime[RunOptions]) -> Update:
    """Check the draft, write the report, and ask for what of it needs a person."""
    run_id = run_id_of(runtime)
    products = state.get("products", {})
    async with resources.ledger.transaction(run_id) as tx:
        run = await runs.get(tx, run_id)
        draft = _DRAFT.validate_python(json.loads(await artifacts.get(tx, products["draft"])))
        quoted = await evidence.everything(tx, run_id)
    verdicts = await _verdicts(resources, draft, quoted)
    skipped = await resources.toolbox.skipped(run)
    async with resources.ledger.transaction(run_id) as tx:
        summary = json.loads(await artifacts.get(tx, products["summary"]))
        material = Material(
            question=run.question,
            disclosure=resources.researcher.disclosure,
            draft=draft,
            verdicts=verdicts,
            evidence=quoted,
            sources={source.source_id: source for source in await sources.everything(tx, run_id)},
            tasks=tuple(await tasks.everything(tx, run_id)),
            skipped=skipped,
            left_out=summary["left_out"],
            kept_apart=tuple(await kept_apart(tx, run_id)),
            unreviewed=tuple(state.get("unreviewed", [])),
        )
        report = write(material)
        name = await _record(tx, run_id, report, verdicts)
        options = RunOptions.model_validate(run.options)
        gate = Gate("check", run_id, options, state.get("decided", 0), resources.targets)
        asked = await asked_for(tx, gate, report, name=name)
    return {
        "products": {**products, "report": name},
        **asked,
        "step": {
            "name": "check",
            "verdicts": _counted(verdicts),
            "citations": len(report.citations),
        },
    }


async def _verdicts(
    resources: Resources, draft: Draft, quoted: dict[str, Evidence]
) -> dict[str, Verdict]:
    return {
        sentence.finding_id: await _verdict(resources, sentence, quoted)
        for section in draft.sections
        for sentence in section.sentences
    }


async def _verdict(
    resources: Resources, sentence: DraftSentence, quoted: dict[str, Evidence]
) -> Verdict:
    quotes = [quoted[name].exact for name in sentence.evidence_ids]
    return (
        await resources.researcher.check(sentence.text, quotes) if quotes else Verdict.INSUFFICIENT
    )


async def _record(
    tx: Transaction, run_id: UUID, report: Report, verdicts: dict[str, Verdict]
) -> str:
    name = await record(tx, run_id, report)
    await findings.set_verdicts(
        tx, run_id, {finding: verdict.value for finding, verdict in verdicts.items()}
    )
    return name


def _counted(verdicts: dict[str, Verdict]) -> dict[str, Any]:
    values = [verdict.value for verdict in verdicts.values()]
    return {value: values.count(value) for value in sorted(set(values))}
