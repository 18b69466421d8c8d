"""One run, killed after each of its checkpoints: a copy of the database for every place where it slept.

It asks two branches of a small web, has its plan and its report reviewed, tells a webhook that it waits, and publishes to
another; both take the POST and cut the answer, so that from the first review on something is in doubt.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Collection
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit
from uuid import UUID

import psycopg
from langchain_core.runnables import RunnableConfig

from graph import position
from graph.runtime import Runtime, open_runtime
from graph.workflow import CURRENT, Definition
from ledger import effects, reviews
from ledger.faults import FaultPoint
from ledger.ids import new_run_id
from tests.faults.scripts import PAGES, TWO
from tests.support.inline import with_inline_readers
from tests.support.nasty_webhook import Place
from tests.support.observed import Observed, observe
from tests.support.postgres import temporary_database
from tests.support.search_server import SearchServer, World
from tests.support.trials import ForkServer, Trial
from tests.support.waiting import until

_EXPIRE = "UPDATE ledger.leases SET expires_at = clock_timestamp() - interval '1 hour'"
_OTHERS = """
SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
"""
# What a dead sender may still be doing is waited for that long.
LEASE_SECONDS = 2.0
# Of the checkpoints inside branches, where not all are wanted, so many are passed in one go.
_INSIDE = 8
# More answers are cut than anybody asks for meanwhile.
_CUTS = 100


@dataclass(frozen=True)
class Stop:
    """A place where the run slept: what it was about to do, and how things stood outside."""

    number: int
    name: str
    #: Its copy; empty where none was wanted.
    database: str
    trial: Trial
    steps: tuple[str, ...]
    #: How many checkpoints of branches were stored.
    inside: int
    asked: tuple[str, ...]
    answered: frozenset[str]
    reviews: tuple[tuple[str, str], ...]
    in_doubt: int
    #: Whether nothing is left to do.
    is_done: bool
    carried_out: Counter[str]
    kept: dict[str, tuple[bytes, str]]

    @property
    def run_id(self) -> UUID:
        """The run, the same in every copy."""
        return UUID(self.trial.run_id)


@dataclass
class Outside:
    """The world of the run, set back before each case to how it stood at the stop."""

    world: World
    place: Place

    def set_back(self, stop: Stop) -> None:
        """Let it stand as it did, with a webhook that answers well from now on."""
        self.world.asked = list(stop.asked)
        self.place.effects, self.place.kept = Counter(stop.carried_out), dict(stop.kept)
        self.place.asked, self.place.ways = [], []


@dataclass
class Stopped:
    """All the stops, and what the run came to in the end."""

    stops: list[Stop]
    outside: Outside
    end: Observed
    carried_out: Counter[str]


@asynccontextmanager
async def opened(
    trial: Trial, url: str, definition: Definition = CURRENT
) -> AsyncGenerator[Runtime]:
    """Open a runtime on a copy, set up as the processes of the run were."""
    settings = replace(trial, database_url=url).settings
    async with open_runtime(settings, definition=definition) as runtime:
        yield with_inline_readers(runtime)


@dataclass
class Maker:
    """Works the run on, a process for each checkpoint, and copies what is there after each death."""

    server_url: str
    forks: ForkServer
    stack: ExitStack
    outside: Outside
    trial: Trial
    #: The names of the stops that are wanted; None for every one.
    wanted: Collection[str] | None
    stops: list[Stop]

    async def work(self) -> Observed:
        """Kill and copy until the run is done."""
        trial, doubtful = self.trial, False
        while True:
            await self._expire()
            steps = self.stops[-1].steps if self.stops else ()
            at_send = steps == ("publish",) and not doubtful
            point = FaultPoint.AFTER_SEND if at_send else FaultPoint.AFTER_CHECKPOINT
            doubtful = doubtful or at_send
            kill_at = self._patience()
            ended = await self.forks.run(replace(trial, kill_at=kill_at, kill_point=point))
            if ended.killed:
                await self._copy("in doubt" if at_send else "")
            elif ended.status == "paused":
                await self._copy("asked")
                decided = replace(trial, action="decide", decision={"choice": "approve"})
                assert (await self.forks.run(decided)).status == "decided"
                await self._copy("decided")
            else:
                assert ended.status == "completed", ended.trace
                # Whoever is to be told is told of the end, too.
                assert (await self.forks.run(replace(trial, action="relay_once"))).error is None
                assert trial.database_url is not None
                async with opened(trial, trial.database_url) as runtime:
                    return await observe(runtime.ledger, UUID(trial.run_id), self.outside.world)

    def _patience(self) -> int | None:
        """Return at which of the next checkpoints to kill; None for none of them."""
        if not self.stops:
            return 1 if self.wanted is None else None
        last = self.stops[-1]
        if last.steps == ("__start__",):
            # Who has not begun stores the question once more.
            return 2
        if self.wanted is not None and "branch" in last.steps and last.inside < _INSIDE:
            return _INSIDE
        return 1

    async def _expire(self) -> None:
        """Let the lease of the dead run out, once the server has noticed that they are dead."""
        assert self.trial.database_url is not None
        async with await psycopg.AsyncConnection.connect(
            self.trial.database_url, autocommit=True
        ) as connection:

            async def alone() -> bool:
                found = await (await connection.execute(_OTHERS)).fetchone()
                return found == (0,)

            await until(alone)
            await connection.execute(_EXPIRE)

    async def _copy(self, told: str) -> None:
        await self._expire()
        url = self.trial.database_url
        assert url is not None
        stop = await self._looked_at(url, told)
        if self.wanted is not None and stop.name not in self.wanted:
            self.stops.append(stop)
            return
        name = urlsplit(url).path.removeprefix("/")
        copied = self.stack.enter_context(temporary_database(self.server_url, template=name))
        self.stops.append(replace(stop, database=urlsplit(copied).path.removeprefix("/")))

    async def _looked_at(self, url: str, told: str) -> Stop:
        world, place = self.outside.world, self.outside.place
        run_id = UUID(self.trial.run_id)
        async with opened(self.trial, url) as runtime:
            newest: RunnableConfig = {
                "configurable": {"thread_id": str(run_id), "checkpoint_ns": ""}
            }
            found = await runtime.new_saver().aget_tuple(newest)
            steps = tuple(each.node for each in position.read(found)[1]) if found else ()
            inside = 0
            async with runtime.ledger.pool.connection() as connection:
                counted = await connection.execute(
                    "SELECT count(*) AS inside FROM langgraph.checkpoints WHERE checkpoint_ns <> ''"
                )
                inside = (await counted.fetchone() or {})["inside"]
            async with runtime.ledger.transaction() as tx:
                asked = await reviews.newest_first(tx, run_id)
                carried = await effects.of_run(tx, run_id)
            observed = await observe(runtime.ledger, run_id)
        return Stop(
            number=len(self.stops),
            name=_name(observed.status, steps, told),
            database="",
            trial=self.trial,
            steps=steps,
            inside=inside,
            asked=tuple(world.asked),
            answered=frozenset(observed.answered),
            reviews=tuple((each.kind, each.status) for each in asked),
            in_doubt=sum(each.status == "in_doubt" for each in carried),
            is_done=observed.status == "completed",
            carried_out=Counter(place.effects),
            kept=dict(place.kept),
        )


def _name(status: str, steps: tuple[str, ...], told: str) -> str:
    if status == "completed":
        return "completed"
    return f"{steps[0]} {told}".strip()


async def made(
    server_url: str, template: str, forks: ForkServer, search: SearchServer, place: Place, home: Path, stack: ExitStack, *, wanted: Collection[str] | None
) -> Stopped:  # fmt: skip
    """Make all the stops, or only those of these names."""
    url = stack.enter_context(temporary_database(server_url, template=template))
    run_id = str(new_run_id())
    world = search.world(run_id)
    world.pages = PAGES
    place.ways = ["cut_after"] * _CUTS
    trial = Trial(
        "go",
        run_id,
        url,
        str(home),
        TWO,
        world.search_url,
        review="plan,report",
        publish=(f"{place.address}?publish",),
        notify=(f"{place.address}?notify",),
        lease_seconds=LEASE_SECONDS,
    )
    with temporary_database(server_url, template=template) as other:
        await forks.run(
            replace(trial, action="warm", database_url=other, review="none", publish=(), notify=())
        )
    world.asked.clear()
    world.answered.clear()
    maker = Maker(server_url, forks, stack, Outside(world, place), trial, wanted, [])
    end = await maker.work()
    return Stopped(maker.stops, maker.outside, end, Counter(place.effects))


def stops_of(
    server_url: str, template: str, forks: ForkServer, search: SearchServer, place: Place, home: Path, stack: ExitStack, *, wanted: Collection[str] | None
) -> Stopped:  # fmt: skip
    """Make the stops, for a fixture of a whole module."""
    return asyncio.run(made(server_url, template, forks, search, place, home, stack, wanted=wanted))
