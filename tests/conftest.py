"""What every test may ask for: a database of its own, a server of its own, and an environment that says nothing."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from graph.cluster import Cluster
from tests.support.postgres import SERVER_URL, make_cluster, temporary_database


@pytest.fixture(scope="session", autouse=True)
def no_settings_from_outside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep a developer's own PERDURE_*, LANGSMITH_* and PG* variables and home out of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ:
            if (
                name.startswith(("PERDURE_", "LANGSMITH_", "LANGCHAIN_", "PG"))
                and "_TEST_" not in name
            ):
                patch.delenv(name)
        patch.setenv("PERDURE_HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture(scope="session")
def server_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The session's PostgreSQL server, by the URL of its maintenance database."""
    if given := os.environ.get(SERVER_URL):
        yield given
        return
    cluster = make_cluster(tmp_path_factory.mktemp("postgres"))
    asyncio.run(cluster.create())
    yield asyncio.run(cluster.start())
    asyncio.run(cluster.stop("immediate"))


@pytest.fixture(scope="session")
def template(server_url: str) -> Iterator[str]:
    """The name of a migrated database that tests get copies of."""
    with temporary_database(server_url) as url:
        if find_spec("graph.migrate"):
            asyncio.run(import_module("graph.migrate").migrate(url))
        yield urlsplit(url).path.removeprefix("/")


@pytest.fixture
def database_url(server_url: str, template: str) -> Iterator[str]:
    """A migrated database of this test's own."""
    with temporary_database(server_url, template=template) as url:
        yield url


@pytest.fixture
def empty_database_url(server_url: str) -> Iterator[str]:
    """An empty database of this test's own, for tests of migration."""
    with temporary_database(server_url) as url:
        yield url


@pytest.fixture
async def private_server(tmp_path: Path) -> AsyncIterator[Cluster]:
    """A running server of this test's own, to be stopped ("immediate" is a crash) and started again."""
    directory = tmp_path / "private"
    directory.mkdir()
    cluster = make_cluster(directory)
    await cluster.create()
    await cluster.start()
    yield cluster
    await cluster.stop("immediate")
