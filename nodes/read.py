"""Step `read` of a branch: reads the documents that the searches pointed to, through the journal."""

import asyncio
from collections.abc import Sequence
from functools import partial
from uuid import UUID

from langgraph.runtime import Runtime

from ledger import documents, runs, sources, tasks
from ledger.canonical import Json
from ledger.db import Transaction
from ledger.journal import Answer, Recorded
from ledger.requests import Request
from ledger.sources import source_id
from nodes import recorded
from nodes.calls import call
from nodes.found import Found, found
from nodes.material import Hit
from nodes.options import RunOptions, ToolMissing
from nodes.resources import Reading, Resources, Tool, run_id_of
from nodes.sensitive import SensitiveRule, rules_in, rules_over
from nodes.state import BranchState, Update

# Documents read per round: those of all places that are looked at.
DOCUMENTS_MAX = 12


async def read(resources: Resources, state: BranchState, runtime: Runtime[RunOptions]) -> Update:
    """Read the best documents of this round; one that was read in an earlier round is not read again."""
    run_id = run_id_of(runtime)
    async with resources.ledger.transaction(run_id) as tx:
        run = await runs.get(tx, run_id)
        task = await tasks.get(tx, run_id, state["task_id"])
        hits = await found(tx, run_id, state.get("searches", []))
    tools = {tool.name: tool for tool in await resources.toolbox.tools(run)}
    researcher = resources.researchers.of(run, task.task_id, task.retries)
    rules = RunOptions.model_validate(run.options).sensitive if researcher.outside else ()
    shown, kept = apart(hits.hits, rules)
    chosen = await researcher.choose(recorded.as_task(task, run.question), shown)
    uris = best_documents(hits, [*chosen, *kept])
    if any(hits.tool_of[uri] not in tools for uri in uris):
        raise ToolMissing
    answers = await asyncio.gather(
        *(_read(resources, run_id, task, tools[hits.tool_of[uri]], uri) for uri in uris)
    )
    failed = [answer for answer in answers if isinstance(answer, str)]
    new = [answer.body["source_id"] for answer in answers if isinstance(answer, Recorded)]
    return {
        "sources": list(dict.fromkeys([*state.get("sources", []), *new])),
        "failures": [*state.get("failures", []), *researcher.notes, *failed],
        "step": {"name": "read", "sources": len(new), "failed": len(failed)},
    }


def apart(hits: Sequence[Hit], rules: Sequence[SensitiveRule]) -> tuple[tuple[Hit, ...], list[str]]:
    """Return the hits whose address and title may leave this machine, and the addresses of the others.

    Those are read here nevertheless, after all others: `extract` withholds what it must, and says so.
    """
    kept = {
        hit.uri
        for hit in hits
        if any(rules_over(rules, hit.uri)) or any(rules_in(rules, f"{hit.uri}\n{hit.title}"))
    }
    shown = tuple(hit for hit in hits if hit.uri not in kept)
    return shown, [hit.uri for hit in hits if hit.uri in kept]


def best_documents(hits: Found, chosen: Sequence[str]) -> Sequence[str]:
    """Return the addresses of the documents to read, best first: of those that were found, and no others."""
    return [uri for uri in dict.fromkeys(chosen) if uri in hits.tool_of][:DOCUMENTS_MAX]


async def _read(
    resources: Resources, run_id: UUID, task: tasks.Task, tool: Tool, uri: str
) -> Recorded | str:
    body: Json = {"tool": dict(tool.identity), "uri": uri}
    # Addresses of pages are in their canonical form since they were found (nodes/tools/web.py).
    request = Request(task.task_id, "read", body, retry=task.retries, same=body)
    return await call(resources, run_id, request, tool.read(uri), partial(_answer, run_id))


def _answer(run_id: UUID, reading: Reading) -> Answer:
    return Answer(
        {"source_id": source_id(run_id, reading.source), "uri": reading.source.uri},
        partial(_keep, run_id, reading),
    )


async def _keep(run_id: UUID, reading: Reading, tx: Transaction) -> None:
    if reading.extraction is not None:
        await documents.record(tx, [reading.extraction])
    await sources.record(tx, run_id, reading.source)
