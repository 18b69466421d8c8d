"""A database that does not answer is told soon: nobody watches a still terminal for two minutes."""

import pytest
from psycopg.conninfo import conninfo_to_dict

from graph.opening import CONNECT_SECONDS_MAX, open_database
from graph.settings import Settings

URL = "postgresql://me:canary@db.test/mine"


@pytest.mark.parametrize(
    ("given", "seconds"), [(URL, CONNECT_SECONDS_MAX), (f"{URL}?connect_timeout=3", 3)]
)
async def test_a_connection_is_waited_for_as_long_as_its_url_says_or_shortly(
    given: str, seconds: int
) -> None:
    """What listens there may be no PostgreSQL, or a firewall that says nothing."""
    async with open_database(Settings.model_validate({"database_url": given})) as url:
        parts = conninfo_to_dict(url)
    assert int(parts["connect_timeout"] or 0) == seconds
    assert (parts["host"], parts["password"], parts["dbname"]) == ("db.test", "canary", "mine")
