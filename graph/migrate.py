"""Brings the database up to date: our schema, then LangGraph's tables, both under one polled lock."""

from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg.sql import SQL, Identifier

from graph.opening import connect
from ledger.migrate import apply_pending, only_one
from ledger.translation import wrap_errors

#: LangGraph's tables have no schema of their own to be named by: the search path puts them there.
LANGGRAPH_SCHEMA = "langgraph"


async def migrate(database_url: str) -> int:
    """Bring both schemas up to date and return the number of our migrations that were applied.

    Safe to call from any number of processes at once: one works, the others wait and find nothing to do.
    """
    with wrap_errors():
        async with await connect(database_url) as connection, only_one(connection):
            applied = await apply_pending(connection)
            await connection.execute(
                SQL("CREATE SCHEMA IF NOT EXISTS {}").format(Identifier(LANGGRAPH_SCHEMA))
            )
            async with await connect(database_url, LANGGRAPH_SCHEMA) as saver_connection:
                await AsyncPostgresSaver(saver_connection).setup()
    return applied
