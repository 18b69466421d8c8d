"""Opens the database: the one that is set, or the embedded one; for looking without the graph, too.

Reading what is recorded needs neither LangGraph nor a model nor a corpus, which take seconds to import: `open_ledger`
opens the ledger alone. It changes nothing in a database that is up to date.
"""

import os
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from psycopg import AsyncConnection
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import DictRow, dict_row

from graph.embedded import embedded_postgres
from graph.seal_keys import known_keys
from graph.settings import Settings
from ledger.db import Connection, Ledger, Pool, new_pool
from ledger.ids import new_worker_id
from ledger.migrate import apply_pending, only_one, pending
from ledger.translation import wrap_errors

# What listens there may be no PostgreSQL, or a firewall that says nothing; the driver would wait for two minutes. A URL
# may say otherwise (connect_timeout).
CONNECT_SECONDS_MAX = 10


@asynccontextmanager
async def open_database(settings: Settings) -> AsyncGenerator[str]:
    """Yield the URL of the database in use; the embedded one is started when no other is set."""
    if settings.database_url is not None:
        yield _impatient(settings.database_url.get_secret_value())
        return
    async with embedded_postgres(settings.home) as url:
        yield url


def _impatient(database_url: str) -> str:
    if "connect_timeout" in conninfo_to_dict(database_url):
        return database_url
    return make_conninfo(database_url, connect_timeout=CONNECT_SECONDS_MAX)


@asynccontextmanager
async def open_pool(
    database_url: str, size: int, worker: str, search_path: str | None = None
) -> AsyncGenerator[Pool]:
    """Yield an open pool of a worker's; raises DatabaseUnavailable."""
    pool = new_pool(database_url, size, search_path, worker)
    with wrap_errors():
        await pool.open(wait=True)
    try:
        yield pool
    finally:
        await pool.close()


async def connect(database_url: str, search_path: str | None = None) -> Connection:
    """Return one connection outside any pool: it fails at once where a pool would try again for a while."""
    options = f"-c search_path={search_path}" if search_path else None
    return await AsyncConnection[DictRow].connect(
        database_url, autocommit=True, prepare_threshold=None, row_factory=dict_row, options=options
    )


def this_worker() -> str:
    """Return a name for this process as a worker."""
    return new_worker_id(socket.gethostname(), os.getpid())


@asynccontextmanager
async def open_ledger(settings: Settings) -> AsyncGenerator[Ledger]:
    """Open the ledger alone, its tables brought up to date where they are not.

    Raises DatabaseUnavailable, MigrationDrift, SchemaOutdated, EmbeddedPostgresFailed.
    """
    async with open_database(settings) as database_url:
        with wrap_errors():
            async with await connect(database_url) as connection:
                if await pending(connection):
                    async with only_one(connection):
                        await apply_pending(connection)
        worker = this_worker()
        async with open_pool(database_url, settings.pool_size, worker) as pool:
            yield Ledger(pool, worker, settings.tenant, known_keys(settings))
