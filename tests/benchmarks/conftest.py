"""What the benchmarks share: a database with the settings of production, a counting search server, a fork server."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from graph.cluster import Cluster
from graph.migrate import migrate
from ledger.db import Ledger
from tests.support.observed import reading
from tests.support.search_server import SearchServer
from tests.support.trials import ForkServer, fork_server


@pytest.fixture(scope="session")
def durable_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A migrated database that waits for its disk, as the embedded one does."""
    cluster = Cluster(tmp_path_factory.mktemp("durable"))
    asyncio.run(cluster.create())
    url = asyncio.run(cluster.start())
    asyncio.run(migrate(url))
    yield url
    asyncio.run(cluster.stop("immediate"))


@pytest.fixture(scope="session")
def search_server() -> Iterator[SearchServer]:
    """A search server that counts."""
    with SearchServer().running() as server:
        yield server


@pytest.fixture(scope="session")
def forks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForkServer]:
    """Processes that can be killed."""
    with fork_server(tmp_path_factory.mktemp("forks") / "socket") as server:
        yield server


@pytest.fixture
async def ledger(durable_url: str) -> AsyncIterator[Ledger]:
    """The ledger, to look at."""
    async with reading(durable_url) as opened:
        yield opened
