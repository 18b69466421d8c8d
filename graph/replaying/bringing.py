"""Brings a recorded checkpoint of an older version to the one at hand, by its chain of upcasts, as a migration would.

Nothing is committed anywhere: what comes of it is put into the scratch database and played.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast
from uuid import UUID

from langgraph.checkpoint.base import Checkpoint, CheckpointMetadata, CheckpointTuple

from graph import position, upcasting
from graph.histories import Kept, plain, restored
from graph.replaying.stage import Player
from graph.saver_records import config_of
from graph.upcasting import Reasked
from graph.upcasts.base import Asked, Planned, Sleeping
from ledger.canonical import canonical, digest
from ledger.recordings import Name, Row

Rows = Mapping[Name, Row]


@dataclass(frozen=True, slots=True)
class Brought:
    """Where a run stands once it is brought up: the checkpoint as JSON, the next nodes, reviews that are asked again."""

    checkpoint: dict[str, Any]
    values: dict[str, Any]
    next: tuple[str, ...]
    rows: dict[Name, Row] = field(default_factory=dict[Name, Row])


def brought(player: Player, run_id: UUID, kept: Kept, rows: Rows) -> Brought:
    """Return a checkpoint at the version of the player, without a next step where it has none; raises CannotMigrate."""
    found = _tuple(run_id, kept)
    values, following = position.read(found)
    if not following:
        # It ended in its own version, whose state nobody reads any more.
        return Brought({}, {}, ())
    run = next(row for (table, _), row in rows.items() if table == "runs")
    old = Sleeping(
        values=values,
        next=following,
        reviews=_reviews(rows),
        plan=_plan(rows),
        options=run["body"]["options"],
    )
    known = player.definition.upcasts
    first = kept.record["workflow_version"]
    chain = [(each, known[each]) for each in range(first, player.definition.version)]
    new, again = upcasting.reask(run_id, old, upcasting.upcast(old, chain))
    upcasting.check(player.wired, new)
    newest = max(map(str, found.checkpoint["channel_versions"].values()))
    version = player.saver.get_next_version(cast("Any", newest), None)
    made = position.checkpoint_at(player.wired, found, new.values, new.next, str(version))
    nodes = tuple(sorted(each.node for each in new.next))
    return Brought(plain(made), new.values, nodes, _asked_again(rows, again))


def _tuple(run_id: UUID, kept: Kept) -> CheckpointTuple:
    return CheckpointTuple(
        config_of(str(run_id), "", kept.checkpoint_id),
        cast("Checkpoint", restored(kept.checkpoint)),
        cast("CheckpointMetadata", kept.metadata),
        None,
        [(task, channel, restored(value)) for task, channel, value in kept.writes],
    )


def _reviews(rows: Rows) -> tuple[Asked, ...]:
    """Return the reviews that are open, or decided and not applied, oldest first."""
    found = sorted(
        (row for (table, _), row in rows.items() if table == "reviews"),
        key=lambda row: (row["asked_at"], row["review_id"]),
    )
    return tuple(
        Asked(
            review_id=row["review_id"],
            kind=row["kind"],
            shown=row["body"],
            decided=row["status"] == "decided",
        )
        for row in found
        if row["status"] == "open" or (row["status"] == "decided" and not row.get("applied_at"))
    )


def _plan(rows: Rows) -> tuple[Planned, ...]:
    found = sorted(
        (row for (table, _), row in rows.items() if table == "tasks"),
        key=lambda row: row["position"],
    )
    return tuple(
        Planned(
            task_id=row["task_id"],
            question=row["body"]["question"],
            depends_on=tuple(row["depends_on"]),
            status=row["status"],
        )
        for row in found
    )


def _asked_again(rows: Rows, again: list[Reasked]) -> dict[Name, Row]:
    made: dict[Name, Row] = {}
    for each in again:
        name, shown = each.after.review_id, each.after.shown
        before = rows["reviews", each.before.review_id]
        made["reviews", each.before.review_id] = {**before, "status": "stale"}
        made["reviews", name] = {
            **before,
            "review_id": name,
            "body": shown,
            "shown_digest": digest(canonical(shown)),
        }
    return made
