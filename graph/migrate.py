"""Brings the database up to date: our schema, then LangGraph's tables, both under one polled lock."""

from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg.sql import SQL, Identifier

from graph.opening import connect
from ledger.db import Connection
from ledger.migrate import apply_pending, only_one, pending
from ledger.translation import wrap_errors

#: LangGraph's tables have no schema of their own to be named by: the search path puts them there.
LANGGRAPH_SCHEMA = "langgraph"


async def migrate(database_url: str) -> int:
    """Bring both schemas up to date and return the number of our migrations that were applied.

    Safe to call from any number of processes at once: one works, the others wait and find nothing to do. Where nothing is to
    be done nobody is waited for: whoever was frozen while it looked would keep all others from starting.
    """
    with wrap_errors():
        async with await connect(database_url) as connection:
            if await pending(connection) == 0 and await _has_langgraphs(connection):
                return 0
        async with await connect(database_url) as connection, only_one(connection):
            applied = await apply_pending(connection)
            await connection.execute(
                SQL("CREATE SCHEMA IF NOT EXISTS {}").format(Identifier(LANGGRAPH_SCHEMA))
            )
            async with await connect(database_url, LANGGRAPH_SCHEMA) as saver_connection:
                await AsyncPostgresSaver(saver_connection).setup()
    return applied


async def _has_langgraphs(connection: Connection) -> bool:
    """Whether LangGraph's tables are there as its setup leaves them."""
    there = SQL("SELECT to_regclass({}) IS NOT NULL AS found").format(
        f"{LANGGRAPH_SCHEMA}.checkpoint_migrations"
    )
    row = await (await connection.execute(there)).fetchone()
    if row is None or not row["found"]:
        return False
    newest = SQL("SELECT max(v) AS version FROM {}").format(
        Identifier(LANGGRAPH_SCHEMA, "checkpoint_migrations")
    )
    row = await (await connection.execute(newest)).fetchone()
    return row is not None and row["version"] == len(AsyncPostgresSaver.MIGRATIONS) - 1
