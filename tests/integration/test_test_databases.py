"""The tests' own databases: apart from each other, and on a server that can be crashed."""

import psycopg
import pytest
from psycopg import OperationalError

from graph.cluster import Cluster


@pytest.mark.parametrize("attempt", [1, 2])
def test_each_test_has_a_database_of_its_own(database_url: str, attempt: int) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute("CREATE TABLE only_here (n int)")


async def test_a_server_can_be_crashed_and_started_again(private_server: Cluster) -> None:
    url = private_server.url()
    assert url is not None
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE kept (n int)")
        await private_server.stop("immediate")
        with pytest.raises(OperationalError):
            connection.execute("SELECT 1")
    assert await private_server.start() == url
    with psycopg.connect(url) as connection:
        connection.execute("SELECT n FROM kept")
