"""Step `check`: gives every sentence of the draft a verdict, and makes the report of those that stand.

A sentence that its quotes do not support is left out and named. The report's citations are recorded with it.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from langgraph.runtime import Runtime
from pydantic import TypeAdapter

from ledger import artifacts, evidence, findings, runs, sources, tasks
from ledger.db import Transaction
from ledger.evidence import Evidence
from nodes import notes
from nodes.asking import Gate
from nodes.conflicts import kept_apart
from nodes.material import Draft, DraftSentence, Verdict
from nodes.options import RunOptions
from nodes.report import Material, Report, write
from nodes.reporting import asked_for, record
from nodes.researchers.base import Researcher
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
    researcher = resources.researchers.of(run, "@check")
    verdicts = await _verdicts(researcher, draft, quoted)
    skipped = await resources.toolbox.skipped(run)
    async with resources.ledger.transaction(run_id) as tx:
        summary = json.loads(await artifacts.get(tx, products["summary"]))
        noted = await notes.kept(tx, products)
        material = Material(
            question=run.question,
            disclosure=_disclosure(researcher, await runs.models_before(tx, run_id)),
            draft=replace(draft, notes=(*noted, *draft.notes, *researcher.notes)),
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


def _disclosure(researcher: Researcher, before: Sequence[str]) -> str:
    """Return how the report was made; where its model was changed, none of them alone can say it."""
    if not before:
        return researcher.disclosure
    return (
        f"More than one worked on this report: {', '.join(before)}, then {researcher.name}. Each sentence was checked against"
        " the exact quotes that it cites, and what they do not support was left out."
    )


async def _verdicts(
    researcher: Researcher, draft: Draft, quoted: dict[str, Evidence]
) -> dict[DraftSentence, Verdict]:
    return {
        sentence: await _verdict(researcher, sentence, quoted)
        for section in draft.sections
        for sentence in section.sentences
    }


async def _verdict(
    researcher: Researcher, sentence: DraftSentence, quoted: dict[str, Evidence]
) -> Verdict:
    quotes = [quoted[name].exact for name in sentence.evidence_ids]
    return await researcher.check(sentence.text, quotes) if quotes else Verdict.INSUFFICIENT


async def _record(
    tx: Transaction, run_id: UUID, report: Report, verdicts: dict[DraftSentence, Verdict]
) -> str:
    name = await record(tx, run_id, report)
    await findings.set_verdicts(tx, run_id, _of_findings(verdicts))
    return name


def _of_findings(verdicts: dict[DraftSentence, Verdict]) -> dict[str, findings.Verdict]:
    """Return the verdict of each finding: the best of those on the sentences that were made of it."""
    order = list(Verdict)
    found: dict[str, Verdict] = {}
    for sentence, verdict in verdicts.items():
        name = sentence.finding_id
        found[name] = min(found.get(name, verdict), verdict, key=order.index)
    return {name: verdict.value for name, verdict in found.items()}


def _counted(verdicts: dict[DraftSentence, Verdict]) -> dict[str, Any]:
    values = [verdict.value for verdict in verdicts.values()]
    return {value: values.count(value) for value in sorted(set(values))}
