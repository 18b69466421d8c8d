"""A transaction seals what it changed of a run: in a chain without gaps, with the right key, or not at all."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from uuid import UUID

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from graph.migrate import migrate
from ledger import artifacts, audit, integrity, journal, leases, requests, reviews, runs, sql, tasks
from ledger.db import Ledger, Transaction
from ledger.errors import IllegalTransition, LedgerDamaged, SealKeyMissing
from ledger.integrity import Damage
from ledger.journal import Answer
from ledger.keys import KeyRing
from ledger.migrate import migrations, vars_of
from ledger.questions import Decision
from ledger.sealing import Anchor
from tests.integration.test_row_seals import ROWS
from tests.support.ledgers import KEYS, SEAL_KEY, execute, new_run, open_ledger

NEW_KEY = "0e3d" * 16
WRITERS = 8


@pytest.fixture
async def ledger(database_url: str) -> AsyncIterator[Ledger]:
    """One worker."""
    async with open_ledger(database_url) as opened:
        yield opened


async def damage_of(ledger: Ledger, run_id: UUID, anchor: Anchor | None = None) -> list[Damage]:
    async with ledger.transaction(one_moment=True) as tx:
        return await integrity.damage(tx, run_id, anchor)


async def newest(ledger: Ledger, run_id: UUID) -> Anchor | None:
    async with ledger.transaction() as tx:
        return await integrity.newest_version(tx, run_id)


async def set_phase(ledger: Ledger, run_id: UUID, phase: str) -> None:
    async with ledger.transaction() as tx:
        await runs.set_phase(tx, run_id, phase)


async def everything(database_url: str) -> dict[str, object]:
    """Return a digest of each table of the ledger."""
    async with await psycopg.AsyncConnection.connect(database_url) as connection:
        cursor = await connection.execute(
            "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'ledger'::regnamespace"
        )
        tables = [Identifier("ledger", name) for (name,) in await cursor.fetchall()]
        whole = SQL("SELECT md5(string_agg(t::text, '' ORDER BY t::text)) FROM {} AS t")
        return {
            table.as_string(): await (await connection.execute(whole.format(table))).fetchone()
            for table in tables
        }


async def test_each_transaction_is_one_version_and_the_worker_knows_its_seal(
    ledger: Ledger,
) -> None:
    run_id = await new_run(ledger)
    assert ledger.newest[run_id][0] == 1
    async with ledger.transaction() as tx:
        await runs.set_phase(tx, run_id, "search")
        await tasks.begin(tx, run_id, "t1")
    assert ledger.newest[run_id] == await newest(ledger, run_id)
    assert ledger.newest[run_id][0] == 2
    assert await damage_of(ledger, run_id, ledger.newest[run_id]) == []


async def test_what_changes_nothing_is_no_version(ledger: Ledger) -> None:
    run_id = await new_run(ledger)
    before = ledger.newest[run_id]
    async with ledger.transaction() as tx:
        await tx.connection.execute("UPDATE ledger.tasks SET status = status")
        await tasks.add(tx, run_id, [("t1", "Question t1?", ())], "branch")
        await artifacts.put(tx, b"of no run", "text/plain")
    assert await newest(ledger, run_id) == ledger.newest[run_id] == before


async def test_a_transaction_that_fails_leaves_no_version(ledger: Ledger) -> None:
    run_id = await new_run(ledger)
    before = dict(ledger.newest)

    async def fails() -> None:
        async with ledger.transaction() as tx:
            await runs.complete(tx, run_id, "sha256:none")
            await runs.cancel(tx, run_id)

    with pytest.raises(IllegalTransition):
        await fails()
    assert ledger.newest == before
    assert await newest(ledger, run_id) == before[run_id]


async def test_writers_of_one_run_make_one_chain_without_a_gap(database_url: str) -> None:
    async def write(number: int) -> None:
        async with open_ledger(database_url, f"worker-{number}") as ledger:
            for call in range(3):
                await journal.call(
                    ledger, run_id, requests.Request("t1", "search", [number, call]), answered
                )

    async def answered() -> Answer:
        return Answer("found")

    async with open_ledger(database_url) as ledger:
        run_id = await new_run(ledger)
        await asyncio.gather(*(write(number) for number in range(WRITERS)))
        assert await damage_of(ledger, run_id) == []
        version, _ = await newest(ledger, run_id) or (0, "")
    assert version == 1 + WRITERS * 3 * 2


async def test_deciding_and_working_do_not_wait_for_each_other_in_a_circle(
    database_url: str,
) -> None:
    """Both lock the head first, whatever they write and in which order."""

    async def ask(tx: Transaction, run_id: UUID, number: int) -> None:
        await reviews.ask(tx, run_id, "plan", {"n": number})

    async def works(holder: Ledger, run_id: UUID) -> None:
        for number in range(20):
            async with holder.transaction(run_id) as tx:
                await audit.append(tx, run_id, "worked", {"n": number})
                await ask(tx, run_id, number)
                await runs.set_phase(tx, run_id, str(number))

    async def decides(person: Ledger, run_id: UUID) -> None:
        for number in range(20):
            async with person.transaction(actor="ada") as tx:
                await runs.set_phase(tx, run_id, f"decided {number}")
                await ask(tx, run_id, 100 + number)
                (review, *_) = await reviews.newest_first(tx, run_id)
                await reviews.decide(tx, review, Decision(choice="approve", decided_by="ada"))

    async with open_ledger(database_url, "a") as holder, open_ledger(database_url, "b") as person:
        run_id = await new_run(holder)
        async with leases.hold(holder, run_id):
            await asyncio.gather(works(holder, run_id), decides(person, run_id))
            async with person.transaction() as tx:
                await runs.cancel(tx, run_id)
        assert await damage_of(person, run_id) == []


@pytest.mark.parametrize("secrets", [[], [NEW_KEY]])
async def test_a_worker_without_the_key_writes_nothing(
    ledger: Ledger, database_url: str, secrets: list[str]
) -> None:
    run_id = await new_run(ledger)
    before = await everything(database_url)
    other = replace(ledger, keys=KeyRing.of(secrets))
    with pytest.raises(SealKeyMissing) as caught:
        await set_phase(other, run_id, "forged")
    assert caught.value.key_id == KEYS.key_id
    assert await everything(database_url) == before
    with pytest.raises(SealKeyMissing, match=KEYS.key_id):
        await damage_of(other, run_id)


async def test_a_key_is_replaced_by_putting_the_new_one_in_front(ledger: Ledger) -> None:
    run_id = await new_run(ledger)
    both = replace(ledger, keys=KeyRing.of([NEW_KEY, SEAL_KEY]))
    await set_phase(both, run_id, "search")
    await set_phase(both, run_id, "read")
    assert await damage_of(both, run_id) == []
    with pytest.raises(SealKeyMissing, match=both.keys.key_id):
        await set_phase(ledger, run_id, "extract")


async def test_nothing_is_sealed_on_top_of_what_was_not(ledger: Ledger) -> None:
    """A row that was written past the ledger is not covered by the next seal."""
    run_id = await new_run(ledger)
    await execute(ledger, "UPDATE ledger.runs SET phase = 'forged'")
    with pytest.raises(LedgerDamaged, match="version 2 has no seal"):
        await set_phase(ledger, run_id, "search")
    by_hand = "missing: row runs changed by somebody else"
    assert Damage("seal of version 2", by_hand) in await damage_of(ledger, run_id)


async def test_a_run_that_was_set_back_is_known_by_whoever_saw_it_further(
    ledger: Ledger,
) -> None:
    """An earlier state, restored whole, verifies; what was relied on since then does not stand in it."""
    run_id = await new_run(ledger)
    await set_phase(ledger, run_id, "search")
    seen = ledger.newest[run_id]
    async with ledger.pool.connection() as connection, connection.transaction():
        await connection.execute("SET LOCAL session_replication_role = replica")
        await connection.execute("DELETE FROM ledger.changes WHERE version = 2")
        await connection.execute("DELETE FROM ledger.seals WHERE version = 2")
        await connection.execute(
            "UPDATE ledger.heads AS h SET version = 1, seal = s.seal FROM ledger.seals AS s"
        )
        await connection.execute(
            "UPDATE ledger.runs SET phase = row ->> 'phase', updated_at = (row ->> 'updated_at')::timestamptz"
            "  FROM ledger.changes WHERE table_name = 'runs'"
        )
    assert await damage_of(ledger, run_id) == []
    assert await damage_of(ledger, run_id, seen) == [Damage("seal of version 2", "missing")]
    with pytest.raises(LedgerDamaged, match="version 2 was there and is gone"):
        await set_phase(ledger, run_id, "read")


async def test_rows_can_be_had_as_they_were(ledger: Ledger) -> None:
    run_id = await new_run(ledger, task_ids=("a", "b"))
    await set_phase(ledger, run_id, "search")
    async with ledger.transaction() as tx:
        await tx.connection.execute("DELETE FROM ledger.tasks WHERE task_id = 'b'")
        await runs.set_phase(tx, run_id, "read")
    async with ledger.transaction() as tx:
        then = [await integrity.as_of(tx, run_id, version) for version in (1, 2, 3)]
    assert [rows["runs"][0]["phase"] for rows in then] == ["plan", "search", "read"]
    assert [[row["task_id"] for row in rows["tasks"]] for rows in then] == [["a", "b"]] * 2 + [
        ["a"]
    ]
    assert await damage_of(ledger, run_id) == []


async def test_a_run_that_was_made_to_look_old_is_not_adopted(ledger: Ledger) -> None:
    """As long as a single trace of a seal is left, even of a checkpoint's."""
    run_id = await new_run(ledger)

    async def adopt() -> None:
        async with ledger.transaction() as tx:
            await integrity.adopt_rows(tx, run_id)

    async with ledger.pool.connection() as connection:
        await connection.execute("SET session_replication_role = replica")
        await connection.execute(
            "UPDATE ledger.heads SET version = 0, recorded = false, seal = NULL"
        )
        with pytest.raises(IllegalTransition, match="sealed before"):
            await adopt()
        await connection.execute("DELETE FROM ledger.changes")
        assert await damage_of(ledger, run_id) != [integrity.OLDER]
        await connection.execute("DELETE FROM ledger.seals")
        await connection.execute(
            "INSERT INTO ledger.checkpoint_records VALUES"
            " ('default', %s, '', 'c1', NULL, 2, 1, 'x', 'run_begun', 'plan', 0, '{}', 1)",
            [run_id],
        )
        with pytest.raises(IllegalTransition, match="sealed before"):
            await adopt()
        await connection.execute("SET session_replication_role = origin")


async def test_a_run_from_before_the_seals_is_adopted_once_and_by_its_name(
    empty_database_url: str,
) -> None:
    first = migrations()[0]
    statements = sql.load("migrate")
    async with await psycopg.AsyncConnection.connect(empty_database_url) as connection:
        await connection.execute(statements["CreateSchema"].text)
        await connection.execute(first.text)
        await connection.execute(statements["RecordMigration"].text, vars_of(first))
        run_id = UUID(int=7)
        await connection.execute(
            sql.load("runs")["CreateRun"].text.partition("RETURNING")[0],
            {
                "tenant": "default",
                "run_id": run_id,
                "key_id": "plain",
                "body": b'{"question":"Why?","options":{}}',
                "workflow_version": 1,
                "fingerprint": "x",
            },
        )
    await migrate(empty_database_url)
    async with open_ledger(empty_database_url) as ledger:
        await set_phase(ledger, run_id, "search")
        assert await damage_of(ledger, run_id) == [integrity.OLDER]
        async with ledger.transaction(actor="ada") as tx:
            assert await integrity.adopt_rows(tx, run_id) == 1
        await set_phase(ledger, run_id, "read")
        assert await damage_of(ledger, run_id) == []
        with pytest.raises(IllegalTransition, match="sealed before"):
            async with ledger.transaction() as tx:
                await integrity.adopt_rows(tx, run_id)
        async with ledger.transaction() as tx:
            (entry,) = await audit.entries(tx, run_id)
    assert (entry.event, entry.actor) == ("rows_adopted", "ada")


def test_a_statement_that_changes_a_sealed_row_names_its_run() -> None:
    """By this a transaction knows what to lock and to seal."""
    changing = [f"{verb} ledger.{table} " for table in ROWS for verb in ("INTO", "UPDATE", "FROM")]
    nouns = ("citations", "evidence", "findings", "journal", "leases", "reviews", "runs", "sources")
    for noun in (*nouns, "tasks"):
        for statement in sql.load(noun).values():
            if statement.writes and any(words in f"{statement.text} " for words in changing):
                assert "%(run_id)s" in statement.text, statement.name
