"""Looks for secrets where none may stand: in every table of the ledger and of LangGraph."""

from psycopg.sql import SQL, Identifier

from ledger.db import Ledger

_TABLES = """
SELECT table_schema, table_name FROM information_schema.tables WHERE table_schema IN ('ledger', 'langgraph')
"""


async def tables_with(ledger: Ledger, *secrets: str) -> list[str]:
    """Return the tables in which one of these texts stands, as text or as bytes."""
    forms = [form for secret in secrets for form in (secret, secret.encode().hex())]
    found: list[str] = []
    async with ledger.pool.connection() as connection:
        for row in await (await connection.execute(_TABLES)).fetchall():
            query = SQL(
                "SELECT count(*) AS rows FROM {} AS t"
                " WHERE EXISTS (SELECT FROM unnest(%s::text[]) AS secret WHERE strpos(t::text, secret) > 0)"
            ).format(Identifier(row["table_schema"], row["table_name"]))
            counted = await (await connection.execute(query, [forms])).fetchone()
            if counted and counted["rows"]:
                found.append(f"{row['table_schema']}.{row['table_name']}")
    return found
