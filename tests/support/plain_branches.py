"""Our graph without our ledger: the same steps, topology, researcher and tool, the material in LangGraph's state.

What `tests/benchmarks/bench_overhead.py` compares a run with: everything that was found travels in the state and is
stored by LangGraph's own saver; nothing is journalled, cited by id or audited.
"""

import asyncio
import operator
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import Send

from nodes.assess import ROUNDS_MAX
from nodes.compact import chosen
from nodes.found import PLACES_MAX
from nodes.material import Claim, Document, Hit, Task
from nodes.options import TASKS_MAX
from nodes.publish import write_whole
from nodes.read import DOCUMENTS_MAX
from nodes.researchers.base import MATERIAL_CHARACTERS_MAX, Researcher
from nodes.search import HITS_MAX
from nodes.tools.passages import Readable, merge_hits
from nodes.tools.reading import passages_of
from nodes.tools.web import WebSearch
from tests.support.inline import made


class Run(TypedDict, total=False):
    """A run."""

    question: str
    tasks: list[dict[str, Any]]
    ready: list[dict[str, Any]]
    claims: Annotated[list[dict[str, Any]], operator.add]
    used: list[dict[str, Any]]
    draft: dict[str, Any]
    report: str


class Branch(TypedDict, total=False):
    """One task."""

    task: dict[str, Any]
    round: int
    queries: list[str]
    hits: list[dict[str, Any]]
    pages: list[dict[str, Any]]
    found: list[dict[str, Any]]
    done: bool
    claims: list[dict[str, Any]]


class PlainBranches:
    """The steps."""

    def __init__(self, researcher: Researcher, web: WebSearch, folder: Path) -> None:
        self.researcher, self.web, self.folder = researcher, web, folder

    async def plan(self, state: Run) -> Run:
        drafts = await self.researcher.plan(state["question"], TASKS_MAX)
        tasks = [
            {"task_id": each.task_id, "question": each.question, "run_question": state["question"]}
            for each in drafts
        ]
        return {"tasks": tasks, "ready": tasks}

    async def dispatch(self, state: Run) -> Run:
        ended = {claim["task_id"] for claim in state.get("claims", [])}
        return {"ready": [task for task in state["ready"] if task["task_id"] not in ended]}

    def to_branches(self, state: Run) -> list[Send] | str:
        return [Send("branch", {"task": task}) for task in state["ready"]] or "compact"

    async def collect(self, state: Run) -> Run:
        return {"ready": []}

    async def go_on(self, state: Run) -> Run:
        return {"ready": state.get("ready", [])}

    async def compact(self, state: Run) -> Run:
        claims = [_claim(each) for each in state["claims"]]
        order = [task["task_id"] for task in state["tasks"]]
        return {"used": [asdict(each) for each in chosen(claims, order, MATERIAL_CHARACTERS_MAX)]}

    async def synthesize(self, state: Run) -> Run:
        tasks = [Task(**task) for task in state["tasks"]]
        claims = [_claim(each) for each in state["used"]]
        return {
            "draft": asdict(await self.researcher.synthesize(state["question"], tasks, claims, []))
        }

    async def check(self, state: Run) -> Run:
        quotes = {claim["finding_id"]: claim["quotes"] for claim in state["used"]}
        lines = [f"# {state['question']}"]
        for section in state["draft"]["sections"]:
            lines.append(f"## {section['heading']}")
            for sentence in section["sentences"]:
                verdict = await self.researcher.check(
                    sentence["text"], quotes[sentence["finding_id"]]
                )
                lines.append(f"- {sentence['text']} ({verdict})")
        return {"report": "\n\n".join(lines)}

    async def publish(self, state: Run) -> Run:
        await asyncio.to_thread(write_whole, self.folder / "plain.md", state["report"].encode())
        return {"ready": []}

    async def search(self, state: Branch) -> Branch:
        queries = state.get("queries") or list(await self.researcher.queries(Task(**state["task"])))
        results = await asyncio.gather(
            *(made(self.web.search(query, HITS_MAX)) for query in queries)
        )
        hits = merge_hits([result.hits for result in results], PLACES_MAX)
        return {
            "queries": queries,
            "hits": [asdict(hit) for hit in hits],
            "round": state.get("round", 0) + 1,
        }

    async def read(self, state: Branch) -> Branch:
        uris = list(dict.fromkeys(hit["uri"] for hit in state["hits"]))[:DOCUMENTS_MAX]
        pages: list[dict[str, Any]] = []
        for reading in await asyncio.gather(*(made(self.web.read(uri)) for uri in uris)):
            assert reading.extraction is not None
            pages.append(
                {
                    "uri": reading.source.uri,
                    "title": reading.source.title,
                    "text": reading.extraction.text,
                }
            )
        return {"pages": pages}

    async def extract(self, state: Branch) -> Branch:
        readable = {
            page["uri"]: Readable(
                Document(page["uri"], page["title"], page["uri"], page["uri"], "plain"),
                page["text"],
            )
            for page in state["pages"]
        }
        hits = [Hit(**hit) for hit in state["hits"]]
        passages, rarity = await asyncio.to_thread(
            passages_of, hits, {}, readable, state["queries"]
        )
        drafts = await self.researcher.extract(Task(**state["task"]), passages, rarity)
        found = [
            {
                "finding_id": f"{state['task']['task_id']}-{number}",
                "task_id": state["task"]["task_id"],
                "text": draft.text,
                "evidence_ids": [f"{quote.text_artifact}:{quote.start}" for quote in draft.quotes],
                "quotes": [
                    readable[quote.text_artifact].text[quote.start : quote.end]
                    for quote in draft.quotes
                ],
                "confidence": draft.confidence,
            }
            for number, draft in enumerate(drafts)
        ]
        return {"found": found}

    async def assess(self, state: Branch) -> Branch:
        claims = [_claim(each) for each in state["found"]]
        judged = await self.researcher.assess(Task(**state["task"]), claims, state["round"])
        if judged.queries and state["round"] < ROUNDS_MAX:
            return {"queries": list(judged.queries)}
        return {"done": True, "claims": state["found"]}

    def graph(self) -> StateGraph[Run, None, Run, Run]:
        """Return the topology of `graph.build`."""
        branch = StateGraph(Branch)
        branch.add_node("search", self.search)
        branch.add_node("read", self.read)
        branch.add_node("extract", self.extract)
        branch.add_node("assess", self.assess)
        branch.add_edge(START, "search")
        branch.add_edge("search", "read")
        branch.add_edge("read", "extract")
        branch.add_edge("extract", "assess")
        branch.add_conditional_edges("assess", _again, ["search", END])
        graph = StateGraph(Run)
        for step in (
            self.plan,
            self.dispatch,
            self.collect,
            self.compact,
            self.synthesize,
            self.check,
            self.publish,
        ):
            graph.add_node(step.__name__, step)
        graph.add_node("branch", branch.compile())
        graph.add_node("intend", self.go_on)
        for sequence in (
            (START, "plan", "dispatch"),
            ("compact", "synthesize", "check", "intend", "publish", END),
        ):
            for before, after in pairwise(sequence):
                graph.add_edge(before, after)
        graph.add_conditional_edges("dispatch", self.to_branches, ["branch", "compact"])
        graph.add_edge("branch", "collect")
        graph.add_edge("collect", "dispatch")
        return graph


def _again(state: Branch) -> Literal["search", "__end__"]:
    return "__end__" if state.get("done") else "search"


def _claim(value: dict[str, Any]) -> Claim:
    return Claim(
        **{**value, "evidence_ids": tuple(value["evidence_ids"]), "quotes": tuple(value["quotes"])}
    )
