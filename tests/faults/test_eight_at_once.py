"""Eight processes begin at once on nothing: all succeed, and there is one schema."""

import asyncio
from pathlib import Path

import psycopg

from ledger.ids import new_run_id
from tests.support.trials import ForkServer, Trial

PROCESSES = 8


async def opened(forks: ForkServer, trial: Trial) -> None:
    """Open everything in eight processes at once."""
    ended = await asyncio.gather(*(forks.run(trial) for _ in range(PROCESSES)))
    assert [each.status for each in ended] == ["opened"] * PROCESSES, [each.trace for each in ended]


async def test_eight_processes_migrate_one_empty_database(
    forks: ForkServer, empty_database_url: str, database_url: str, tmp_path: Path
) -> None:
    trial = Trial("open", str(new_run_id()), empty_database_url, str(tmp_path))
    await opened(forks, trial)
    assert schema_of(empty_database_url) == schema_of(database_url)


async def test_eight_processes_share_one_embedded_database(
    forks: ForkServer, tmp_path: Path
) -> None:
    """The first creates and starts it, the others use it, the last that leaves stops it."""
    home = tmp_path / "home"
    await opened(forks, Trial("open", str(new_run_id()), None, str(home)))
    assert not (home / "postgres" / "data" / "postmaster.pid").exists()
    await opened(forks, Trial("open", str(new_run_id()), None, str(home)))


def schema_of(database_url: str) -> list[tuple[object, ...]]:
    """Return every column of both schemas, and which migrations were applied, each once."""
    with psycopg.connect(database_url) as connection:
        columns = connection.execute(
            "SELECT table_schema, table_name, column_name, data_type FROM information_schema.columns"
            " WHERE table_schema IN ('ledger', 'langgraph') ORDER BY 1, 2, 3"
        ).fetchall()
        ours = connection.execute(
            "SELECT version, count(*) FROM (TABLE ledger.schema_migrations UNION ALL TABLE ledger.schema_expansions) AS applied GROUP BY 1 ORDER BY 1"
        ).fetchall()
        theirs = connection.execute(
            "SELECT v, count(*) FROM langgraph.checkpoint_migrations GROUP BY 1 ORDER BY 1"
        ).fetchall()
    return [*columns, *ours, *theirs]
