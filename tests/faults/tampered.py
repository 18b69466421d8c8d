"""Runs that somebody edited behind the product's back, and what a resume made of them."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from urllib.parse import urlsplit
from uuid import UUID

import psycopg

from graph.explaining import explained
from ledger.errors import LedgerError
from tests.faults.campaign import Campaign
from tests.support.checkpoint_tampering import checkpoint_changes
from tests.support.observed import observe, reading
from tests.support.postgres import temporary_database
from tests.support.search_server import World
from tests.support.tampering import Tampering, single_row_changes, unguarded
from tests.support.trials import Ended, Trial

#: Every table of rows that a resume reads, besides those of checkpoints and artifacts.
ROW_TABLES = (
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
    "changes",
    "seals",
    "heads",
)
#: What a report calls a part of these tables.
_PARTS = {
    "langgraph.checkpoints": "checkpoint|metadata|parent|row|type",
    "langgraph.checkpoint_blobs": "blob",
    "langgraph.checkpoint_writes": "write",
    "ledger.checkpoint_seals": "seal",
    "ledger.write_seals": "write",
    "ledger.checkpoint_records": "record|its row is missing",
    "ledger.artifacts": "artifact",
    "ledger.changes": "version|change",
    "ledger.seals": "seal|version",
    "ledger.heads": "head|version",
}
#: A heartbeat moves these of a lease: until when it lasts, and how it ended. The transaction of a head is only compared with
#: the one under way.
_OF_THE_MOMENT = frozenset(
    {"expires_at", "renewed_at", "released_at", "released_as", "transaction"}
)


@dataclass(frozen=True)
class Scene:
    """A run in the middle of its work, in a database that copies are made of, and every change that can be made to it."""

    url: str
    trial: Trial
    world: World
    result: tuple[object, ...]
    changes: tuple[Tampering, ...]

    @property
    def template(self) -> str:
        """The database's name."""
        return urlsplit(self.url).path.removeprefix("/")


@dataclass(frozen=True)
class Verdict:
    """What became of one change: finished | stopped | refused (by PostgreSQL), and what was told of it."""

    change: Tampering
    became: str
    told: str
    result: tuple[object, ...] | None

    def is_named(self) -> bool:
        """Whether what was told names the part that was changed."""
        table = self.change.table
        wanted = _PARTS.get(table, f"row {table.removeprefix('ledger.')}")
        return re.search(wanted, self.told) is not None


async def all_changes(url: str, run_id: str, other: str) -> tuple[Tampering, ...]:
    """Return every change of every table that a resume of the run reads; `other` is a run to take foreign rows from."""
    async with await psycopg.AsyncConnection.connect(url) as connection:
        found = await checkpoint_changes(connection, run_id, other)
        for table in ROW_TABLES:
            found += await single_row_changes(connection, f"ledger.{table}", run_id, other)
        cursor = await connection.execute(
            "SELECT max(text_artifact), min(text_artifact) FROM ledger.sources WHERE run_id = %s",
            [run_id],
        )
        row = await cursor.fetchone()
        assert row is not None
        mine, theirs = row
        named = await single_row_changes(
            connection, "ledger.artifacts", mine, theirs, "artifact_id"
        )
        # What kind of bytes they are and since when is for people: whoever uses them has it from a row of its own.
        found += [each for each in named if each.column not in {"media_type", "created_at"}]
    # A blob of a version that no checkpoint names is read by nobody.
    unread = "langgraph.checkpoint_blobs: copied"
    return tuple(
        change for change in found if change.column not in _OF_THE_MOMENT and change.name != unread
    )


async def judged(campaign: Campaign, server_url: str, scene: Scene, change: Tampering) -> Verdict:
    """Make a change to a copy of the scene and resume the run there."""
    with temporary_database(server_url, template=scene.template) as url:
        try:
            async with await psycopg.AsyncConnection.connect(url) as connection:
                await unguarded(connection)
                await change.apply(connection)
        except psycopg.Error as error:
            return Verdict(change, "refused", type(error).__name__, None)
        trial = replace(scene.trial, action="resume", database_url=url)
        ended = await campaign.forks.run(trial)
        return await _verdict(url, scene, change, ended)


async def _verdict(url: str, scene: Scene, change: Tampering, ended: Ended) -> Verdict:
    run_id = UUID(scene.trial.run_id)
    # What the process says: the row may say that the run is completed because somebody wrote that there.
    finished, told, result = ended.status == "completed", [ended.trace], None
    async with reading(url) as ledger:
        try:
            async with ledger.transaction() as tx:
                for one in await explained(tx, run_id):
                    told += [each["reason"] for each in one["rejected"]]
                    told += [*one["reruns"], *one["damage"], one["why"]]
            if finished:
                result = (await observe(ledger, run_id, scene.world)).result
        except (LedgerError, ValueError, TypeError, LookupError, AttributeError):
            told.append("what is stored cannot be read")  # it may be what was edited
    return Verdict(change, "finished" if finished else "stopped", "\n".join(told), result)


@asynccontextmanager
async def scene_of(campaign: Campaign, trial: Trial, world: World) -> AsyncIterator[Scene]:
    """Yield a scene made of a run that nobody works now; the same run, finished in a copy, says what has to come out."""
    other, other_world = campaign.trial()
    assert (await campaign.forks.run(other)).status == "completed"
    assert other_world.counts
    url = str(campaign.database_url)
    _, expected = await campaign.uninterrupted(*campaign.trial())
    changes = await all_changes(url, trial.run_id, other.run_id)
    yield Scene(url, trial, world, expected.result, changes)
