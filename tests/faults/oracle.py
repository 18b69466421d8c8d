"""What must be true of a run after any case, whatever was done to it: judged from outside, by rows and by counts."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import LiteralString
from uuid import UUID

from psycopg.sql import SQL, Composed, Identifier

from graph.settings import Settings
from ledger import audit, reviews
from ledger.db import Connection, Ledger
from ledger.errors import NotFound
from ledger.journal import Operation
from ledger.verification import verify
from tests.faults import consequences, decisions
from tests.faults.consequences import Consequences
from tests.faults.outside import World
from tests.faults.proxy import CANARY
from tests.support.leaks import tables_with
from tests.support.ledgers import SEAL_KEY
from tests.support.observed import Observed, asked, observe

LEASE_SECONDS = Settings.model_fields["lease_seconds"].default

#: Of these a run has as many rows as an uninterrupted one: each was written once.
WRITTEN_ONCE = (
    *("tasks", "operations", "sources", "evidence", "findings", "finding_evidence", "citations"),
    *("effects", "effect_keys", "review_votes", "workflow_migrations"),
)
TOLD_ONCE = ("run_created", "run_completed", "run_cancelled")

_COLUMNS = """
SELECT table_schema, table_name, min(column_name) AS name FROM information_schema.columns
 WHERE table_schema IN ('ledger', 'langgraph') AND column_name IN ('run_id', 'thread_id')
 GROUP BY table_schema, table_name ORDER BY table_schema, table_name
"""
_ANSWERED = """
SELECT operation_id FROM ledger.operations AS operation
 WHERE run_id = %(run_id)s
   AND (accepted_attempt IS NOT NULL OR EXISTS (
       SELECT FROM ledger.attempts AS attempt
        WHERE attempt.tenant = operation.tenant AND attempt.run_id = operation.run_id
          AND attempt.operation_id = operation.operation_id AND attempt.outcome = 'started'
          AND attempt.received_artifact IS NOT NULL))
"""
# A chain has one beginning, and nothing follows one checkpoint twice.
_BROKEN_CHAINS = """
SELECT checkpoint_ns FROM langgraph.checkpoints AS one
 WHERE thread_id = %(run_id)s::text
 GROUP BY checkpoint_ns
HAVING count(parent_checkpoint_id) <> count(DISTINCT parent_checkpoint_id)
    OR 1 <> count(*) FILTER (WHERE NOT EXISTS (
        SELECT FROM langgraph.checkpoints AS parent
         WHERE parent.thread_id = one.thread_id AND parent.checkpoint_ns = one.checkpoint_ns
           AND parent.checkpoint_id = one.parent_checkpoint_id))
"""
_LOCKS = """
SELECT count(*) AS held FROM pg_locks
 WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""
# Who lost the session of its lease cannot release it; then it runs out, in the time that a setting gives it.
_UNRELEASED = """
SELECT count(*) AS held FROM ledger.leases
 WHERE run_id = %(run_id)s AND released_at IS NULL AND expires_at > clock_timestamp() + make_interval(secs => %(seconds)s)
"""
_FENCES = """
SELECT leases.run_id, leases.fence FROM ledger.leases
 WHERE run_id = %(run_id)s OR run_id IN (SELECT forks.run_id FROM ledger.forks WHERE origin_run = %(run_id)s)
"""
_EXPIRE = """
UPDATE ledger.leases SET expires_at = clock_timestamp() - interval '1 hour'
 WHERE (tenant, run_id) IN (SELECT tenant, run_id FROM ledger.leases WHERE run_id = ANY(%(run_ids)s) FOR NO KEY UPDATE SKIP LOCKED)
"""
_EXPIRES = """
SELECT count(*) > 0 AS expires FROM information_schema.columns
 WHERE table_schema = 'ledger' AND table_name = 'leases' AND column_name = 'expires_at'
"""


@dataclass(frozen=True)
class Snapshot:
    """Which operations had their answer at a moment, and what had been called until then."""

    answered: frozenset[str]
    counts: Counter[str]


@dataclass(frozen=True)
class Facts:
    """What a run came to, and what is wrong with it by itself."""

    observed: Observed
    rows: dict[str, int]
    problems: tuple[str, ...]


@dataclass
class Oracle:
    """Looks at one database, which has the tables that it has while the oracle lives."""

    ledger: Ledger
    tables: list[tuple[str, str, str]]
    expires: bool
    consequences: Consequences

    @classmethod
    async def of(cls, ledger: Ledger, url: str) -> "Oracle":
        """Look at which tables there are."""
        async with ledger.pool.connection() as connection:
            rows = await (await connection.execute(_COLUMNS)).fetchall()
            expires = await _value(connection, _EXPIRES)
        tables = [(row["table_schema"], row["table_name"], row["name"]) for row in rows]
        return cls(ledger, tables, bool(expires), Consequences(ledger, url))

    async def snapshot(self, run_id: UUID, world: World) -> Snapshot:
        """Return what is answered now."""
        async with self.ledger.pool.connection() as connection:
            rows = await (await connection.execute(_ANSWERED, {"run_id": run_id})).fetchall()
        return Snapshot(frozenset(row["operation_id"] for row in rows), world.counts.copy())

    async def digests(self, run_id: UUID) -> dict[str, str]:
        """Return a digest of the rows of a run in each table."""
        query = SQL(" UNION ALL ").join(self._digest(*table) for table in self.tables)
        async with self.ledger.pool.connection() as connection:
            rows = await (await connection.execute(query, {"run_id": str(run_id)})).fetchall()
        return {row["name"]: row["digest"] for row in rows}

    def _digest(self, schema: str, table: str, column: str) -> Composed:
        return SQL(
            "SELECT {} AS name, md5(string_agg(t::text, ' ' ORDER BY t::text)) AS digest FROM {} AS t"
            " WHERE {}::text = %(run_id)s"
        ).format(f"{schema}.{table}", Identifier(schema, table), Identifier(column))

    async def expire(self, run_id: UUID) -> None:
        """Let the leases of a run and of its forks run out, as the time does; one that a frozen worker is about to take is nobody's yet."""
        if self.expires:
            held = list(await self.fences(run_id))
            async with self.ledger.pool.connection() as connection:
                await connection.execute(_EXPIRE, {"run_ids": held})

    async def fences(self, run_id: UUID) -> dict[UUID, int]:
        """Return the fence of a run and of each of its forks, as far as they were taken."""
        async with self.ledger.pool.connection() as connection:
            rows = await (await connection.execute(_FENCES, {"run_id": run_id})).fetchall()
        return {row["run_id"]: row["fence"] for row in rows}

    async def facts(
        self, run_id: UUID, world: World, reports: Path, published: Path
    ) -> Facts | None:
        """Look at a run that is done; None if it never was."""
        try:
            observed = await observe(self.ledger, run_id)
        except NotFound:
            return None
        report = observed.report
        problems: list[str] = []
        async with self.ledger.transaction() as tx:
            problems += [
                f"verify: {check.name}: {check.detail}"
                for check in await verify(tx, run_id)
                if not check.ok
            ]
            asked = await reviews.newest_first(tx, run_id)
            entries = await audit.entries(tx, run_id)
        completed = observed.status == "completed"
        problems += decisions.problems_of(asked, entries, done=completed)
        counted = {
            "reviews": decisions.asked_without_harm(asked),
            "decisions": decisions.told_decisions(asked, entries),
        }
        async with self.ledger.pool.connection() as connection:
            rows = counted | await self._rows(connection, run_id)
            chains = await (await connection.execute(_BROKEN_CHAINS, {"run_id": run_id})).fetchall()
            if await _value(connection, _LOCKS):
                problems.append("a lock is held by nobody who lives")
            if self.expires and await _value(
                connection, _UNRELEASED, run_id=run_id, seconds=LEASE_SECONDS
            ):
                problems.append("a lease lasts for longer than its time")
        carried = await self.consequences.of(run_id, world.taken)
        problems += consequences.problems_of(carried, world.taken, published, done=completed)
        problems += [f"the chain of checkpoints {each['checkpoint_ns']!r} forks" for each in chains]
        if observed.broken_entry is not None:
            problems.append(f"entry {observed.broken_entry} of the audit log does not follow")
        file = reports / f"{run_id}.md"
        if completed and (not file.exists() or file.read_text() != report):
            problems.append("the run is completed and its report is not in its file")
        if report is not None:
            observed = replace(observed, report=report.replace(world.address, ""))
        return Facts(observed, rows, tuple(problems))

    async def _rows(self, connection: Connection, run_id: UUID) -> dict[str, int]:
        query = SQL(" UNION ALL ").join(
            SQL("SELECT {} AS name, count(*) AS rows FROM {} WHERE run_id = %(run_id)s").format(
                table, Identifier("ledger", table)
            )
            for table in WRITTEN_ONCE
        )
        rows = await (await connection.execute(query, {"run_id": run_id})).fetchall()
        return {row["name"]: row["rows"] for row in rows}

    async def leaks(self) -> list[str]:
        """Return the tables in which the password of the database stands, or the key of the seals."""
        return [
            f"a secret stands in {name}"
            for name in await tables_with(self.ledger, CANARY, SEAL_KEY)
        ]


async def _value(connection: Connection, query: LiteralString, **values: object) -> object:
    row = await (await connection.execute(query, values)).fetchone()
    assert row is not None
    return next(iter(row.values()))


def compared(expected: Facts, facts: Facts) -> Iterator[str]:
    """Say where a run differs from an uninterrupted one."""
    want, got = expected.observed, facts.observed
    if want.result != got.result:
        parts = ("status", "findings", "report")
        differing = [
            part for part, a, b in zip(parts, want.result, got.result, strict=True) if a != b
        ]
        yield f"another result: {', '.join(differing)} (status {got.status}, {got.reason})"
    for table, rows in facts.rows.items():
        if rows != expected.rows[table]:
            yield f"{table} has {rows} rows instead of {expected.rows[table]}"
    for event in TOLD_ONCE:
        if want.events.count(event) != got.events.count(event):
            yield f"{event} is told {got.events.count(event)} times"


def repeated(facts: Facts, snapshots: list[Snapshot], counts: Counter[str]) -> Iterator[str]:
    """Say which calls were made again after their answer was there, or without being recorded first."""
    # A branch that is researched anew asks the same once more: another operation.
    asking: dict[str, list[Operation]] = {}
    for operation in facts.observed.operations:
        asking.setdefault(asked(operation), []).append(operation)
    for what, operations in asking.items():
        for snapshot in snapshots:
            answered = all(each.operation_id in snapshot.answered for each in operations)
            if answered and counts[what] > snapshot.counts[what]:
                yield f"{what} was called again after its answer was stored"
        attempts = sum(len(each.attempts) for each in operations)
        if counts[what] > attempts:
            yield f"{what} was called {counts[what]} times and {attempts} are recorded"
        if facts.observed.status == "completed" and any(
            each.status != "accepted" for each in operations
        ):
            yield f"{what} has no accepted answer"
    unknown = set(counts) - set(asking)
    yield from (f"{what} was called and is not recorded" for what in unknown)
