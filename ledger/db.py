"""Connections and transactions: the one door to the database.

Every write goes through `Ledger.transaction()`, which names tenant, actor and fence for the transaction, so that
row-level security and the audit log can rest on them. With a run id the transaction begins by checking that this
process still holds the run; if another took it over, nothing is written. What a transaction changes of a run is sealed
before it commits.

Locks are taken in one order: the lease of a run, its head, anything else. So a transaction locks the head before the
first statement that writes for a run, which every such statement names as `run_id`.
"""

import asyncio
import select
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast
from uuid import UUID

import psycopg
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool

from ledger.canonical import Json
from ledger.errors import IllegalTransition, LedgerDamaged
from ledger.faults import NO_FAULTS, Faults
from ledger.keys import KeyRing
from ledger.payloads import Codec, PlainCodec, UnknownKey, pack, unpack
from ledger.sealing import Anchor, seal
from ledger.sql import Statement, load
from ledger.translation import CONNECTION_WAIT_SECONDS, wrap_errors

Connection: TypeAlias = psycopg.AsyncConnection[DictRow]
Pool: TypeAlias = AsyncConnectionPool[Connection]

_SESSION = load("session")
_BEGIN = _SESSION["NameTransaction"]
_BEGIN_HELD = _SESSION["NameTransactionOfRun"]
_ONE_MOMENT, _LOCK_HEAD = _SESSION["SeeOneMoment"], _SESSION["LockHead"]

# No transaction of ours waits for anything but the database; one that is idle for so long belongs to a frozen worker.
IDLE_TRANSACTION_SECONDS_MAX = 60


@contextmanager
def readable(run_id: UUID, part: str) -> Generator[None]:
    """Turn what reading a row raises that nobody here could have written into LedgerDamaged."""
    try:
        yield
    except (UnknownKey, ValueError, TypeError, LookupError, AttributeError) as error:
        raise LedgerDamaged(run_id, f"{part} cannot be read") from error


@dataclass(frozen=True, slots=True)
class Transaction:
    """One transaction of the ledger: runs named statements and packs payloads for its tenant."""

    connection: Connection
    tenant: str
    actor: str
    fence: int | None
    codec: Codec
    keys: KeyRing
    #: The newest versions that this process has written.
    newest: Mapping[UUID, Anchor] = field(default_factory=dict[UUID, Anchor])
    #: The runs that it wrote for, those whose heads it has locked, and the versions that are sealed already.
    written: set[UUID] = field(default_factory=set[UUID])
    locked: set[UUID] = field(default_factory=set[UUID])
    sealed: dict[UUID, Anchor] = field(default_factory=dict[UUID, Anchor])

    async def one(self, statement: Statement, **values: Any) -> DictRow:
        """Return the one row of a `:one` statement; raises IllegalTransition when a guarded change found no row."""
        row = await self._row(statement, "one", values)
        if row is None:
            raise IllegalTransition(
                f"{statement.name}: the row was not in a state that this change leaves"
            )
        return row

    async def maybe(self, statement: Statement, **values: Any) -> DictRow | None:
        """Return the row of a `:maybe` statement, or None."""
        return await self._row(statement, "maybe", values)

    async def many(self, statement: Statement, **values: Any) -> list[DictRow]:
        """Return the rows of a `:many` statement."""
        assert statement.rows == "many", statement.name
        return await (await self._execute(statement, values)).fetchall()

    async def run(self, statement: Statement, **values: Any) -> None:
        """Run a `:none` statement."""
        assert statement.rows == "none", statement.name
        await self._execute(statement, values)

    async def run_each(self, statement: Statement, rows: list[dict[str, Any]]) -> None:
        """Run a `:none` statement once for each of many rows, in one round trip."""
        assert statement.rows == "none", statement.name
        if rows:
            for row in rows:
                await self._lock_head(statement, row)
            cursor = self.connection.cursor()
            await cursor.executemany(
                statement.text, [{"tenant": self.tenant, **row} for row in rows]
            )

    async def seal(self, run_id: UUID) -> Anchor:
        """Seal now what it wrote for a run, and return the version: for what names it and commits with it.

        Nothing can be written for the run in this transaction after that. Raises SealKeyMissing and LedgerDamaged.
        """
        made = await seal(self.connection, self.tenant, self.keys, {run_id}, self.newest)
        self.written.discard(run_id)
        self.sealed.update(made)
        return made[run_id]

    def pack(self, value: Json) -> dict[str, Any]:
        """Return the columns `key_id` and `body` of a JSON payload."""
        key_id, body = pack(self.codec, value)
        return {"key_id": key_id, "body": body}

    def unpack(self, row: DictRow) -> Any:
        """Return the JSON payload of a row with the columns `key_id` and `body`."""
        return unpack(self.codec, row["key_id"], row["body"])

    async def _row(self, statement: Statement, rows: str, values: dict[str, Any]) -> DictRow | None:
        assert statement.rows == rows, statement.name
        return await (await self._execute(statement, values)).fetchone()

    async def _execute(
        self, statement: Statement, values: dict[str, Any]
    ) -> psycopg.AsyncCursor[DictRow]:
        await self._lock_head(statement, values)
        return await self.connection.execute(statement.text, {"tenant": self.tenant, **values})

    async def _lock_head(self, statement: Statement, values: dict[str, Any]) -> None:
        run_id: UUID | None = values.get("run_id")
        if run_id is None or not statement.writes:
            return
        self.written.add(run_id)
        if run_id not in self.locked and not statement.on_lease:
            self.locked.add(run_id)
            key = {"tenant": self.tenant, "run_id": run_id}
            await self.connection.execute(_LOCK_HEAD.text, key)


@dataclass(frozen=True, slots=True)
class Ledger:
    """The ledger of one tenant as one worker uses it; `held` maps the runs that it holds to their fences."""

    pool: Pool
    worker: str
    tenant: str = "default"
    #: What seals are made and checked with; an empty ring reads and writes nothing that is sealed.
    keys: KeyRing = field(default_factory=KeyRing)
    codec: Codec = field(default_factory=PlainCodec)
    faults: Faults = NO_FAULTS
    #: How long a run stays held by a worker that gives no more sign of life.
    lease_seconds: float = 30.0
    held: dict[UUID, int] = field(default_factory=dict[UUID, int])
    #: The newest version of each run that this process has written, and its seal.
    newest: dict[UUID, Anchor] = field(default_factory=dict[UUID, Anchor])
    #: What waits to be committed, by run and lane, and the tasks that commit it: see ledger/groups.py.
    waiting: dict[tuple[UUID, str], Any] = field(default_factory=dict[tuple[UUID, str], Any])
    committing: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])

    @asynccontextmanager
    async def transaction(
        self, run_id: UUID | None = None, *, actor: str | None = None, one_moment: bool = False
    ) -> AsyncGenerator[Transaction]:
        """Open a transaction; with a run id it is refused unless this process still holds that run.

        `one_moment` makes all that it reads one moment's view, whatever commits meanwhile.

        Raises LeaseLost, RunCancelled, DatabaseUnavailable, DatabaseFull, and where it wrote for a run SealKeyMissing or
        LedgerDamaged, at the latest when the block ends; the transaction then changed nothing.
        """
        fence = self.held.get(run_id) if run_id else None
        name = actor or self.worker
        sealed: dict[UUID, Anchor] = {}
        with wrap_errors():
            async with (
                self.pool.connection(timeout=CONNECTION_WAIT_SECONDS) as connection,
                # Statements leave without waiting for the one before: a round trip for each row that is read, and one
                # for the rest. An answer from outside is safe that much sooner.
                connection.pipeline(),
                connection.transaction(),
            ):
                if one_moment:
                    await connection.execute(_ONE_MOMENT.text)
                values = {"tenant": self.tenant, "actor": name, "fence": str(fence or "")}
                if run_id is None:
                    await connection.execute(_BEGIN.text, values)
                else:
                    held = {"run_id": run_id, "held": fence}
                    await connection.execute(_BEGIN_HELD.text, values | held)
                tx = Transaction(
                    connection, self.tenant, name, fence, self.codec, self.keys, self.newest
                )
                yield tx
                sealed = tx.sealed
                if tx.written:
                    sealed |= await seal(
                        connection, self.tenant, self.keys, tx.written, self.newest
                    )
        for run, anchor in sealed.items():
            # A later transaction's task may have been first to get here.
            self.newest[run] = max(self.newest.get(run, anchor), anchor)


async def connection_beside(pool: Pool) -> Connection:
    """Open one more connection as those of the pool are; raises DatabaseUnavailable."""
    with wrap_errors():
        return await psycopg.AsyncConnection[DictRow].connect(
            cast("str", pool.conninfo), **cast("dict[str, Any]", pool.kwargs)
        )


async def _check(connection: Connection) -> None:
    """Raise OperationalError for a connection that the server has closed.

    A server that closes a connection says so on its socket; while that is silent, the round trip is saved.
    """
    idle = select.poll()
    idle.register(connection.fileno(), select.POLLIN)
    if idle.poll(0):
        await AsyncConnectionPool.check_connection(cast("Any", connection))


def application_name(worker: str) -> str:
    """Return what the sessions of a worker are called in the database, which keeps 63 bytes; the end tells most."""
    return worker[-63:]


def new_pool(
    database_url: str, size: int, search_path: str | None = None, worker: str = "perdure"
) -> Pool:
    """Return a closed pool whose connections are checked before use, so that it survives a restart of the database.

    Connections are autocommit, as LangGraph's saver needs them, and prepare nothing, so that a pooler may stand between.
    They bear the worker's name, so that another who takes a run over can tell what stands in the way.
    """
    options = f"-c idle_in_transaction_session_timeout={IDLE_TRANSACTION_SECONDS_MAX}s"
    kwargs: dict[str, Any] = {
        "autocommit": True,
        "prepare_threshold": None,
        "row_factory": dict_row,
        "application_name": application_name(worker),
        "options": options if search_path is None else f"{options} -c search_path={search_path}",
    }
    return AsyncConnectionPool[Connection](
        database_url,
        connection_class=psycopg.AsyncConnection[DictRow],
        min_size=1,
        max_size=size,
        open=False,
        kwargs=kwargs,
        # Its annotation forgets that a row may be a dict.
        check=cast("Any", _check),
        name="perdure",
    )
