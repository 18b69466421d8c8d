"""What a process of a trial does to its run, through the functions that every surface calls."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any, Literal, Protocol, TypeAlias
from uuid import UUID

from graph import control, forking, relaying, runs, upgrading
from graph.runtime import Runtime
from ledger import effects, forks, records, retries
from ledger import runs as ledger_runs
from ledger.db import Transaction
from ledger.effects import Settlement
from ledger.errors import AlreadyVoted, EffectsUnsettled, NotFound
from ledger.questions import Decision
from ledger.runs import FINISHED, Run
from nodes.options import RunOptions
from tests.support.observed import observe
from tests.support.variants import LATER

#: `go` and those after it may be done again after a crash, as a person does who cannot tell whether they were done.
Action: TypeAlias = Literal[
    "open",
    "start",
    "resume",
    "approve",
    "cancel",
    "warm",
    "go",
    "decide",
    "cancel_unless_done",
    "retry",
    "fork",
    "settle",
    "relay",
    "relay_once",
    "upgrade",
    "go_later",
]


class Told(Protocol):
    """What of a trial its deed depends on."""

    @property
    def question(self) -> str: ...
    @property
    def corpus(self) -> tuple[str, ...]: ...
    @property
    def review(self) -> str: ...
    @property
    def branches(self) -> int: ...
    @property
    def publish(self) -> tuple[str, ...]: ...
    @property
    def notify(self) -> tuple[str, ...]: ...
    @property
    def options(self) -> dict[str, Any]: ...
    @property
    def decision(self) -> dict[str, Any]: ...


#: Edits of what a review shows, by their names in `decision`.
EDITS: dict[str, Callable[[Any], Any]] = {
    "omit source": lambda shown: {"omit": [shown["sources"][0]["id"]]},
    "let one stand": lambda shown: {"stand": [shown["claims"][0]["id"]]},
    "add words": lambda shown: {"text": f"{shown['report']}\nIt was seen from the sea.\n"},
}

Deed: TypeAlias = Callable[[Runtime, Told, UUID], Awaitable[str]]


async def _open(runtime: Runtime, trial: Told, run_id: UUID) -> str:
    return "opened"


async def _go(runtime: Runtime, trial: Told, run_id: UUID) -> str:
    try:
        return await _resume(runtime, trial, run_id)
    except NotFound:
        return await _start(runtime, trial, run_id)


async def _resume(runtime: Runtime, trial: Told, run_id: UUID) -> str:
    with suppress(EffectsUnsettled):
        return (await runs.resume_run(runtime, run_id)).run.status
    return "blocked"


async def _start(runtime: Runtime, trial: Told, run_id: UUID) -> str:
    options = RunOptions(
        corpus=trial.corpus,
        review=trial.review,
        branches=trial.branches,
        publish=trial.publish,
        notify=trial.notify,
        **trial.options,
    )
    with suppress(EffectsUnsettled):
        return await _started(runtime, trial, run_id, options)
    return "blocked"


async def _started(runtime: Runtime, trial: Told, run_id: UUID, options: RunOptions) -> str:
    return (await runs.start_run(runtime, trial.question, options, run_id)).run.status


async def _approve(runtime: Runtime, trial: Told, run_id: UUID) -> str:
    (asked,) = (await runs.outcome(runtime, run_id)).reviews
    approved = Decision(choice="approve", decided_by="ann")
    return (await runs.decide(runtime, asked.review_id, approved)).status


async def _decide(runtime: Runtime, trial: Told, run_id: UUID) -> str:
    for review in (await runs.outcome(runtime, run_id)).reviews:
        said = Decision.model_validate({"decided_by": "ann", **trial.decision})
        if isinstance(said.edit, str):
            said = said.model_copy(update={"edit": EDITS[said.edit](review.shown)})
        # Whoever cannot tell whether they were heard says it again.
        with suppress(AlreadyVoted):
            await runs.decide(runtime, review.review_id, said)
    return "decided"


async def _cancel(runtime: Runtime, trial: Told, run_id: UUID) -> str:
    return (await runs.cancel_run(runtime, run_id)).status


async def _cancel_unless_done(runtime: Runtime, trial: Told, run_id: UUID) -> str:
    run = (await runs.outcome(runtime, run_id)).run
    return run.status if run.status in FINISHED else await _cancel(runtime, trial, run_id)


async def _retry(runtime: Runtime, trial: Told, run_id: UUID) -> str:
    """Research the first branch anew, unless that was asked for already."""
    async with runtime.ledger.transaction() as tx:
        asked = await retries.newest_first(tx, run_id)
    if asked:
        return await _resume(runtime, trial, run_id)
    return (await control.retry_run(runtime, run_id, "t1", "latest")).run.status


async def _fork(runtime: Runtime, trial: Told, run_id: UUID) -> str:
    """Begin a run where the branches of this one had ended, unless there is one, and work it; it must find the same."""
    async with runtime.ledger.transaction() as tx:
        begun = [
            run for run in await ledger_runs.newest_first(tx) if await _is_fork(tx, run, run_id)
        ]
        rows = await records.newest_first(tx, run_id)
    if begun:
        forked = begun[0]
    else:
        at = next(row.checkpoint_id for row in rows if row.boundary == "branch_completed")
        forked = await forking.fork_run(runtime, run_id, at)
    status = (await runs.resume_run(runtime, forked.run_id)).run.status
    first, second = [
        (await observe(runtime.ledger, each)).result for each in (run_id, forked.run_id)
    ]
    return status if first == second else "differs from its origin"


async def _settle(runtime: Runtime, trial: Told, run_id: UUID) -> str:
    """Settle every effect that waits for a person: what did not happen is sent again."""
    async with runtime.ledger.transaction() as tx:
        waiting = [
            each for each in await effects.of_run(tx, run_id) if each.status == "awaiting_person"
        ]
    said = Settlement(settled_by="ann", why="whoever should have it was asked")
    for effect in waiting:
        has = effect.key in trial.decision["happened"]
        name = "seen there" if has else None
        await control.settle_effect(runtime, effect.key, name, said, again=not has)
    return "settled"


async def _relay(runtime: Runtime, trial: Told, run_id: UUID) -> str:
    """Send what is due; says whether a notice of the run is left for later."""
    await relaying.run_once(runtime)
    async with runtime.ledger.transaction() as tx:
        told = [each.status for each in await effects.of_run(tx, run_id) if each.mode == "notice"]
    return "left" if {"intended", "sending", "in_doubt"} & set(told) else "relayed"


async def _relay_once(runtime: Runtime, trial: Told, run_id: UUID) -> str:
    await relaying.run_once(runtime)
    return "looked"


async def _upgrade(runtime: Runtime, trial: Told, run_id: UUID) -> str:
    """Bring the run to the later version, unless it is there."""
    became = (await upgrading.upgrade_run(as_later(runtime), run_id)).became
    return "upgraded" if became == "current" else became


async def _go_later(runtime: Runtime, trial: Told, run_id: UUID) -> str:
    """Start the run by this version; whoever goes on with it is of the later one."""
    try:
        if (became := await _upgrade(runtime, trial, run_id)) != "upgraded":
            return became
    except NotFound:
        return await _start(runtime, trial, run_id)
    return await _resume(as_later(runtime), trial, run_id)


def as_later(runtime: Runtime) -> Runtime:
    """Return a runtime as a process of the later version has it."""
    resources = replace(runtime.resources, workflow=LATER.identity())
    return replace(runtime, resources=resources, definition=LATER)


async def _is_fork(tx: Transaction, run: Run, origin: UUID) -> bool:
    fork = await forks.of(tx, run.run_id)
    return fork is not None and fork.origin_run == origin


DEEDS: dict[Action, Deed] = {
    "open": _open,
    "warm": _start,
    "start": _start,
    "resume": _resume,
    "approve": _approve,
    "cancel": _cancel,
    "go": _go,
    "decide": _decide,
    "cancel_unless_done": _cancel_unless_done,
    "retry": _retry,
    "fork": _fork,
    "settle": _settle,
    "relay": _relay,
    "relay_once": _relay_once,
    "upgrade": _upgrade,
    "go_later": _go_later,
}
