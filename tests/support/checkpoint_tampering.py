"""What somebody who can write the database may do to a run's checkpoints: every single change of every table of theirs."""

from typing import Any

import psycopg

from tests.support.tampering import Tampering, single_row_changes

#: Each table that a load reads, and the column that names the thread.
TABLES = {
    "langgraph.checkpoints": "thread_id",
    "langgraph.checkpoint_blobs": "thread_id",
    "langgraph.checkpoint_writes": "thread_id",
    "ledger.checkpoint_seals": "thread_id",
    "ledger.write_seals": "thread_id",
    "ledger.checkpoint_records": "run_id",
}


async def checkpoint_changes(
    connection: psycopg.AsyncConnection[Any], run_id: object, other: object
) -> list[Tampering]:
    """Return the changes, by name; `other` is another run, whose rows are put in the place of this one's."""
    return [
        change
        for table, owner in TABLES.items()
        for change in await single_row_changes(connection, table, run_id, other, owner)
    ]
