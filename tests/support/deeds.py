"""What a process of a trial does to its run, through the functions that every surface calls."""

from collections.abc import Awaitable, Callable
from typing import Any, Literal, Protocol, TypeAlias
from uuid import UUID

from graph import runs
from graph.runtime import Runtime
from ledger.errors import NotFound
from ledger.reviews import Decision
from ledger.runs import FINISHED
from nodes.options import RunOptions

#: `go` and those after it may be done again after a crash, as a person does who cannot tell whether they were done.
Action: TypeAlias = Literal[
    "open", "start", "resume", "approve", "cancel", "warm", "go", "decide", "cancel_unless_done"
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
    def decision(self) -> dict[str, Any]: ...


Deed: TypeAlias = Callable[[Runtime, Told, UUID], Awaitable[str]]


async def _open(runtime: Runtime, trial: Told, run_id: UUID) -> str:
    return "opened"


async def _go(runtime: Runtime, trial: Told, run_id: UUID) -> str:
    try:
        return await _resume(runtime, trial, run_id)
    except NotFound:
        return await _start(runtime, trial, run_id)


async def _resume(runtime: Runtime, trial: Told, run_id: UUID) -> str:
    return (await runs.resume_run(runtime, run_id)).run.status


async def _start(runtime: Runtime, trial: Told, run_id: UUID) -> str:
    options = RunOptions(corpus=trial.corpus, review=trial.review, branches=trial.branches)
    return (await runs.start_run(runtime, trial.question, options, run_id)).run.status


async def _approve(runtime: Runtime, trial: Told, run_id: UUID) -> str:
    (asked,) = (await runs.outcome(runtime, run_id)).reviews
    approved = Decision(choice="approve", decided_by="ann")
    return (await runs.decide(runtime, asked.review_id, approved)).status


async def _decide(runtime: Runtime, trial: Told, run_id: UUID) -> str:
    for review in (await runs.outcome(runtime, run_id)).reviews:
        said = Decision.model_validate({"decided_by": "ann", **trial.decision})
        await runs.decide(runtime, review.review_id, said)
    return "decided"


async def _cancel(runtime: Runtime, trial: Told, run_id: UUID) -> str:
    return (await runs.cancel_run(runtime, run_id)).status


async def _cancel_unless_done(runtime: Runtime, trial: Told, run_id: UUID) -> str:
    run = (await runs.outcome(runtime, run_id)).run
    return run.status if run.status in FINISHED else await _cancel(runtime, trial, run_id)


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
}
