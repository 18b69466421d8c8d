"""Databases for tests: one real server per session, a template migrated once, a copy of it for each test."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg.sql import SQL, Identifier

from graph.cluster import BUILTIN_LOCALE, Cluster, wheel_programs

# A running server to use instead, any PostgreSQL from 15 on; its user must be allowed to create databases.
SERVER_URL = "PERDURE_TEST_DATABASE_URL"
# The folder of another PostgreSQL's initdb and pg_ctl; `make test-postgres15` sets it.
PROGRAMS = "PERDURE_TEST_POSTGRES_PROGRAMS"

# Nothing here has to outlive a crash of the machine. (A crash of the server loses nothing: the system has the writes.)
TEST_SETTINGS = {"fsync": "off", "full_page_writes": "off"}

_numbers = count(1)


def make_cluster(directory: Path) -> Cluster:
    """Return a cluster for tests in `directory`, of the PostgreSQL that the environment asks for."""
    programs = os.environ.get(PROGRAMS)
    return Cluster(
        directory,
        settings=TEST_SETTINGS,
        programs=Path(programs) if programs else wheel_programs(),
        # The builtin provider came with PostgreSQL 17.
        locale=("--locale=C.UTF-8",) if programs else BUILTIN_LOCALE,
    )


def for_database(server_url: str, name: str) -> str:
    """Return the URL of another database on the same server."""
    return urlunsplit(urlsplit(server_url)._replace(path=f"/{name}"))


@contextmanager
def temporary_database(server_url: str, *, template: str | None = None) -> Iterator[str]:
    """Create a database (14 ms from a template), yield its URL, and drop it with whoever is still connected."""
    name = f"perdure_test_{os.getpid()}_{next(_numbers)}"
    with psycopg.connect(server_url, autocommit=True) as connection:
        create = SQL("CREATE DATABASE {} TEMPLATE {}").format(
            Identifier(name), Identifier(template or "template0")
        )
        connection.execute(create)
        try:
            yield for_database(server_url, name)
        finally:
            connection.execute(
                SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(Identifier(name))
            )
