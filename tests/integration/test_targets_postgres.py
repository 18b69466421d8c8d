"""A report becomes one row per key: in the ledger's own transaction, or in another database by its unique key."""

from collections.abc import AsyncIterator
from contextlib import suppress

import pytest

from ledger.contracts import Contract
from ledger.db import Ledger
from ledger.deliveries import Table, table
from nodes.options import BadInput
from nodes.targets.base import Absent, Confirmed, Differs, NotSent, Refused, Sending, Unknown
from nodes.targets.postgres import (
    OTHER_CONTRACT,
    OtherTableTarget,
    OwnTableTarget,
    table_named,
)
from tests.support.ledgers import execute, open_ledger
from tests.support.target_conformance import (
    CHECKS,
    REPORT,
    Check,
    Subject,
    named,
    publication,
    sending,
)

CREATE = """
CREATE TABLE reports (
    idempotency_key text PRIMARY KEY, run_id uuid NOT NULL, question text NOT NULL,
    report_artifact text NOT NULL, markdown text NOT NULL, request_digest text NOT NULL
)"""
REPORTS = Table("public", "reports")


class _Died(Exception):
    """Stands for the end of a process within a transaction."""


@pytest.fixture
async def ledger(database_url: str) -> AsyncIterator[Ledger]:
    async with open_ledger(database_url) as opened:
        yield opened


@pytest.fixture
async def reports(ledger: Ledger) -> Ledger:
    await execute(ledger, CREATE)
    return ledger


async def count(ledger: Ledger, key: str) -> int:
    async with ledger.pool.connection() as connection:
        cursor = await connection.execute(
            "SELECT count(*) AS rows FROM reports WHERE idempotency_key = %s", [key]
        )
        row = await cursor.fetchone()
    assert row is not None
    return int(row["rows"])


@pytest.mark.parametrize("check", CHECKS, ids=named)
async def test_a_table_of_the_own_database_conforms(check: Check, reports: Ledger) -> None:
    async def effects(one: Sending) -> int:
        return await count(reports, one.key)

    await check(Subject(lambda: OwnTableTarget(REPORTS, reports), effects))


@pytest.mark.parametrize("check", CHECKS, ids=named)
async def test_a_table_of_another_database_conforms(
    check: Check, reports: Ledger, database_url: str
) -> None:
    async def effects(one: Sending) -> int:
        return await count(reports, one.key)

    def opened() -> OtherTableTarget:
        return OtherTableTarget(REPORTS, "archive", database_url)

    await check(Subject(opened, effects, (database_url,)))


async def test_a_row_commits_with_the_callers_transaction_and_not_without(reports: Ledger) -> None:
    target = OwnTableTarget(REPORTS, reports)
    one = sending(target)
    with suppress(_Died):
        async with reports.transaction() as tx:
            assert isinstance(await target.send_in(tx, one), Confirmed)
            raise _Died
    assert await count(reports, one.key) == 0
    async with reports.transaction() as tx:
        assert await target.send_in(tx, one) == Confirmed(one.key, {"table": "public.reports"})
    assert await count(reports, one.key) == 1


async def test_a_row_holds_the_report(reports: Ledger) -> None:
    target = OwnTableTarget(REPORTS, reports)
    one = sending(target)
    await target.send(one)
    async with reports.pool.connection() as connection:
        row = await (await connection.execute("SELECT * FROM reports")).fetchone()
    assert row == {
        "idempotency_key": one.key,
        "run_id": one.publication.run_id,
        "question": one.publication.question,
        "report_artifact": one.publication.report_artifact,
        "markdown": REPORT,
        "request_digest": one.request_digest,
    }


#: What is wrong with a table, and what is said of it.
WRONG = {
    "SELECT": 'relation "public.reports" does not exist',
    CREATE.replace("question text NOT NULL,", ""): '"question"',
    CREATE.replace("PRIMARY KEY", ""): "no unique or exclusion constraint",
    CREATE.replace("markdown text", "markdown varchar(10)"): "StringDataRightTruncation",
    CREATE.replace("markdown text NOT NULL", "markdown text CHECK (false)"): "CheckViolation",
    "CREATE TABLE questions (question text PRIMARY KEY);"
    + CREATE.replace(
        "question text", "question text REFERENCES questions INITIALLY DEFERRED"
    ): "ForeignKeyViolation",
    f"{CREATE}; CREATE RULE none AS ON INSERT TO reports DO INSTEAD NOTHING": "",
}


@pytest.mark.parametrize("statement", WRONG)
async def test_a_table_that_takes_no_report_refuses_it_and_the_transaction_goes_on(
    statement: str, ledger: Ledger, database_url: str
) -> None:
    await execute(ledger, statement)
    own = OwnTableTarget(REPORTS, ledger)
    async with ledger.transaction() as tx:
        said = await own.send_in(tx, sending(own))
        assert isinstance(said, Refused)
        assert WRONG[statement] in said.reason
        assert "sown in May" not in said.reason
        row = await (await tx.connection.execute("SELECT 1 AS one")).fetchone()
        assert row == {"one": 1}
    other = OtherTableTarget(REPORTS, "archive", database_url)
    assert await other.send(sending(other)) == said


async def test_what_a_table_lacks_is_told_before(ledger: Ledger, database_url: str) -> None:
    targets = (OwnTableTarget(REPORTS, ledger), OtherTableTarget(REPORTS, "archive", database_url))
    for target in targets:
        with pytest.raises(BadInput, match=r"no table public\.reports.*CREATE TABLE"):
            await target.check()
    await execute(ledger, CREATE.replace("question text NOT NULL,", ""))
    for target in targets:
        with pytest.raises(BadInput, match="lacks question"):
            await target.check()


async def test_another_request_under_the_key_differs(reports: Ledger, database_url: str) -> None:
    other = OtherTableTarget(REPORTS, "archive", database_url)
    one = sending(other)
    assert isinstance(await other.look_up(one), Absent)
    await other.send(one)
    await execute(reports, "UPDATE reports SET request_digest = 'sha256:0'")
    for target in (other, OwnTableTarget(REPORTS, reports)):
        assert isinstance(await target.send(one), Differs)
        assert isinstance(await target.look_up(one), Differs)
    assert await count(reports, one.key) == 1


async def test_a_database_that_cannot_be_reached_is_not_sent_and_not_named() -> None:
    target = OtherTableTarget(REPORTS, "archive", "postgresql://ada:canary@127.0.0.1:1/x")
    said = await target.send(sending(target))
    assert isinstance(said, NotSent)
    found = await target.look_up(sending(target))
    assert isinstance(found, Unknown)
    assert "canary" not in repr((said, found, target))
    assert "ada" not in repr((said, found))


async def test_a_row_that_waits_too_long_for_a_lock_is_given_up_by_the_server(
    reports: Ledger, database_url: str
) -> None:
    """Else it would appear after the time in which a request is surely over."""
    contract = Contract(kind="queryable", request_seconds=8)
    target = OtherTableTarget(REPORTS, "archive", database_url, contract)
    one = sending(target)
    async with reports.pool.connection() as connection, connection.transaction():
        await connection.execute("LOCK TABLE reports IN ACCESS EXCLUSIVE MODE")
        assert isinstance(await target.send(one), NotSent)
    assert await count(reports, one.key) == 0


async def test_a_connection_that_breaks_within_the_insert_leaves_doubt(
    reports: Ledger, database_url: str
) -> None:
    """Here the session is ended while a trigger runs; only a look-up tells."""
    await execute(
        reports,
        "CREATE FUNCTION end_session() RETURNS trigger LANGUAGE plpgsql AS"
        " $$BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NEW; END$$;"
        " CREATE TRIGGER ends BEFORE INSERT ON reports FOR EACH ROW EXECUTE FUNCTION end_session()",
    )
    target = OtherTableTarget(REPORTS, "archive", database_url, OTHER_CONTRACT)
    one = sending(target)
    assert isinstance(await target.send(one), Unknown)
    assert isinstance(await target.look_up(one), Absent)


def test_a_report_that_no_column_takes_is_told_before(database_url: str) -> None:
    target = OtherTableTarget(REPORTS, "archive", database_url)
    with pytest.raises(BadInput, match="NUL"):
        target.request(publication("a\x00b"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a b",
        'a"; DROP TABLE x; --',
        "a.b.c",
        ".a",
        "ledger.runs",
        "Ledger.runs",
        "pg_catalog.pg_class",
        "ä",
    ],
)
def test_what_names_no_table_for_reports_is_refused(text: str) -> None:
    assert table(text) is None
    with pytest.raises(BadInput):
        table_named(text)
