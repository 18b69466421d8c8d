"""What a run came to, read from the ledger by somebody who did not work it."""

from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from uuid import UUID

from psycopg.sql import SQL, Identifier

from ledger import artifacts, audit, evidence, findings, journal, runs, tasks
from ledger.db import Ledger, new_pool
from ledger.journal import Operation
from ledger.tasks import Task
from tests.support.ledgers import KEYS
from tests.support.search_server import World

_TABLES = """
SELECT table_schema, table_name FROM information_schema.tables
 WHERE table_schema IN ('ledger', 'langgraph') ORDER BY table_schema, table_name
"""


@dataclass(frozen=True)
class Finding:
    """A finding without the ids of its run: two runs that found the same compare equal."""

    task_id: str
    kind: str
    claim: str
    quotes: tuple[tuple[str, str, int, int], ...]
    verdict: str


@dataclass(frozen=True)
class Observed:
    """A run at one moment; the report and its addresses are read as if every world were the same."""

    status: str
    reason: str | None
    findings: tuple[Finding, ...]
    report: str | None
    tasks: tuple[Task, ...]
    operations: tuple[Operation, ...]
    #: The first entry of the audit log that does not follow from the one before, or None.
    broken_entry: int | None
    events: tuple[str, ...]

    @property
    def result(self) -> tuple[object, ...]:
        """What has to be the same however often the run was killed."""
        return (self.status, self.findings, self.report)

    @property
    def accepted(self) -> Counter[str]:
        """How many operations that have an accepted attempt ask what."""
        return Counter(asked(each) for each in self.operations if each.status == "accepted")

    @property
    def answered(self) -> Counter[str]:
        """How many operations ask what that need no call any more: accepted, or received and not yet made use of."""
        return self.accepted + Counter(
            asked(each)
            for each in self.operations
            if each.status == "open"
            and any(one.received and one.outcome == "started" for one in each.attempts)
        )

    @property
    def ended(self) -> dict[str, Task]:
        """The tasks that are done."""
        return {task.task_id: task for task in self.tasks if task.status in {"complete", "blocked"}}


def asked(operation: Operation) -> str:
    """Return what the search server counts an operation as."""
    request = operation.request
    if operation.kind == "search":
        return f"search?{request['query']}"
    return "/".join(request["uri"].split("/")[4:])


@asynccontextmanager
async def reading(database_url: str) -> AsyncGenerator[Ledger]:
    """Open the ledger to look at it."""
    async with new_pool(database_url, 4) as pool:
        yield Ledger(pool, "observer", keys=KEYS)


async def table_digests(ledger: Ledger, *left_out: str) -> dict[str, str]:
    """Return a digest of every row of each table, ours and LangGraph's, but for those left out."""
    async with ledger.pool.connection() as connection:
        rows = await (await connection.execute(_TABLES)).fetchall()
        digests: dict[str, str] = {}
        for row in rows:
            schema, table = row["table_schema"], row["table_name"]
            if table not in left_out:
                query = SQL(
                    "SELECT md5(string_agg(t::text, ' ' ORDER BY t::text)) AS digest FROM {} AS t"
                )
                counted = await connection.execute(query.format(Identifier(schema, table)))
                digest = await counted.fetchone()
                digests[f"{schema}.{table}"] = str(digest)
    return digests


async def observe(ledger: Ledger, run_id: UUID, world: World | None = None) -> Observed:
    """Read a run."""
    async with ledger.transaction() as tx:
        run = await runs.get(tx, run_id)
        found = await findings.standing(tx, run_id)
        quotes = await evidence.everything(tx, run_id)
        report = (
            None
            if run.report_artifact is None
            else await artifacts.get_text(tx, run.report_artifact)
        )
        chain = await audit.entries(tx, run_id)
        return Observed(
            status=run.status,
            reason=run.reason,
            findings=tuple(
                Finding(
                    each.task_id,
                    each.kind,
                    each.claim,
                    tuple(
                        (quote.text_artifact, quote.exact, quote.start, quote.end)
                        for quote in (quotes[name] for name in each.evidence_ids)
                    ),
                    each.verdict,
                )
                for each in found
            ),
            report=report.replace(world.address, "") if report and world else report,
            tasks=tuple(await tasks.everything(tx, run_id)),
            operations=tuple(await journal.operations(tx, run_id)),
            broken_entry=audit.first_broken(run_id, chain),
            events=tuple(entry.event for entry in chain),
        )
