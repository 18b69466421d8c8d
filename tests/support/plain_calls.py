"""The graph that one would write without a ledger: one node per call, Send for the fan-out, LangGraph's own saver.

It is what our runs are compared with in `tests/benchmarks/bench_kills.py`: the same researcher, the same tool, the same
calls, and the advice that everybody gives ("put each call into a node of its own, and the checkpointer will resume").
"""

import operator
from typing import Annotated, Any, TypedDict

import httpx
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool

from graph.migrate import LANGGRAPH_SCHEMA
from graph.web import PAGE_READERS
from nodes.material import Document, Hit, Task
from nodes.read import DOCUMENTS_MAX
from nodes.researchers.extractive import ExtractiveResearcher
from nodes.search import HITS_MAX
from nodes.tools.extractors import Extractors
from nodes.tools.passages import Readable
from nodes.tools.reading import passages_of
from nodes.tools.search.searxng import SearXNG
from nodes.tools.web import WebSearch
from tests.support.inline import made
from tests.support.open_web import open_pages


class State(TypedDict, total=False):
    """Everything that was found is in the state."""

    question: str
    tasks: list[dict[str, Any]]
    searched: Annotated[list[dict[str, Any]], operator.add]
    read: Annotated[list[dict[str, Any]], operator.add]
    claims: list[str]


class PlainCalls:
    """The nodes, over a researcher and a tool."""

    def __init__(self, web: WebSearch) -> None:
        self.web = web
        self.researcher = ExtractiveResearcher()

    async def plan(self, state: State) -> State:
        """Split the question and choose the searches."""
        drafts = await self.researcher.plan(state["question"], 12)
        tasks = [
            {
                "id": draft.task_id,
                "question": draft.question,
                "queries": await self.researcher.queries(
                    Task(draft.task_id, draft.question, state["question"])
                ),
            }
            for draft in drafts
        ]
        return {"tasks": tasks}

    def to_search(self, state: State) -> list[Send]:
        """One node for each search."""
        return [
            Send("search", {"task": task["id"], "query": query})
            for task in state["tasks"]
            for query in task["queries"]
        ]

    async def search(self, call: dict[str, Any]) -> State:
        """Make one search."""
        result = await made(self.web.search(call["query"], HITS_MAX))
        hits = [(hit.uri, hit.title, hit.score) for hit in result.hits]
        return {"searched": [{"task": call["task"], "hits": hits}]}

    async def choose(self, state: State) -> State:
        """Wait for all searches."""
        return {}

    def to_read(self, state: State) -> list[Send]:
        """One node for each page of each task."""
        sends: list[Send] = []
        for task in state["tasks"]:
            found = [
                hit[0]
                for one in state["searched"]
                if one["task"] == task["id"]
                for hit in one["hits"]
            ]
            sends += [
                Send("read", {"task": task["id"], "uri": uri})
                for uri in list(dict.fromkeys(found))[:DOCUMENTS_MAX]
            ]
        return sends

    async def read(self, call: dict[str, Any]) -> State:
        """Read one page."""
        reading = await made(self.web.read(call["uri"]))
        assert reading.extraction is not None
        page = {
            "task": call["task"],
            "uri": call["uri"],
            "title": reading.source.title,
            "text": reading.extraction.text,
        }
        return {"read": [page]}

    async def answer(self, state: State) -> State:
        """Extract the claims of all tasks."""
        claims: list[str] = []
        for task in state["tasks"]:
            pages = {
                page["uri"]: Readable(
                    Document(page["uri"], page["title"], page["uri"], page["uri"], "plain"),
                    page["text"],
                )
                for page in state["read"]
                if page["task"] == task["id"]
            }
            hits = [
                Hit(*hit)
                for one in state["searched"]
                if one["task"] == task["id"]
                for hit in one["hits"]
            ]
            passages, rarity = passages_of(hits, {}, pages, task["queries"])
            asked = Task(task["id"], task["question"], state["question"])
            claims += [
                draft.text for draft in await self.researcher.extract(asked, passages, rarity)
            ]
        return {"claims": claims}

    def graph(self) -> StateGraph[State, None, State, State]:
        """Return the topology."""
        graph = StateGraph(State)
        graph.add_node("plan", self.plan)
        graph.add_node("search", self.search)  # type: ignore[arg-type]  # its input is what Send carries
        graph.add_node("choose", self.choose)
        graph.add_node("read", self.read)  # type: ignore[arg-type]
        graph.add_node("answer", self.answer)
        graph.add_edge(START, "plan")
        graph.add_conditional_edges("plan", self.to_search, ["search"])
        graph.add_edge("search", "choose")
        graph.add_conditional_edges("choose", self.to_read, ["read"])
        graph.add_edge("read", "answer")
        graph.add_edge("answer", END)
        return graph


def plain_pool(database_url: str, size: int) -> AsyncConnectionPool[Any]:
    """Return a closed pool for LangGraph's own saver, as its documentation says, in the schema of its tables."""
    kwargs = {
        "autocommit": True,
        "prepare_threshold": 0,
        "row_factory": dict_row,
        "options": f"-c search_path={LANGGRAPH_SCHEMA}",
    }
    return AsyncConnectionPool[Any](
        database_url, min_size=1, max_size=size, open=False, kwargs=kwargs
    )


async def work(
    database_url: str, search_url: str, question: str, thread_id: str, branches: int
) -> str:
    """Begin a thread, or go on with it where it was killed; returns its end."""
    config: RunnableConfig = {"configurable": {"thread_id": thread_id}, "max_concurrency": branches}
    async with (
        plain_pool(database_url, branches) as pool,
        httpx.AsyncClient() as client,
        open_pages() as pages,
        Extractors(PAGE_READERS) as readers,
    ):
        nodes = PlainCalls(WebSearch(SearXNG(search_url), client, pages, readers))
        graph = nodes.graph().compile(checkpointer=AsyncPostgresSaver(pool))
        begun = (await graph.aget_state(config)).config["configurable"].get("checkpoint_id")
        state = await graph.ainvoke(
            None if begun else {"question": question}, config, durability="sync"
        )
    assert state["claims"]
    return "completed"
