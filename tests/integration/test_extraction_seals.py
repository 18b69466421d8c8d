"""What an extractor made of a document is read as it was made, or not at all."""

import logging

import psycopg
import pytest

from ledger import documents
from ledger.canonical import digest
from ledger.db import Ledger
from ledger.documents import Extraction, NewExtraction
from tests.support.ledgers import open_ledger
from tests.support.tampering import Tampering, single_row_changes, unguarded

READ = [
    NewExtraction(b"one", "text/html", "test/1", "One", "The text of one.", None),
    NewExtraction(b"two", "text/html", "test/1", "Two", None, "it is encrypted"),
]
NAMES = [(digest(new.content), new.extractor) for new in READ]


async def changes(database_url: str) -> list[Tampering]:
    (first, _), (second, _) = NAMES
    async with await psycopg.AsyncConnection.connect(database_url) as connection:
        return [
            change
            for one, other in ((first, second), (second, first))
            for change in await single_row_changes(
                connection, "ledger.extractions", one, other, "content_artifact"
            )
        ]


async def known(ledger: Ledger) -> dict[tuple[str, str], Extraction]:
    return await documents.known(ledger, [*NAMES, *((name, "test/1~") for name, _ in NAMES)])


async def test_a_changed_extraction_counts_as_absent_and_is_replaced(
    database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "perdure")
    async with open_ledger(database_url) as ledger:
        made = {
            (each.content_artifact, each.extractor): each
            for each in await documents.keep(ledger, READ)
        }
        forged = await changes(database_url)
        assert len(forged) > 20
        for change in forged:
            async with await psycopg.AsyncConnection.connect(database_url) as connection:
                await unguarded(connection)
                await connection.execute(
                    "DELETE FROM ledger.extractions WHERE extractor <> 'test/1'"
                )
                await change.apply(connection)
            found = await known(ledger)
            # When it was made is not part of what it is.
            assert found.items() <= made.items(), change.name
            assert len(found) == len(made) or change.column != "created_at", change.name
            await documents.keep(ledger, READ)
            assert await known(ledger) == made, change.name
    assert "the document is read anew" in caplog.text


async def test_an_extraction_from_before_the_seals_is_made_anew(database_url: str) -> None:
    async with open_ledger(database_url) as ledger:
        await documents.keep(ledger, READ)
        async with ledger.pool.connection() as connection:
            await connection.execute(
                "UPDATE ledger.extractions SET seal = NULL, seal_key_id = NULL"
            )
        assert await known(ledger) == {}
