"""The campaign's reading of PostgreSQL's protocol: where a transaction begins, and where it becomes durable."""

import struct

import pytest

from tests.faults.wire import ClientStream, Group, ServerStream, read_statement


def message(kind: bytes, body: bytes = b"") -> bytes:
    return kind + struct.pack("!I", len(body) + 4) + body


def parse(text: str) -> bytes:
    return message(b"P", b"\0" + text.encode() + b"\0\0\0") + message(b"B", b"\0" * 8)


SYNC, FLUSH = message(b"S"), message(b"H")
STARTUP = struct.pack("!II", 8, 196608)
ENCRYPTION = struct.pack("!II", 8, 80877103)


def groups(*parts: bytes, at_once: int = 1) -> list[Group]:
    """Cut a stream that arrives in pieces of so many bytes."""
    stream, data = ClientStream(), ENCRYPTION + STARTUP + b"".join(parts)
    pieces = (data[at : at + at_once] for at in range(0, len(data), at_once))
    return [group for piece in pieces for group in stream.feed(piece)]


@pytest.mark.parametrize("at_once", [1, 7, 10_000])
def test_nothing_is_lost_however_a_stream_is_cut(at_once: int) -> None:
    sent = (
        parse("BEGIN"),
        FLUSH,
        parse("INSERT INTO ledger.runs VALUES (1)"),
        parse("COMMIT"),
        SYNC,
    )
    cut = groups(*sent, at_once=at_once)
    assert [group.ends for group in cut] == ["encryption", "startup", "flush", "sync"]
    assert b"".join(group.content for group in cut) == ENCRYPTION + STARTUP + b"".join(sent)


def test_a_transaction_begins_with_its_first_group_and_is_durable_with_its_last() -> None:
    cut = groups(
        parse("BEGIN"), FLUSH, parse("UPDATE ledger.tasks SET a = 1"), SYNC, parse("COMMIT"), SYNC
    )[2:]
    assert [group.begins for group in cut] == [True, False, False]
    assert [group.open for group in cut] == [True, True, False]
    assert [group.label for group in cut] == [None, None, "ledger tasks"]


def test_what_reads_or_is_rolled_back_is_no_boundary() -> None:
    cut = groups(
        *(parse("SELECT ledger.check_fence($1, $2, $3)"), SYNC),
        *(parse("BEGIN"), parse("DELETE FROM ledger.runs"), SYNC, parse("ROLLBACK"), SYNC),
        *(message(b"Q", b"SELECT 1\0"), FLUSH),
    )
    assert [group.label for group in cut if group.label] == []


def test_a_simple_query_is_a_boundary_of_its_own() -> None:
    (group,) = groups(message(b"Q", b"BEGIN; INSERT INTO a.b VALUES (1); COMMIT\0"))[2:]
    assert (group.label, group.begins, group.open) == ("ledger b", True, False)


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("INSERT INTO ledger.a SELECT 1 ON CONFLICT DO UPDATE SET x = 1", {"a"}),
        ("WITH one AS (UPDATE ledger.a SET x = 1) INSERT INTO b VALUES (1)", {"a", "b"}),
        ("SELECT 1 FROM ledger.a FOR UPDATE", set()),
        ("SELECT pg_try_advisory_lock(1)", {"advisory_lock"}),
        ('INSERT INTO "public"."reports" (a) VALUES ($1)', {"reports"}),
        ("SELECT ledger.seal($1)", {"seal"}),
        ("TRUNCATE ledger.a", {"truncate_ledger.a"}),
        ("CREATE TABLE IF NOT EXISTS a (b int)", set()),
    ],
)
def test_what_a_statement_changes_is_told_by_its_text(text: str, changes: set[str]) -> None:
    assert read_statement(text.encode()).changes == changes


@pytest.mark.parametrize("at_once", [1, 4, 1000])
def test_answers_end_where_the_server_is_ready(at_once: int) -> None:
    data = message(b"1") + message(b"D", b"Z" * 9) + message(b"Z", b"I") + message(b"Z", b"T")
    stream, ends = ServerStream(), list[int]()
    for at in range(0, len(data), at_once):
        ends += [at + end for end in stream.feed(data[at : at + at_once])]
    assert ends == [len(data) - 6, len(data)]
