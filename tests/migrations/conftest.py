"""What the tests of migrations share: one run, killed at every checkpoint, and the world that it met."""

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.migrations.kinds import KINDS
from tests.migrations.stops import Stopped, stops_of
from tests.support.nasty_webhook import NastyWebhook
from tests.support.search_server import SearchServer
from tests.support.trials import fork_server

#: Whether every kind of change is tried at every checkpoint: some minutes, `make changes`.
WHOLE = "PERDURE_TEST_WHOLE" in os.environ


@pytest.fixture(scope="session")
def stopped(
    server_url: str, template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stopped]:
    """The run at each of its stops."""
    folder: Path = tmp_path_factory.mktemp("stops")
    with ExitStack() as stack:
        forks = stack.enter_context(fork_server(folder / "socket"))
        search = stack.enter_context(SearchServer().running())
        place = stack.enter_context(NastyWebhook().running()).place("taken")
        wanted = None if WHOLE else {kind.telling for kind in KINDS}
        yield stops_of(
            server_url, template, forks, search, place, folder / "home", stack, wanted=wanted
        )
