"""Bringing sleeping runs to this version of the workflow, one or all of them, without working them on.

Each run is a transaction of its own, so that whoever is killed over thousands has done what is done, and the next one goes
on with the rest. A run that somebody works is left; one that cannot be brought over is blocked with the reason, and does
not end the others.
"""

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, assert_never
from uuid import UUID

from graph.compatibility import Compatible, Migratable, Newer, Same, Unknown, judge
from graph.errors import CannotMigrate
from graph.migrating import Move, foreseen, migrate_run
from graph.recovery import blocked
from graph.runtime import Runtime
from ledger import integrity, leases, runs, workflow_migrations
from ledger.db import Transaction
from ledger.errors import (
    DatabaseFull,
    DatabaseUnavailable,
    LeaseLost,
    LedgerError,
    RunHeld,
    TakeoverBlocked,
)
from ledger.runs import Run
from ledger.stamps import Stamp

# Runs that are looked for at once; each is read when it is its turn.
BATCH = 200

#: What became of a run: it is of this version now, would be, was already or is finished, is worked by somebody, stays.
Became: TypeAlias = Literal["upgraded", "upgradable", "current", "held", "refused"]


@dataclass(frozen=True, slots=True)
class Upgraded:
    """What became of one run; `why` says it in words, `changes` is what its migration changed, or would."""

    run_id: UUID
    became: Became
    from_version: int
    to_version: int
    why: str
    changes: Mapping[str, Any] = field(default_factory=dict[str, Any])


async def count(runtime: Runtime) -> int:
    """Return how many unfinished runs are of other workflows than this."""
    workflow = runtime.resources.workflow
    async with runtime.ledger.transaction() as tx:
        return await workflow_migrations.count_others(tx, workflow.version, workflow.fingerprint)


async def upgrade_all(runtime: Runtime, *, check: bool = False) -> AsyncGenerator[Upgraded]:
    """Bring every unfinished run to this version, or say what would become of each; ends early once told to drain."""
    workflow, after = runtime.resources.workflow, None
    while True:
        async with runtime.ledger.transaction() as tx:
            batch = await workflow_migrations.others(
                tx, workflow.version, workflow.fingerprint, after, BATCH
            )
        for run_id in batch:
            if runtime.control.drain_requested:
                return
            yield await upgrade_run(runtime, run_id, check=check)
        if not batch:
            return
        after = batch[-1]


async def upgrade_run(runtime: Runtime, run_id: UUID, *, check: bool = False) -> Upgraded:
    """Bring one run to this version, or say what would become of it and write nothing.

    Raises NotFound, and DatabaseUnavailable and DatabaseFull: those are no matter of one run.
    """
    async with runtime.ledger.transaction() as tx:
        run = await runs.get(tx, run_id)
    if run.status in runs.FINISHED:
        return _told(runtime, run, "current", f"it is {run.status}: nothing goes on there")
    verdict = judge(Stamp(run.workflow_version, run.fingerprint), runtime.definition)
    match verdict:
        case Same():
            return _told(runtime, run, "current", "it is of this version")
        case Compatible(reason):
            return _told(runtime, run, "current", f"it goes on as it is: {reason}")
        case Newer(version):
            why = f"it is of version {version}, which this code does not know: a worker that does takes it"
            return _told(runtime, run, "refused", why)
        case Unknown(found):
            why = f"nothing leads here from its workflow: {'; '.join(found[:3])}"
            return _told(runtime, run, "refused", why)
        case Migratable(steps):
            return await _attempted(runtime, run, steps, check=check)
        case _:
            assert_never(verdict)


async def _attempted(
    runtime: Runtime, run: Run, steps: tuple[int, ...], *, check: bool
) -> Upgraded:
    try:
        if check:
            async with runtime.ledger.transaction(one_moment=True) as tx:
                await _check_rows(tx, run)
                move = await foreseen(runtime, tx, run, steps)
            return _told(runtime, run, "upgradable", _words(move.changes()), move)
        async with leases.hold(runtime.ledger, run.run_id, passing=True):
            return await _held(runtime, run, steps)
    except (DatabaseUnavailable, DatabaseFull):
        raise
    except (RunHeld, LeaseLost, TakeoverBlocked) as error:
        return _told(runtime, run, "held", str(error))
    except LedgerError as error:
        return _told(runtime, run, "refused", str(error))


async def _held(runtime: Runtime, run: Run, steps: tuple[int, ...]) -> Upgraded:
    async with runtime.ledger.transaction(one_moment=True) as tx:
        await _check_rows(tx, run)
    try:
        await migrate_run(runtime, run, steps)
    except CannotMigrate as error:
        async with runtime.ledger.transaction(run.run_id) as tx:
            await runs.set_status(tx, run.run_id, "blocked", str(error))
        raise
    async with runtime.ledger.transaction() as tx:
        done = await workflow_migrations.newest_first(tx, run.run_id)
    if not done:
        return _told(runtime, run, "current", "somebody else brought it here meanwhile")
    return Upgraded(
        run.run_id,
        "upgraded",
        run.workflow_version,
        runtime.definition.version,
        _words(done[0].changes),
        done[0].changes,
    )


async def _check_rows(tx: Transaction, run: Run) -> None:
    """Raise RunBlocked for a run that is not as it was sealed: a migration would vouch for it."""
    await integrity.check_key(tx, run.run_id)
    if damage := await integrity.damage(tx, run.run_id):
        raise blocked(run.run_id, damage)


def _told(
    runtime: Runtime, run: Run, became: Became, why: str, move: Move | None = None
) -> Upgraded:
    changes = move.changes() if move else {}
    return Upgraded(
        run.run_id, became, run.workflow_version, runtime.definition.version, why, changes
    )


def _words(changes: Mapping[str, Any]) -> str:
    steps: dict[str, list[str]] = changes["steps"]
    asked: dict[str, str] = changes["reviews"]
    after, before = ", ".join(steps["after"]), ", ".join(steps["before"])
    told = f"goes on with {after}" + (f" instead of {before}" if before != after else "")
    return f"{told}; asked again: {', '.join(asked.values())}" if asked else told
