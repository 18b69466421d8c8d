"""Runs: what was asked, how far it is, and whether it is finished.

Each change of status is one statement whose WHERE clause names the statuses that it leaves. A run that is completed
or cancelled changes no more.
"""

from contextlib import suppress
from datetime import datetime
from typing import Any, Literal, TypeAlias
from uuid import UUID

from psycopg.rows import DictRow
from pydantic import BaseModel, ConfigDict

from ledger import audit
from ledger.canonical import Json
from ledger.db import Transaction, readable
from ledger.errors import Ambiguous, LedgerDamaged, NotFound, RunExists
from ledger.sql import load
from ledger.stamps import Stamp

_SQL = load("runs")
_CREATE, _GET, _LIST, _MATCHING = (
    _SQL["CreateRun"],
    _SQL["GetRun"],
    _SQL["ListRuns"],
    _SQL["RunsByPrefix"],
)
_SET_STATUS, _SET_PHASE, _SET_CORPUS = _SQL["SetStatus"], _SQL["SetPhase"], _SQL["SetCorpus"]
_SET_OPTIONS = _SQL["SetOptions"]
_WAS_RECORDED = _SQL["RunWasRecorded"]
_COMPLETE, _CANCEL, _CLOSE = _SQL["CompleteRun"], _SQL["CancelRun"], _SQL["CloseReviews"]

Status: TypeAlias = Literal["running", "paused", "blocked", "completed", "failed", "cancelled"]
#: Nothing is left to do in these.
FINISHED: frozenset[Status] = frozenset({"completed", "cancelled"})


class Run(BaseModel):
    """One row of runs; `options` is what the run was started with."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    run_id: UUID
    status: Status
    phase: str
    reason: str | None
    question: str
    options: dict[str, Any]
    workflow_version: int
    fingerprint: str
    corpus_artifact: str | None
    report_artifact: str | None
    created_at: datetime
    updated_at: datetime
    finished_at: datetime | None
    #: When a run that waits for a service is taken up again.
    try_again_at: datetime | None = None

    @property
    def stamp(self) -> Stamp:
        """What it bears of the workflow that works it."""
        return Stamp(self.workflow_version, self.fingerprint)


async def create(
    tx: Transaction,
    run_id: UUID,
    question: str,
    options: dict[str, Json],
    workflow_version: int,
    fingerprint: str,
) -> Run:
    """Record a new run; raises RunExists if the id is taken."""
    row = await tx.maybe(
        _CREATE,
        run_id=run_id,
        workflow_version=workflow_version,
        fingerprint=fingerprint,
        **tx.pack({"question": question, "options": options}),
    )
    if row is None:
        raise RunExists(f"run {run_id} exists; `perdure resume {run_id}` goes on with it")
    await audit.append(
        tx,
        run_id,
        "run_created",
        {"workflow_version": workflow_version, "fingerprint": fingerprint},
    )
    return _run(tx, row)


async def get(tx: Transaction, run_id: UUID) -> Run:
    """Return a run; raises NotFound, and LedgerDamaged for a row that was removed or that nobody could have written."""
    row = await tx.maybe(_GET, run_id=run_id)
    if row is not None:
        return _run(tx, row)
    if await tx.maybe(_WAS_RECORDED, run_id=run_id):
        raise LedgerDamaged(run_id, "row runs is missing")
    raise NotFound(f"no run {run_id}; `perdure runs` lists those that exist")


async def find(tx: Transaction, prefix: str) -> Run:
    """Return the one run that a person means by its id or the beginning of it; raises NotFound or Ambiguous."""
    with suppress(ValueError, NotFound):
        # A whole id is looked up as such: however many runs there are.
        return await get(tx, UUID(prefix.strip()))
    return _run(tx, await _matching(tx, prefix))


async def find_id(tx: Transaction, prefix: str) -> UUID:
    """Return the id of the one run that a person means, whatever its row holds; raises as `find` does.

    A whole id is one even if its row is gone.
    """
    with suppress(ValueError):
        return UUID(prefix.strip())
    found: UUID = (await _matching(tx, prefix))["run_id"]
    return found


async def _matching(tx: Transaction, prefix: str) -> DictRow:
    wanted = prefix.strip().lower()
    if not wanted or set(wanted) - set("0123456789abcdef-"):
        raise NotFound(
            f"{prefix[:80]!r} is no run id: a run is named by a UUID or its beginning; `perdure runs` lists them"
        )
    rows = await tx.many(_MATCHING, prefix=wanted)
    if not rows:
        raise NotFound(f"no run begins with {prefix!r}; `perdure runs` lists those that exist")
    if len(rows) > 1:
        ids = ", ".join(str(row["run_id"]) for row in rows)
        raise Ambiguous(f"{prefix!r} fits more than one run ({ids}…); give more of the id")
    return rows[0]


async def newest_first(tx: Transaction) -> list[Run]:
    """Return all runs, newest first."""
    return [_run(tx, row) for row in await tx.many(_LIST)]


async def set_status(
    tx: Transaction,
    run_id: UUID,
    status: Status,
    reason: str | None = None,
    again_in: float | None = None,
) -> None:
    """Say that a run is being worked, waits for a person, is blocked or has failed; raises IllegalTransition if finished.

    One that is blocked is taken up again `again_in` seconds from now, or by a person.
    """
    await tx.one(_SET_STATUS, run_id=run_id, status=status, reason=reason, again_in=again_in)


async def minutes(tx: Transaction, run_id: UUID) -> float:
    """Return how many minutes ago a run was begun, by the database's clock."""
    found: float = (await tx.one(_SQL["MinutesSinceStart"], run_id=run_id))["minutes"]
    return found


async def set_phase(tx: Transaction, run_id: UUID, phase: str) -> None:
    """Say where in its work a run is."""
    await tx.one(_SET_PHASE, run_id=run_id, phase=phase)


async def set_corpus(tx: Transaction, run_id: UUID, corpus_artifact: str) -> None:
    """Say which documents a run researches: the manifest stays what it was at the first call."""
    await tx.run(_SET_CORPUS, run_id=run_id, corpus_artifact=corpus_artifact)


async def change_model(tx: Transaction, run: Run, model: str) -> None:
    """Have another model think for a run from now on; raises IllegalTransition if it is finished."""
    options = {**run.options, "model": model}
    packed = tx.pack({"question": run.question, "options": options})
    await tx.one(_SET_OPTIONS, run_id=run.run_id, **packed)
    await audit.append(tx, run.run_id, "model_changed", {"from": run.options["model"], "to": model})


async def models_before(tx: Transaction, run_id: UUID) -> list[str]:
    """Return the models that thought for a run before its present one, oldest first."""
    entries = await audit.entries(tx, run_id)
    return [entry.detail["from"] for entry in entries if entry.event == "model_changed"]


async def complete(tx: Transaction, run_id: UUID, report_artifact: str) -> None:
    """Finish a run with its report; raises IllegalTransition if it is finished already."""
    await tx.one(_COMPLETE, run_id=run_id, report_artifact=report_artifact)
    await audit.append(tx, run_id, "run_completed", {"report": report_artifact})


async def cancel(tx: Transaction, run_id: UUID) -> None:
    """Stop a run for good: its worker's next write is refused, and so is a decision of its reviews.

    Raises IllegalTransition if it is finished.
    """
    await tx.one(_CANCEL, run_id=run_id)
    await close_reviews(tx, run_id)
    await audit.append(tx, run_id, "run_cancelled", {})


async def close_reviews(tx: Transaction, run_id: UUID) -> None:
    """Make the open reviews stale: what they show is about to change."""
    await tx.run(_CLOSE, run_id=run_id)


def _run(tx: Transaction, row: DictRow) -> Run:
    with readable(row["run_id"], "row runs"):
        body = tx.unpack(row)
        columns = {name: value for name, value in row.items() if name not in {"key_id", "body"}}
        return Run(question=body["question"], options=body["options"], **columns)
