"""Step `extract` of a branch: takes the claims that answer the task out of what was read, each with its exact quotes."""

import asyncio
from collections.abc import Mapping, Sequence
from uuid import UUID

from langgraph.runtime import Runtime

from ledger import artifacts, evidence, findings, runs, sources, tasks
from ledger.db import Transaction
from ledger.evidence import Position
from ledger.findings import NewFinding
from nodes import recorded
from nodes.found import Found, found
from nodes.material import ClaimDraft, Document, Passage
from nodes.options import RunOptions
from nodes.resources import Resources, run_id_of
from nodes.sensitive import SensitiveRule, rules_in, rules_over
from nodes.state import BranchState, Update
from nodes.tools.passages import Readable
from nodes.tools.reading import passages_of


async def extract(resources: Resources, state: BranchState, runtime: Runtime[RunOptions]) -> Update:
    """Record the claims of this round."""
    run_id = run_id_of(runtime)
    async with resources.ledger.transaction(run_id) as tx:
        run = await runs.get(tx, run_id)
        task = await tasks.get(tx, run_id, state["task_id"])
        hits = await found(tx, run_id, state.get("searches", []))
        kept = await sources.some(tx, run_id, state.get("sources", []))
        # What a person left out stays left out, whatever is searched again.
        read = [source for source in kept if source.excluded_by is None]
        texts = await artifacts.get_texts(tx, {source.text_artifact for source in read})
    readable = {
        source.uri: Readable(_document(source), texts[source.text_artifact]) for source in read
    }
    passages, rarity = await asyncio.to_thread(_passages, hits, readable, state.get("queries", []))
    withheld: list[str] = []
    researcher = resources.researchers.of(run, task.task_id, task.retries)
    if researcher.outside:
        options = RunOptions.model_validate(run.options)
        passages, withheld = _allowed(passages, read, options.sensitive)
    asked = recorded.as_task(task, run.question)
    drafts = await researcher.extract(asked, passages, rarity)
    by_text = {source.text_artifact: source.source_id for source in read}
    async with resources.ledger.transaction(run_id) as tx:
        names = await _record(tx, run_id, task, drafts, by_text)
    return {
        "findings": list(dict.fromkeys([*state.get("findings", []), *names])),
        "failures": list(dict.fromkeys([*state.get("failures", []), *researcher.notes, *withheld])),
        "step": {"name": "extract", "passages": len(passages), "claims": len(names)},
    }


def _document(source: sources.Source) -> Document:
    return Document(
        source.uri, source.title, source.content_artifact, source.text_artifact, source.extractor
    )


def _passages(
    hits: Found, readable: Mapping[str, Readable], queries: Sequence[str]
) -> tuple[tuple[Passage, ...], Mapping[str, float]]:
    return passages_of(hits.hits, hits.rarity, readable, queries)


def _allowed(
    passages: Sequence[Passage], read: Sequence[sources.Source], rules: Sequence[SensitiveRule]
) -> tuple[tuple[Passage, ...], list[str]]:
    """Return the passages that may leave this machine, and in words which documents had others."""
    addresses = {source.uri: (source.uri, source.canonical_uri) for source in read}
    named = {
        passage: [
            *rules_over(rules, *addresses.get(passage.uri, (passage.uri,))),
            *rules_in(rules, f"{passage.title}\n{passage.text}"),
        ]
        for passage in passages
    }
    allowed = tuple(passage for passage, names in named.items() if not names)
    withheld = [
        f"{passage.uri}: withheld from the model, by the policy {names[0]!r}"
        for passage, names in named.items()
        if names
    ]
    return allowed, list(dict.fromkeys(withheld))


async def _record(
    tx: Transaction,
    run_id: UUID,
    task: tasks.Task,
    drafts: Sequence[ClaimDraft],
    by_text: Mapping[str, str],
) -> list[str]:
    positions = [
        Position(by_text[quote.text_artifact], quote.text_artifact, quote.start, quote.end)
        for draft in drafts
        for quote in draft.quotes
    ]
    cut = iter(await evidence.record(tx, run_id, positions))
    new = [
        NewFinding(
            task_id=task.task_id,
            attempt=task.attempts,
            retry=task.retries,
            kind="claim",
            claim=draft.text,
            evidence_ids=tuple(next(cut).evidence_id for _ in draft.quotes),
            confidence=draft.confidence,
        )
        for draft in drafts
    ]
    return await findings.record(tx, run_id, new)
