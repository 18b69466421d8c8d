"""Target `postgres:TABLE` and `postgres:TABLE@NAME`: the report as a row, in the ledger's own database or another one.

In the own database the row commits in the transaction that records it, so that one is never without the other. In
another one its unique key makes it happen once, and a look-up by that key says whether it did.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ledger import deliveries
from ledger.canonical import Json
from ledger.contracts import Contract
from ledger.db import Ledger, Transaction
from ledger.deliveries import Delivered, Table
from ledger.errors import (
    DatabaseFull,
    DatabaseUnavailable,
    DeliveryInDoubt,
    DeliveryRefused,
    LedgerError,
    WriteConflict,
)
from nodes.options import BadInput
from nodes.targets.base import (
    Absent,
    Confirmed,
    Differs,
    Found,
    NotSent,
    Publication,
    Refused,
    Sending,
    Sent,
    Unknown,
)
from nodes.targets.text import as_text

OWN_CONTRACT = Contract(kind="transactional", request_seconds=30)
OWN_KINDS: Final = frozenset({"transactional"})
OTHER_CONTRACT = Contract(kind="queryable", request_seconds=30)
OTHER_KINDS: Final = frozenset({"queryable"})
SETTING = "PERDURE_DATABASES"

_CREATE = (
    "CREATE TABLE {table} (idempotency_key text PRIMARY KEY, run_id uuid NOT NULL, question text NOT NULL,"
    " report_artifact text NOT NULL, markdown text NOT NULL, request_digest text NOT NULL);"
)


class _Rows:
    """What both kinds of table share: the row, and what its fate means."""

    table: Table
    kind: str

    def _request(self, publication: Publication, database: str | None) -> dict[str, Json]:
        if b"\x00" in publication.content:
            raise BadInput("PostgreSQL stores no text with NUL characters, and the report has one")
        as_text(publication.content)
        return {
            "target": self.kind,
            "table": str(self.table),
            "database": database,
            "run_id": str(publication.run_id),
            "question": publication.question,
            "report_artifact": publication.report_artifact,
        }

    def _made(self, delivered: Delivered, key: str) -> Confirmed | Differs:
        if delivered == "differs":
            return Differs(f"{self.table} has another request under this key")
        return Confirmed(key, {"table": str(self.table)})

    def _found(self, digest: str | None, sending: Sending) -> Found:
        if digest is None:
            return Absent()
        there: Delivered = "there" if digest == sending.request_digest else "differs"
        return self._made(there, sending.key)

    def _checked(self, missing: tuple[str, ...], place: str) -> str:
        if not missing:
            return f"{self.table} in {place} has what a report needs"
        create = _CREATE.format(table=self.table)
        if missing == deliveries.COLUMNS:
            raise BadInput(
                f"there is no table {self.table} in {place} that could take a report: {create}"
            )
        raise BadInput(
            f"{self.table} in {place} lacks {', '.join(missing)}; compare with: {create}"
        )


@dataclass(frozen=True, slots=True)
class OwnTableTarget(_Rows):
    """A table in the ledger's own database."""

    table: Table
    ledger: Ledger
    contract: Contract = OWN_CONTRACT
    kind: str = field(default="postgres", init=False)

    @property
    def address(self) -> str:
        """The table, with its schema unless that is public."""
        return f"postgres:{self.table.shortly}"

    def request(self, publication: Publication) -> dict[str, Json]:
        """Return the row, the report by its digest; raises BadInput for a report that no column takes."""
        return self._request(publication, None)

    async def check(self) -> str:
        """Say whether the table has its columns; raises BadInput."""
        async with self.ledger.transaction() as tx:
            missing = await deliveries.missing_in(tx, self.table)
        return self._checked(missing, "the ledger's database")

    async def send(self, sending: Sending) -> Sent:
        """Insert the row in a transaction of its own."""
        try:
            async with self.ledger.transaction() as tx:
                return await self.send_in(tx, sending)
        except LedgerError as error:
            return Unknown(str(error))

    async def send_in(self, tx: Transaction, sending: Sending) -> Sent:
        """Insert the row in the caller's transaction; a refusal leaves that as it was.

        Raises what ends the whole transaction: DatabaseUnavailable, WriteConflict, DatabaseFull.
        """
        try:
            made = await deliveries.deliver_in(tx, self.table, _row(sending))
        except DeliveryRefused as error:
            return Refused(str(error))
        return self._made(made, sending.key)

    async def look_up(self, sending: Sending) -> Found:
        """Read the row of the key."""
        try:
            async with self.ledger.transaction() as tx:
                digest = await deliveries.look_up_in(tx, self.table, sending.key)
        except LedgerError as error:
            return Unknown(str(error))
        return self._found(digest, sending)


@dataclass(frozen=True, slots=True)
class OtherTableTarget(_Rows):
    """A table in a database that PERDURE_DATABASES names."""

    table: Table
    name: str
    url: str = field(repr=False)
    contract: Contract = OTHER_CONTRACT
    kind: str = field(default="postgres", init=False)

    @property
    def address(self) -> str:
        """The table, with its schema unless that is public, and the name of its database."""
        return f"postgres:{self.table.shortly}@{self.name}"

    def request(self, publication: Publication) -> dict[str, Json]:
        """Return the row, the report by its digest; raises BadInput for a report that no column takes."""
        return self._request(publication, self.name)

    async def check(self) -> str:
        """Say whether the table has its columns; raises BadInput."""
        try:
            missing = await deliveries.missing(self.url, self.table, self.contract.request_seconds)
        except LedgerError as error:
            raise BadInput(f"database {self.name} of {SETTING}: {error}") from error
        return self._checked(missing, f"database {self.name}")

    async def send(self, sending: Sending) -> Sent:
        """Insert the row; it commits by itself."""
        seconds = self.contract.request_seconds
        try:
            async with asyncio.timeout(seconds):
                made = await deliveries.deliver(self.url, self.table, _row(sending), seconds)
        except (DatabaseUnavailable, WriteConflict, DatabaseFull) as error:
            return NotSent(str(error))
        except DeliveryRefused as error:
            return Refused(str(error))
        except DeliveryInDoubt as error:
            return Unknown(str(error))
        except TimeoutError:
            return Unknown(f"the database did not answer within {seconds:g} s")
        return self._made(made, sending.key)

    async def look_up(self, sending: Sending) -> Found:
        """Read the row of the key."""
        seconds = self.contract.request_seconds
        try:
            async with asyncio.timeout(seconds):
                digest = await deliveries.look_up(self.url, self.table, sending.key, seconds)
        except LedgerError as error:
            return Unknown(str(error))
        except TimeoutError:
            return Unknown(f"the database did not answer within {seconds:g} s")
        return self._found(digest, sending)


def table_named(text: str) -> Table:
    """Return the table that an address names; raises BadInput."""
    found = deliveries.table(text)
    if found is None:
        raise BadInput(
            f"{text!r} names no table that reports may go to: write postgres:TABLE or postgres:SCHEMA.TABLE, exactly as"
            " the database has it, and none of perdure's own"
        )
    return found


def _row(sending: Sending) -> Mapping[str, Any]:
    publication = sending.publication
    return {
        "idempotency_key": sending.key,
        "run_id": str(publication.run_id),
        "question": publication.question,
        "report_artifact": publication.report_artifact,
        "markdown": as_text(publication.content),
        "request_digest": sending.request_digest,
    }
