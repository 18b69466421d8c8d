"""What the crash tests share: a search server that outlives its clients, and a fork server for clients to be killed."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from ledger.db import Ledger
from tests.faults.campaign import Campaign
from tests.support.observed import reading
from tests.support.search_server import SearchServer
from tests.support.trials import ForkServer, fork_server


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
async def ledger(database_url: str) -> AsyncIterator[Ledger]:
    """The ledger of a migrated database, to look at."""
    async with reading(database_url) as opened:
        yield opened


@pytest.fixture
def campaign(
    forks: ForkServer,
    search_server: SearchServer,
    ledger: Ledger,
    database_url: str,
    tmp_path: Path,
) -> Campaign:
    """Everything that a crash test needs, on a migrated database of its own."""
    return Campaign(forks, ledger, search_server, database_url, tmp_path / "home")
