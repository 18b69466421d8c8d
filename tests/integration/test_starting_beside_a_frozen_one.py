"""A process that was frozen while it looked whether the tables are there keeps nobody else from starting."""

from pathlib import Path

from graph.opening import connect
from ledger.migrate import only_one
from tests.support.runtimes import runtime_on


async def test_who_finds_the_tables_there_waits_for_nobody(
    database_url: str, tmp_path: Path
) -> None:
    async with (
        await connect(database_url) as frozen,
        only_one(frozen),
        runtime_on(database_url, tmp_path / "home") as runtime,
        runtime.ledger.transaction(),
    ):
        pass
