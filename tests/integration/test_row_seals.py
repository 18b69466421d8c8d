"""Every change of a row, of its history and of the seals that was not made by the ledger is found and named."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias
from uuid import UUID

import pytest

from graph.runs import start_run
from ledger import integrity, runs, tasks
from ledger.db import Ledger
from ledger.errors import LedgerDamaged
from ledger.integrity import Damage
from tests.support.ledgers import new_run, open_ledger
from tests.support.postgres import temporary_database
from tests.support.runtimes import QUESTION, decided, options, runtime_on, write_corpus
from tests.support.tampering import Tampering, single_row_changes, unguarded

Finished: TypeAlias = tuple[str, UUID, UUID]

ROWS = (
    "runs",
    "leases",
    "tasks",
    "operations",
    "attempts",
    "sources",
    "evidence",
    "findings",
    "finding_evidence",
    "citations",
    "reviews",
)
#: What a heartbeat moves, and what is of no use once the transaction is over.
NOT_SEALED = {"expires_at", "renewed_at", "released_at", "transaction"}


@pytest.fixture(scope="module")
def finished(
    server_url: str, template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Finished]:
    """A database with two finished runs."""
    folder = tmp_path_factory.mktemp("finished")
    with temporary_database(server_url, template=template) as url:
        yield url, *asyncio.run(_two_runs(url, folder))


async def _two_runs(database_url: str, folder: Path) -> tuple[UUID, UUID]:
    corpus = write_corpus(folder / "garden")
    async with runtime_on(database_url, folder / "home") as runtime:
        done = [
            await decided(
                runtime,
                await start_run(runtime, QUESTION, options(corpus, "plan")),
                choice="approve",
            )
            for _ in range(2)
        ]
    assert [each.run.status for each in done] == ["completed"] * 2
    return done[0].run.run_id, done[1].run.run_id


async def damage_of(ledger: Ledger, run_id: UUID) -> list[Damage]:
    async with ledger.transaction(one_moment=True) as tx:
        return await integrity.damage(tx, run_id)


async def found_after_each(finished: Finished, table: str) -> list[tuple[Tampering, list[Damage]]]:
    """Make each change of a table's rows, look for damage, and take it back."""
    url, run_id, other = finished
    async with open_ledger(url) as ledger, ledger.transaction() as tx:
        changes = await single_row_changes(tx.connection, f"ledger.{table}", run_id, other)
        await unguarded(tx.connection)
        found: list[tuple[Tampering, list[Damage]]] = []
        for change in changes:
            await tx.connection.execute("SAVEPOINT before")
            await change.apply(tx.connection)
            found.append((change, await integrity.damage(tx, run_id)))
            await tx.connection.execute("ROLLBACK TO before")
        await tx.connection.execute("ROLLBACK TO before")
    return [pair for pair in found if pair[0].column not in NOT_SEALED]


async def test_a_run_that_nobody_touched_has_no_damage(finished: Finished) -> None:
    url, *run_ids = finished
    async with open_ledger(url) as ledger:
        assert [await damage_of(ledger, run_id) for run_id in run_ids] == [[], []]


@pytest.mark.parametrize("table", ROWS)
async def test_every_change_of_a_row_is_found_by_its_name(finished: Finished, table: str) -> None:
    found = await found_after_each(finished, table)
    assert len(found) >= 5
    unnamed = {
        change.name: found
        for change, found in found
        if not {f"row {table} {row}".rstrip() for row in change.rows}
        <= {damage.part for damage in found}
    }
    assert unnamed == {}


async def test_nothing_is_written_over_a_row_that_is_not_as_it_was_sealed(
    database_url: str,
) -> None:
    """The seal of an innocent change would vouch for the edited rest of the row; a row that was dropped is not made again."""
    async with open_ledger(database_url) as ledger:
        run_id = await new_run(ledger, task_ids=("t1", "t2"))
        async with ledger.pool.connection() as connection:
            await connection.execute("SET session_replication_role = replica")
            await connection.execute("UPDATE ledger.runs SET workflow_version = 9")
            await connection.execute("DELETE FROM ledger.tasks WHERE task_id = 't2'")
            await connection.execute("SET session_replication_role = DEFAULT")
        with pytest.raises(LedgerDamaged, match="row runs"):
            async with ledger.transaction() as tx:
                await runs.set_status(tx, run_id, "paused")
        with pytest.raises(LedgerDamaged, match="row tasks t2"):
            async with ledger.transaction() as tx:
                await tasks.add(tx, run_id, [("t2", "Question t2?", ())], "branch")
        async with ledger.transaction(one_moment=True) as tx:
            found = [str(each) for each in await integrity.damage(tx, run_id)]
        assert found == ["row runs: changed", "row tasks t2: missing"]
