"""A lane plays cases, one after another: a PostgreSQL of its own behind a proxy, and an outside world."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

from graph.cluster import Cluster
from graph.migrate import migrate
from ledger.ids import new_run_id
from tests.faults.doors import Door
from tests.faults.gate import Gate
from tests.faults.oracle import Oracle
from tests.faults.outside import Outside, World
from tests.faults.places import (
    OTHER_DATABASE,
    SENDER,
    Places,
    in_database,
    make_tables,
)
from tests.faults.proxy import SOCKET_NAME, Proxy
from tests.faults.scripts import Scenario
from tests.support.observed import reading
from tests.support.postgres import make_cluster
from tests.support.trials import ForkServer, Trial


@dataclass
class Lane:
    """Everything that a case needs; from `open_lane`."""

    forks: ForkServer
    folder: Path
    cluster: Cluster
    gate: Gate
    proxy: Proxy
    outside: Outside
    door: Door
    oracle: Oracle
    stack: AsyncExitStack
    #: The process that works now.
    at_work: list[int] = field(default_factory=list[int])

    @property
    def home(self) -> Path:
        """PERDURE_HOME of all processes of this lane."""
        return self.folder / "home"

    @property
    def published(self) -> Path:
        """Where runs of this lane publish files."""
        return self.folder / "published"

    def new_run(self, scenario: Scenario, bug: str | None = None) -> tuple[Trial, World]:
        """Return a new run with a world of its own."""
        run_id = str(new_run_id())
        address = f"{self.outside.address}/{run_id}"
        world = World(
            address,
            scenario.pages,
            scenario.failing,
            scenario.hooks_failing,
            scenario.request_seconds,
        )
        self.outside.world(run_id, world)
        places = Places(run_id, address, self.published, scenario.request_seconds)
        trial = Trial(
            action="go",
            run_id=run_id,
            database_url=self.proxy.url,
            home=str(self.home),
            question=scenario.question,
            search_url=world.search_url,
            review=scenario.review,
            bug=bug,
            publish=tuple(places.of(place) for place in scenario.publish),
            notify=tuple(places.of(place) for place in scenario.notify),
            options=dict(scenario.options),
            smtp_url=self.outside.postbox.url,
            mail_from=SENDER,
            databases={OTHER_DATABASE: in_database(self.proxy.url, OTHER_DATABASE)},
            contracts=places.contracts,
            lease_seconds=scenario.lease_seconds,
            door=(str(self.door.path), str(self.published)) if scenario.publish else None,
        )
        return trial, world

    async def restart(self) -> None:
        """Stop the database as a crash does, and start it again."""
        self.proxy.up.clear()
        await self.cluster.stop("immediate")
        await self.cluster.start()
        self.proxy.up.set()

    async def lease_runs_out(self, trial: Trial) -> None:
        """Let the time pass that a run is held by a worker which gives no sign of life."""
        await self.oracle.expire(UUID(trial.run_id))


@asynccontextmanager
async def open_lane(forks: ForkServer, folder: Path) -> AsyncIterator[Lane]:
    """Start everything in a folder, and stop it again."""
    for name in ("postgres", "proxy", "home", "published"):
        (folder / name).mkdir(parents=True)
    cluster = make_cluster(folder / "postgres")
    await cluster.create()
    url = await cluster.start()
    gate = Gate()
    at_work: list[int] = []
    proxy = Proxy(folder / "proxy", str(_socket(cluster)), gate)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(cluster.stop, "immediate")
        await migrate(url)
        await make_tables(url)
        oracle = await Oracle.of(await stack.enter_async_context(reading(url)), url)
        outside = Outside(gate, lambda: at_work[-1], oracle.consequences.recorded)
        door = Door(folder / "door", gate)
        await door.open()
        stack.callback(door.close)
        await proxy.open()
        stack.callback(proxy.close)
        await outside.open()
        stack.callback(outside.close)
        yield Lane(forks, folder, cluster, gate, proxy, outside, door, oracle, stack, at_work)


def _socket(cluster: Cluster) -> Path:
    return cluster._socket_directory() / SOCKET_NAME
