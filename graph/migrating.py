"""Bringing a run that sleeps to this version of the workflow: read, upcast, checked, and committed whole or not at all.

One transaction, under the run's lease, writes the new checkpoint (the old one is its parent and stays), the reviews that
are asked again, the plan, the run's row and the log. What the run does outside keeps its keys and rows.

Steps that were under way begin anew, those of a superstep of which others had ended too: what an ended step wrote can be
folded into the state only by the reducers and routers of the code that ran it, which is not here, and a guess could skip
what a router would have sent out. The journal has the answers to their calls and the ledger what they recorded, so that
beginning anew asks nobody twice; LangGraph itself promises no more of a superstep.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from langgraph.checkpoint.base import Checkpoint, CheckpointTuple
from langgraph.graph import START

from graph import checkpoints, position, upcasting
from graph.choosing import newest_whole
from graph.errors import CannotMigrate
from graph.runtime import Runtime
from graph.saver import STORE
from graph.saver_records import config_of
from graph.upcasting import Reasked
from graph.upcasts.base import Asked, Next, Planned, Sleeping
from graph.waiting import set_waiting
from ledger import forks, integrity, reviews, runs, tasks, workflow_migrations
from ledger.canonical import Json
from ledger.db import Transaction
from ledger.errors import LedgerDamaged
from ledger.runs import Run
from nodes.notices import intend_notices, of_review
from nodes.options import RunOptions
from nodes.plans import WORKER
from nodes.resources import Workflow

#: The boundary of a checkpoint that a migration stored.
BOUNDARY = "migrated"


@dataclass(frozen=True, slots=True)
class Move:
    """What a migration does to a run: `old` as it stands, `new` as it will; without `before` it has no checkpoint yet."""

    run: Run
    before: CheckpointTuple | None
    old: Sleeping
    new: Sleeping
    again: tuple[Reasked, ...]
    checkpoint: Checkpoint | None

    def changes(self) -> dict[str, Json]:
        """Return what changes, as the log keeps it: names, never what a person wrote."""
        old, new = self.old.values, self.new.values
        return {
            "steps": {
                "before": [each.node for each in self.old.next],
                "after": [each.node for each in self.new.next],
            },
            "channels": {
                "gone": sorted(old.keys() - new.keys()),
                "new": sorted(new.keys() - old.keys()),
                "changed": sorted(n for n in old.keys() & new.keys() if old[n] != new[n]),
            },
            "reviews": {each.before.review_id: each.after.review_id for each in self.again},
            "plan": sorted(
                {each.task_id for each in set(self.old.plan) ^ set(self.new.plan)},
            ),
            "options": self.old.options != self.new.options,
        }


async def migrate_run(runtime: Runtime, run: Run, versions: Sequence[int]) -> Run:
    """Bring a run that this process holds to the version of the runtime, and return its row; done twice it is done once.

    `versions` are those that it becomes on the way, this one last: (2, 3) leads from version 1 to version 3. Raises
    CannotMigrate, with nothing written, LedgerDamaged, CheckpointUnsealed, RecordTooNew, SealKeyMissing, LeaseLost.
    """
    async with runtime.ledger.transaction(run.run_id) as tx:
        # What is newer and not whole is rejected, as by any recovery.
        await newest_whole(tx, run.run_id, "")
    async with runtime.ledger.transaction(run.run_id) as tx:
        await workflow_migrations.lock(tx, run.run_id)
        standing = await runs.get(tx, run.run_id)
        if Workflow(standing.workflow_version, standing.fingerprint) == runtime.resources.workflow:
            return standing
        move = await foreseen(runtime, tx, standing, versions)
        await _commit(runtime, tx, move)
    async with runtime.ledger.transaction() as tx:
        return await runs.get(tx, run.run_id)


async def foreseen(runtime: Runtime, tx: Transaction, run: Run, versions: Sequence[int]) -> Move:
    """Return what a migration would do to a run; writes nothing. Raises as `migrate_run` does."""
    try:
        return await _foreseen(runtime, tx, run, versions)
    except CannotMigrate as error:
        raise CannotMigrate(
            f"run {run.run_id} stays at workflow version {run.workflow_version}: {error}. The version of perdure that"
            " began it can go on with it"
        ) from error


async def _foreseen(runtime: Runtime, tx: Transaction, run: Run, versions: Sequence[int]) -> Move:
    known = runtime.definition.upcasts
    steps = [each - 1 for each in versions]
    if missing := [str(each) for each in steps if each not in known]:
        raise CannotMigrate(f"no step leads on from version {', '.join(missing)}")
    before = await _newest(runtime, tx, run.run_id)
    old = await _sleeping(tx, run, before)
    changed = upcasting.upcast(old, [(each, known[each]) for each in steps])
    new, again = upcasting.reask(run.run_id, old, changed)
    builder = runtime.definition.build(runtime.resources)
    upcasting.check(builder, new)
    _check_plan(old, new)
    if before is None:
        _check_begins(new)
        return Move(run, None, old, new, tuple(again), None)
    newest = max(map(str, before.checkpoint["channel_versions"].values()))
    version = runtime.new_saver().get_next_version(newest, None)
    checkpoint = position.checkpoint_at(builder, before, new.values, new.next, version)
    await position.check_place(builder, checkpoint, new.next)
    return Move(run, before, old, new, tuple(again), checkpoint)


async def _newest(runtime: Runtime, tx: Transaction, run_id: UUID) -> CheckpointTuple | None:
    """Return the checkpoint that the run would go on from, None before its first."""
    head = await checkpoints.head(tx, run_id)
    if head is None:
        if await forks.of(tx, run_id) is not None or await checkpoints.rejected(tx, run_id):
            raise CannotMigrate("it has no checkpoint to begin from")
        return None
    if head.problems:
        raise CannotMigrate(f"its newest checkpoint is damaged ({'; '.join(head.problems[:3])})")
    # The new checkpoint names another version of the ledger: what the old one names is looked for once more.
    if damage := await integrity.lost_anchor(tx, run_id, head.anchor):
        raise LedgerDamaged(run_id, "; ".join(map(str, damage)))
    return await runtime.new_saver().aget_tuple(config_of(str(run_id), "", head.checkpoint_id))


async def _sleeping(tx: Transaction, run: Run, before: CheckpointTuple | None) -> Sleeping:
    values, following = position.read(before) if before else ({}, _beginning(run))
    asked = [
        Asked(
            review_id=each.review_id,
            kind=each.kind,
            shown=each.shown,
            decided=each.status == "decided",
        )
        for each in reversed(await reviews.newest_first(tx, run.run_id))
        if each.status == "open" or (each.status == "decided" and each.applied_at is None)
    ]
    planned = [
        Planned(
            task_id=each.task_id,
            question=each.question,
            depends_on=each.depends_on,
            status=each.status,
        )
        for each in await tasks.everything(tx, run.run_id)
    ]
    return Sleeping(
        values=values,
        next=following,
        reviews=tuple(asked),
        plan=tuple(planned),
        options=run.options,
    )


def _beginning(run: Run) -> tuple[Next, ...]:
    return (Next(node=START, sent={"question": run.question}),)


def _check_begins(new: Sleeping) -> None:
    if [each.node for each in new.next] != [START] or new.values:
        raise CannotMigrate("it has not begun, and would begin elsewhere than with its question")


def _check_plan(old: Sleeping, new: Sleeping) -> None:
    """Raise CannotMigrate for what cannot become of a plan: only tasks that nobody has begun change."""
    after = {each.task_id: each for each in new.plan}
    for each in old.plan:
        if after.get(each.task_id) != each and each.status != "pending":
            raise CannotMigrate(f"task {each.task_id} of its plan is {each.status}, and stays so")
    for each in new.plan:
        if each not in old.plan and each.status != "pending":
            raise CannotMigrate(f"task {each.task_id} of its plan can only be pending")


async def _commit(runtime: Runtime, tx: Transaction, move: Move) -> None:
    """Write it all; the checkpoint last, because its record names the version of the rows that it rests on."""
    run, workflow = move.run, runtime.resources.workflow
    told = await _ask_again(runtime, tx, move)
    await _replan(tx, move)
    names = (
        move.before.checkpoint["id"] if move.before else None,
        move.checkpoint["id"] if move.checkpoint else None,
    )
    to = (workflow.version, workflow.fingerprint)
    await workflow_migrations.record(tx, run, to, names, move.new.options, move.changes())
    # What it waits for until a time has nothing to do with its version, and a sweep looks for it by that time.
    if run.status == "blocked" and run.try_again_at is None:
        await _wake(tx, run.run_id)
    anchor = await tx.seal(run.run_id)
    if move.before is not None and move.checkpoint is not None:
        await _store(runtime, tx, move.before, _telling(move.checkpoint, told), anchor)


async def _ask_again(runtime: Runtime, tx: Transaction, move: Move) -> dict[str, str]:
    """Ask the reviews that show something else now; returns the notices of them."""
    run = move.run
    options = RunOptions.model_validate(move.new.options)
    beside = [each.review_id for each in move.new.reviews]
    told: dict[str, str] = {}
    for each in move.again:
        asked = each.after
        await reviews.replace(tx, run.run_id, each.before.review_id)
        await reviews.ask(
            tx,
            run.run_id,
            asked.kind,
            asked.shown,
            move.new.values.get("decided", 0),
            rules=options.rules(asked.kind),
            beside=beside,
        )
        text = of_review(run, asked.kind, asked.review_id)
        told |= await intend_notices(tx, runtime.resources.targets, run, asked.review_id, text)
    return told


async def _replan(tx: Transaction, move: Move) -> None:
    run_id, before = move.run.run_id, {each.task_id: each for each in move.old.plan}
    after = {each.task_id: each for each in move.new.plan}
    if before.keys() - after.keys():
        await tasks.supersede(tx, run_id, list(after))
    for name in before.keys() & after.keys():
        if before[name] != after[name]:
            each = after[name]
            await tasks.reword(tx, run_id, name, each.question, each.depends_on)
    added = [each for each in move.new.plan if each.task_id not in before]
    if added:
        rows = [(each.task_id, each.question, each.depends_on) for each in added]
        await tasks.add(tx, run_id, rows, WORKER)


async def _wake(tx: Transaction, run_id: UUID) -> None:
    """Let a run wait or go on that was blocked: what blocked it may have been its version; if not, it is blocked again."""
    if any(each.status == "open" for each in await reviews.newest_first(tx, run_id)):
        await set_waiting(tx, run_id)
    else:
        await runs.set_status(tx, run_id, "running")


def _telling(checkpoint: Checkpoint, told: dict[str, str]) -> Checkpoint:
    """Return a checkpoint that names notices: none is sent of what no checkpoint names."""
    if not told:
        return checkpoint
    values = checkpoint["channel_values"]
    version = next(iter(checkpoint["channel_versions"].values()))
    return {
        **checkpoint,
        "channel_values": {**values, "effects": {**values.get("effects", {}), **told}},
        "channel_versions": {**checkpoint["channel_versions"], "effects": version},
    }


async def _store(
    runtime: Runtime,
    tx: Transaction,
    before: CheckpointTuple,
    checkpoint: Checkpoint,
    anchor: tuple[int, str],
) -> None:
    stamped: dict[str, Any] = {
        "boundary": BOUNDARY,
        "ledger_version": anchor[0],
        "ledger_seal": anchor[1],
    }
    row, _ = await runtime.new_saver().row(
        before.config,
        checkpoint,
        position.step_after(before),
        checkpoint["channel_versions"],
        stamped,
    )
    await tx.run(STORE, **row, held=tx.fence)
