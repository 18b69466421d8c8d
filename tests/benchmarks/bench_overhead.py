"""What the ledger and the journal add to a run: the same graph with LangGraph's own saver and no ledger, against ours.

Both work the same question of ten facets in one process, by turns, with the same researcher and the same web tool, on the
same database, which waits for its disk. Each answer of the web takes 250 ms, which is quick for a search service or a page from far
away; the figure for a web that takes no time at all is printed too: there everything that is left is bookkeeping.
"""

import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

from graph.runs import start_run
from graph.runtime import Runtime, open_runtime
from graph.settings import Settings
from graph.threads import RECURSION_MAX
from ledger.ids import new_run_id
from nodes.options import RunOptions
from nodes.researchers.extractive import ExtractiveResearcher
from nodes.tools.toolbox import RunToolbox
from tests.support.inline import with_inline_readers
from tests.support.open_web import LOOPBACK
from tests.support.pages import ten_subjects
from tests.support.plain_branches import PlainBranches
from tests.support.plain_calls import plain_pool
from tests.support.search_server import SearchServer, World
from tests.support.targets import tell

ROUNDS = 7
TIMES_MAX = 1.3
LATENCY_SECONDS = 0.25
BRANCHES = 4


async def seconds_of(work: Callable[[], Awaitable[object]]) -> float:
    """Return what a piece of work takes."""
    begun = time.perf_counter()
    await work()
    return time.perf_counter() - begun


class Contest:
    """Our run and its peer on the same question."""

    def __init__(
        self, runtime: Runtime, saver: AsyncPostgresSaver, home: Path, question: str
    ) -> None:
        toolbox = runtime.resources.toolbox
        assert isinstance(toolbox, RunToolbox)
        assert toolbox.web is not None
        self.runtime, self.question = runtime, question
        nodes = PlainBranches(ExtractiveResearcher(), toolbox.web, home)
        self.peer = nodes.graph().compile(checkpointer=saver)

    async def ours(self) -> None:
        """Work a run."""
        outcome = await start_run(
            self.runtime, self.question, RunOptions(review="none", branches=BRANCHES)
        )
        assert outcome.run.status == "completed"

    async def theirs(self) -> None:
        """Work a thread of the peer."""
        config: RunnableConfig = {
            "configurable": {"thread_id": str(new_run_id())},
            "max_concurrency": BRANCHES,
            "recursion_limit": RECURSION_MAX,
        }
        state = await self.peer.ainvoke({"question": self.question}, config, durability="sync")
        assert state["report"]

    async def ratio(self) -> tuple[float, float]:
        """Return the median seconds of both, worked by turns after one warm-up each."""
        await self.ours()
        await self.theirs()
        ours, theirs = [], []
        for _ in range(ROUNDS):
            ours.append(await seconds_of(self.ours))
            theirs.append(await seconds_of(self.theirs))
        return median(ours), median(theirs)


@pytest.fixture
def world(search_server: SearchServer) -> World:
    """The web of both."""
    return search_server.world("overhead")


async def test_the_ledger_adds_little_to_a_run(
    world: World, durable_url: str, tmp_path: Path
) -> None:
    question, world.pages = ten_subjects()
    settings = Settings.model_validate(
        {
            "database_url": durable_url,
            "home": tmp_path,
            "search_url": world.search_url,
            "private_networks": [LOOPBACK],
        }
    )
    async with open_runtime(settings) as opened, plain_pool(durable_url, 10) as pool:
        contest = Contest(with_inline_readers(opened), AsyncPostgresSaver(pool), tmp_path, question)
        bare = await contest.ratio()
        world.latency_seconds = lambda _: LATENCY_SECONDS
        real = await contest.ratio()
    for name, (ours, theirs) in (("no time", bare), (f"{LATENCY_SECONDS * 1000:.0f} ms", real)):
        print(
            f"\nanswers take {name}: perdure {ours:.2f} s, without ledger {theirs:.2f} s, {ours / theirs:.2f} times"
        )
    tell("what the ledger adds to a run, times", real[0] / real[1], TIMES_MAX)
