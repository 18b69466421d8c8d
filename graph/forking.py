"""Forks: a new run from an old checkpoint of another, with the ledger as it stood then.

In two steps: the rows, in one transaction, and then the checkpoint, whose record names the version of the ledger that has
them. Where a worker dies in between, the fork's first recovery does the second.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any
from uuid import UUID

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.types import Send

from graph.position import TASKS
from graph.runtime import Runtime
from ledger import forks, integrity, leases, records, reviews, runs
from ledger.db import Transaction
from ledger.errors import Ambiguous, LedgerDamaged, NotFound
from ledger.forks import Fork
from ledger.ids import new_run_id
from ledger.questions import Review
from ledger.records import CheckpointRecord
from ledger.runs import Run
from nodes.options import RunOptions
from nodes.resources import Workflow
from nodes.state import AskedReview


async def fork_run(
    runtime: Runtime, origin: UUID, checkpoint: str, policy: forks.Effects = "forbid"
) -> Run:
    """Begin a new run at a checkpoint of another, with the ledger as it stood then; nobody works it yet.

    `checkpoint` is a checkpoint's id or the beginning of one; `policy` says what becomes of the other's consequences
    outside. The other run stays as it is. Raises NotFound for a checkpoint that is not one of that run's, CheckpointDamaged
    and LedgerDamaged for what no longer is what was sealed.
    """
    record = await _record(runtime, origin, checkpoint)
    loaded = await _loaded(runtime, origin, record)
    assert record.ledger_version is not None
    run_id = new_run_id()
    async with leases.hold(runtime.ledger, run_id):
        async with runtime.ledger.transaction(one_moment=True) as tx:
            await _check_history(tx, origin, record)
            asked = await _open_reviews(tx, origin, loaded, record.ledger_version)
        async with runtime.ledger.transaction(run_id) as tx:
            await forks.copy(
                tx, run_id, origin, record.checkpoint_id, record.ledger_version, policy
            )
            await _ask_again(tx, run_id, loaded, asked)
            run = await runs.get(tx, run_id)
        await _copy_checkpoint(runtime, run, loaded, _renamed(run_id, loaded, asked))
        return run


async def finish(runtime: Runtime, run_id: UUID, fork: Fork) -> None:
    """Store the first checkpoint of a fork whose worker died before it could; raises as `fork_run` does."""
    record = await _record(runtime, fork.origin_run, fork.origin_checkpoint)
    loaded = await _loaded(runtime, fork.origin_run, record)
    async with runtime.ledger.transaction() as tx:
        asked = await _open_reviews(tx, fork.origin_run, loaded, fork.ledger_version)
        run = await runs.get(tx, run_id)
    await _copy_checkpoint(runtime, run, loaded, _renamed(run_id, loaded, asked))


async def _record(runtime: Runtime, origin: UUID, checkpoint: str) -> CheckpointRecord:
    async with runtime.ledger.transaction() as tx:
        await runs.get(tx, origin)
        found = [
            record
            for record in await records.newest_first(tx, origin)
            if record.checkpoint_id.startswith(checkpoint) and record.is_a_beginning
        ]
        if len(found) > 1 and checkpoint:
            raise Ambiguous(
                f"more than one checkpoint of run {origin} begins with {checkpoint}; give more of its id"
            )
        if len(found) != 1:
            await forks.refuse_foreign(tx, origin, checkpoint)
    return found[0]


async def _loaded(runtime: Runtime, origin: UUID, record: CheckpointRecord) -> CheckpointTuple:
    config = _config(origin, record.checkpoint_id)
    loaded = await runtime.new_saver().aget_tuple(config)
    if loaded is None or record.ledger_version is None:
        raise NotFound(
            f"checkpoint {record.checkpoint_id} was stored by a version of perdure that kept no history of the ledger, or is"
            f" gone; `perdure history {origin}` lists the others"
        )
    return loaded


async def _check_history(tx: Transaction, origin: UUID, record: CheckpointRecord) -> None:
    assert record.ledger_version is not None
    damage = await integrity.damaged_history(tx, origin, record.ledger_version)
    if damage:
        raise LedgerDamaged(origin, "; ".join(str(each) for each in damage[:3]))


async def _open_reviews(
    tx: Transaction, origin: UUID, loaded: CheckpointTuple, version: int
) -> list[Review]:
    asked: list[AskedReview] = loaded.checkpoint["channel_values"].get("reviews") or []
    return [await forks.review_as_of(tx, origin, each["review_id"], version) for each in asked]


def _renamed(run_id: UUID, loaded: CheckpointTuple, asked: Sequence[Review]) -> dict[str, str]:
    """Return the ids that reviews of the other run have in the new one, by the ids that they had."""
    decided = loaded.checkpoint["channel_values"].get("decided", 0)
    return {
        each.review_id: reviews.review_id(run_id, each.kind, each.shown_digest, decided)
        for each in asked
    }


async def _ask_again(
    tx: Transaction, run_id: UUID, loaded: CheckpointTuple, asked: Sequence[Review]
) -> None:
    """Ask of the new run what was asked of the other, all of it."""
    decided = loaded.checkpoint["channel_values"].get("decided", 0)
    options = RunOptions.model_validate((await runs.get(tx, run_id)).options)
    beside = list(_renamed(run_id, loaded, asked).values())
    for each in asked:
        rules = options.rules(each.kind)
        await reviews.ask(tx, run_id, each.kind, each.shown, decided, rules=rules, beside=beside)
    if asked:
        await runs.set_status(tx, run_id, "paused")


async def _copy_checkpoint(
    runtime: Runtime, run: Run, loaded: CheckpointTuple, renamed: Mapping[str, str]
) -> None:
    checkpoint = deepcopy(loaded.checkpoint)
    values = checkpoint["channel_values"]
    # What that run was going to do outside is not this one's: it decides its own.
    values.pop("effects", None)
    checkpoint["channel_versions"].pop("effects", None)
    if renamed:
        values["reviews"] = [_under_new_id(each, renamed) for each in values["reviews"]]
        # What is sent to the nodes of the reviews next.
        values[TASKS] = [
            Send(each.node, _under_new_id(each.arg, renamed)) for each in values.get(TASKS, [])
        ]
    # As the run that it comes from stood then: it may be migrated since.
    saver = runtime.new_saver(Workflow(run.workflow_version, run.fingerprint))
    versions = checkpoint["channel_versions"]
    await saver.aput(_config(run.run_id), checkpoint, loaded.metadata, versions)


def _under_new_id(asked: AskedReview, renamed: Mapping[str, str]) -> AskedReview:
    return {**asked, "review_id": renamed[asked["review_id"]]}


def _config(run_id: UUID, checkpoint_id: str | None = None) -> RunnableConfig:
    configurable: dict[str, Any] = {"thread_id": str(run_id), "checkpoint_ns": ""}
    if checkpoint_id is not None:
        configurable["checkpoint_id"] = checkpoint_id
    return {"configurable": configurable}
