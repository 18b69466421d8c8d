"""Step `search` of a branch: asks every tool every query of this round, through the journal."""

import asyncio
from dataclasses import asdict
from functools import partial
from uuid import UUID

from langgraph.runtime import Runtime

from ledger import runs, tasks
from ledger.canonical import Json
from ledger.journal import Answer, Recorded
from ledger.requests import Request
from nodes import recorded
from nodes.calls import call
from nodes.material import SearchResult
from nodes.options import RunOptions
from nodes.resources import Resources, Tool, run_id_of
from nodes.state import BranchState, Update
from nodes.tools.addresses import canonical_query, distinct_queries

# Hits of one query that are looked at: further ones were never among the answers in the question set of the tests.
HITS_MAX = 12


async def search(resources: Resources, state: BranchState, runtime: Runtime[RunOptions]) -> Update:
    """Begin a round: the researcher's queries at first, those of the last assessment afterwards."""
    run_id = run_id_of(runtime)
    async with resources.ledger.transaction(run_id) as tx:
        run = await runs.get(tx, run_id)
        if state.get("round", 0) == 0:
            await tasks.begin(tx, run_id, state["task_id"])
        task = await tasks.get(tx, run_id, state["task_id"])
    researcher = resources.researchers.of(run, task.task_id, task.retries)
    queries = distinct_queries(
        state.get("queries") or await researcher.queries(recorded.as_task(task, run.question))
    )
    resources.progress.task(run_id, task.task_id, "searching", task.question)
    tools = await resources.toolbox.tools(run)
    answers = await asyncio.gather(
        *(_search(resources, run_id, task, tool, query) for query in queries for tool in tools)
    )
    failed = [answer for answer in answers if isinstance(answer, str)]
    found = [answer for answer in answers if isinstance(answer, Recorded)]
    return {
        "round": state.get("round", 0) + 1,
        "queries": queries,
        "searches": [answer.operation_id for answer in found],
        "failures": [*state.get("failures", []), *researcher.notes, *failed],
        "step": {
            "name": "search",
            "queries": queries,
            "hits": sum(len(answer.body["hits"]) for answer in found),
        },
    }


async def _search(
    resources: Resources, run_id: UUID, task: tasks.Task, tool: Tool, query: str
) -> Recorded | str:
    body: dict[str, Json] = {"tool": dict(tool.identity), "query": query, "limit": HITS_MAX}
    # What is sent stays as it was written.
    same: Json = {**body, "query": canonical_query(query)}
    request = Request(task.task_id, "search", body, retry=task.retries, same=same)
    return await call(
        resources, run_id, request, tool.search(query, HITS_MAX), partial(_answer, tool)
    )


def _answer(tool: Tool, result: SearchResult) -> Answer:
    return Answer(
        {
            "tool": tool.name,
            "hits": [asdict(hit) for hit in result.hits],
            "rarity": dict(result.rarity),
            "missing": list(result.missing),
        }
    )
