"""What every test may ask for: a database of its own, a server of its own, and an environment that says nothing."""

import asyncio
import os
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from graph.cluster import Cluster
from graph.migrate import migrate
from tests.support.ledgers import SEAL_KEY
from tests.support.postgres import SERVER_URL, make_cluster, temporary_database

OWN_FOLDER = pytest.StashKey[str]()


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Keep temporary files out of pytest's shared folder.

    Each session of pytest closes that folder to all other accounts, which kills root's PostgreSQL of every session at
    work: it runs as another account.
    """
    # A shell that starts us in the background has Ctrl-C ignored, and so would every process that the tests interrupt.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if config.option.basetemp is None:
        config.option.basetemp = tempfile.mkdtemp(prefix="perdure-tests-")
        config.stash[OWN_FOLDER] = config.option.basetemp


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Remove the temporary files of a session that passed."""
    folder = session.config.stash.get(OWN_FOLDER, None)
    if folder and exitstatus == pytest.ExitCode.OK:
        shutil.rmtree(folder, ignore_errors=True)


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
        patch.setenv("PERDURE_SEAL_KEY", SEAL_KEY)
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
        asyncio.run(migrate(url))
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
