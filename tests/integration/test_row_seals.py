"""Every change of a row, of its history and of the seals that was not made by the ledger is found and named."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias
from uuid import UUID

import pytest

from graph.runs import start_run
from ledger import integrity, runs, tasks, verification
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
    "audit_log",
)
#: Those that a plain run has no rows of.
RARE = (
    "review_votes",
    "recoveries",
    "retries",
    "forks",
    "rejected_checkpoints",
    "effects",
    "effect_attempts",
    "workflow_migrations",
)
#: What a heartbeat moves, and what is of no use once the transaction is over.
NOT_SEALED = {"expires_at", "renewed_at", "released_at", "released_as", "transaction"}


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


@pytest.mark.parametrize("table", ["changes", "seals", "heads"])
async def test_every_change_of_the_history_is_found_by_its_version(
    finished: Finished, table: str
) -> None:
    found = await found_after_each(finished, table)
    assert len(found) >= 5
    unnamed = {
        change.name: damage
        for change, damage in found
        if not all(
            any(part_of_history(table, row) in f"{each.part} " for each in damage)
            for row in change.rows
        )
    }
    assert unnamed == {}


def part_of_history(table: str, row: str) -> str:
    return "head " if table == "heads" else f"version {row.split(maxsplit=1)[0]} "


async def test_each_table_that_is_recorded_is_compared(finished: Finished) -> None:
    """A migration that seals another table gives it the trigger, a place in rows_of, and one in this test."""
    url, run_id, _ = finished
    async with open_ledger(url) as ledger, ledger.transaction() as tx:
        recorded = await tx.connection.execute(
            "SELECT relname FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid"
            " WHERE tgfoid = 'ledger.record_change'::regproc"
        )
        compared = await tx.connection.execute(
            "SELECT DISTINCT table_name FROM ledger.rows_of('default', %s)", [run_id]
        )
        assert {row["relname"] for row in await recorded.fetchall()} == {*ROWS, *RARE}
        found = {row["table_name"] for row in await compared.fetchall()}
        assert set(ROWS) <= found <= {*ROWS, *RARE}


async def damage_after(finished: Finished, *statements: str) -> list[Damage]:
    """Return the damage that these statements do, and take it back."""
    url, run_id, _ = finished
    async with open_ledger(url) as ledger, ledger.transaction() as tx:
        await tx.connection.execute("SAVEPOINT before")
        await unguarded(tx.connection)
        for statement in statements:
            await tx.connection.execute(statement.encode())
        found = await integrity.damage(tx, run_id)
        await tx.connection.execute("ROLLBACK TO before")
    return found


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("DELETE FROM ledger.artifacts", "missing"),
        ("UPDATE ledger.artifacts SET body = body || '\\x00'", "changed"),
        ("UPDATE ledger.artifacts SET body = NULL", "changed"),
        ("UPDATE ledger.artifacts SET size_bytes = size_bytes + 1", "changed"),
        ("UPDATE ledger.artifacts SET key_id = 'k'", "stored under a key that never was"),
    ],
)
async def test_damaged_artifacts_of_each_use_are_found(
    finished: Finished, statement: str, problem: str
) -> None:
    url, run_id, _ = finished
    async with open_ledger(url) as ledger, ledger.transaction() as tx:
        cursor = await tx.connection.execute(
            "SELECT corpus_artifact, report_artifact FROM ledger.runs WHERE run_id = %s", [run_id]
        )
        (run,) = await cursor.fetchall()
    found = await damage_after(finished, statement)
    assert {damage.problem for damage in found} == {problem}
    assert {f"artifact {name}" for name in run.values()} <= {damage.part for damage in found}


@pytest.mark.parametrize("shape", ["null", "1", '"text"', "[]", "[[1]]", "{}", '{"a": {"b": []}}'])
async def test_a_history_of_any_shape_is_damage_and_no_traceback(
    finished: Finished, shape: str
) -> None:
    """The digests are made to fit, as somebody who knows how would do."""
    found = await damage_after(
        finished,
        f"UPDATE ledger.changes SET row = '{shape}'",
        "UPDATE ledger.changes SET digest = ledger.row_digest(row)",
        "UPDATE ledger.seals AS s SET content = c.content FROM ledger.contents AS c"
        " WHERE (c.tenant, c.run_id, c.version) = (s.tenant, s.run_id, s.version)",
    )
    parts = {damage.part for damage in found}
    assert {"row runs", "seal of version 1"} <= parts


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE ledger.runs SET body = 'no JSON'",
        "UPDATE ledger.runs SET body = '[]'",
        "UPDATE ledger.runs SET key_id = 'k'",
        "UPDATE ledger.runs SET status = 'dormant'",
        "UPDATE ledger.operations SET body = NULL",
        "UPDATE ledger.evidence SET body = '{}'",
        "UPDATE ledger.attempts SET usage = '[]'",
        "UPDATE ledger.findings SET finding_id = NULL",
        "UPDATE ledger.sources SET body = 'null'",
        "UPDATE ledger.checkpoint_records SET tasks = '[]'",
        "DELETE FROM ledger.runs",
    ],
)
async def test_verify_tells_of_rows_that_cannot_be_read(finished: Finished, statement: str) -> None:
    url, run_id, _ = finished
    async with open_ledger(url) as ledger, ledger.transaction() as tx:
        await tx.connection.execute("SAVEPOINT before")
        await unguarded(tx.connection)
        await tx.connection.execute(
            "ALTER TABLE ledger.findings DROP CONSTRAINT findings_pkey CASCADE"
        )
        await tx.connection.execute("ALTER TABLE ledger.findings ALTER finding_id DROP NOT NULL")
        await tx.connection.execute(statement.encode())
        checks = await verification.verify(tx, run_id)
        await tx.connection.execute("ROLLBACK TO before")
    failed = [check.name for check in checks if not check.ok]
    assert failed
    assert "checkpoint" in statement or failed[0] == "rows"


async def test_a_corpus_of_any_shape_is_damage_and_no_traceback(finished: Finished) -> None:
    nested = "repeat('[', 100000)"
    found = await damage_after(
        finished,
        "INSERT INTO ledger.artifacts (tenant, artifact_id, media_type, size_bytes, key_id, body)"
        f" SELECT 'default', 'sha256:' || encode(sha256({nested}::bytea), 'hex'), 'x', 100000, 'plain', {nested}::bytea",
        "UPDATE ledger.runs SET corpus_artifact = (SELECT artifact_id FROM ledger.artifacts WHERE media_type = 'x')",
    )
    assert Damage("row runs", "changed") in found
