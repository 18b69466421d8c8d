"""The journal: no finished outside call is made again.

An operation is one outside read that a run needs, keyed by (run, task, kind, canonical request). An attempt is committed
before its call is made; its result, and whatever the result yields, are committed together afterwards. The first attempt
to succeed is accepted; a later answer is kept as an attempt and not accepted.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, TypeAlias
from uuid import UUID

from psycopg.types.json import Jsonb
from pydantic import BaseModel, ConfigDict

from ledger import artifacts
from ledger.canonical import Json, canonical, digest
from ledger.db import Ledger, Transaction
from ledger.errors import OperationFailed
from ledger.faults import FaultPoint
from ledger.ids import derived_id
from ledger.sql import load

_SQL = load("journal")
_OPEN, _ACCEPTED, _BEGIN = _SQL["OpenOperation"], _SQL["AcceptedResult"], _SQL["BeginAttempt"]
_SUCCEED, _FAIL, _ACCEPT = _SQL["SucceedAttempt"], _SQL["FailAttempt"], _SQL["AcceptAttempt"]
_OPERATIONS, _ATTEMPTS = _SQL["ListOperations"], _SQL["ListAttempts"]


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of the outside world; `settings` is recorded with the attempt and no part of the key."""

    task_id: str
    kind: str
    body: Json
    settings: Mapping[str, Json] = field(default_factory=dict[str, Json])

    def key(self, run_id: UUID) -> str:
        """Return the digest that names the operation: the same question of the same task is the same operation."""
        return digest(canonical([str(run_id), self.task_id, self.kind, self.body]))


async def _keep_nothing(tx: Transaction) -> None:
    """Commit nothing beside the result."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back; `keep` writes what it yields (artifacts, sources) in the transaction of the result."""

    body: Json
    keep: Callable[[Transaction], Awaitable[None]] = _keep_nothing
    response_id: str | None = None
    usage: Mapping[str, int | float] = field(default_factory=dict[str, "int | float"])


@dataclass(frozen=True, slots=True)
class Recorded:
    """The accepted result of an operation; `reused` says that no call was made for it now."""

    operation_id: str
    body: Any
    reused: bool


Perform: TypeAlias = Callable[[], Awaitable[Answer]]


async def call(ledger: Ledger, run_id: UUID, request: Request, perform: Perform) -> Recorded:
    """Return the accepted result of an operation, calling `perform` only if there is none.

    Raises OperationFailed as `perform` does, with the attempt recorded as failed, and LeaseLost when another worker
    has taken the run over: the answer is then dropped.
    """
    operation_id = derived_id("op", request.key(run_id))
    ledger.faults.reach(FaultPoint.BEFORE_INTENT)
    async with ledger.transaction(run_id) as tx:
        recorded = await _accepted(tx, run_id, operation_id)
        if recorded is not None:
            return recorded
        number = await _begin(tx, run_id, operation_id, request)
    ledger.faults.reach(FaultPoint.AFTER_INTENT)
    try:
        answer = await perform()
    except OperationFailed as error:
        await _fail(ledger, run_id, operation_id, number, error.reason)
        raise
    ledger.faults.reach(FaultPoint.BEFORE_RESULT)
    async with ledger.transaction(run_id) as tx:
        recorded = await _succeed(tx, run_id, operation_id, number, answer)
    ledger.faults.reach(FaultPoint.AFTER_RESULT)
    return recorded


async def _begin(tx: Transaction, run_id: UUID, operation_id: str, request: Request) -> int:
    await tx.run(
        _OPEN,
        run_id=run_id,
        operation_id=operation_id,
        task_id=request.task_id,
        kind=request.kind,
        key=request.key(run_id),
        **tx.pack(request.body),
    )
    row = await tx.one(
        _BEGIN,
        run_id=run_id,
        operation_id=operation_id,
        worker=tx.actor,
        fence=tx.fence or 0,
        settings=Jsonb(dict(request.settings)),
    )
    number: int = row["number"]
    return number


async def _succeed(
    tx: Transaction, run_id: UUID, operation_id: str, number: int, answer: Answer
) -> Recorded:
    result = await artifacts.put_json(tx, answer.body)
    await answer.keep(tx)
    name = {"run_id": run_id, "operation_id": operation_id, "number": number}
    await tx.one(
        _SUCCEED,
        **name,
        result=result,
        response_id=answer.response_id,
        usage=Jsonb(dict(answer.usage)),
    )
    accepted = await tx.maybe(_ACCEPT, **name)
    if accepted is None:  # another attempt was first: its result stands
        recorded = await _accepted(tx, run_id, operation_id)
        assert recorded is not None
        return recorded
    return Recorded(operation_id, answer.body, reused=False)


async def _fail(ledger: Ledger, run_id: UUID, operation_id: str, number: int, reason: str) -> None:
    async with ledger.transaction(run_id) as tx:
        await tx.one(_FAIL, run_id=run_id, operation_id=operation_id, number=number, reason=reason)


async def _accepted(tx: Transaction, run_id: UUID, operation_id: str) -> Recorded | None:
    row = await tx.maybe(_ACCEPTED, run_id=run_id, operation_id=operation_id)
    return Recorded(operation_id, tx.unpack(row), reused=True) if row else None


async def results(tx: Transaction, run_id: UUID, operation_ids: Sequence[str]) -> list[Any]:
    """Return the accepted results of these operations, in their order."""
    found: list[Any] = []
    for operation_id in operation_ids:
        recorded = await _accepted(tx, run_id, operation_id)
        if recorded is not None:
            found.append(recorded.body)
    return found


class Attempt(BaseModel):
    """One try at an operation; `reason` is why it failed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    number: int
    worker: str
    fence: int
    settings: dict[str, Any]
    started_at: datetime
    ended_at: datetime | None
    outcome: Literal["started", "succeeded", "failed"]
    reason: str | None
    response_id: str | None
    usage: dict[str, float]
    accepted: bool


class Operation(BaseModel):
    """One outside read of a run with all its attempts."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    operation_id: str
    task_id: str
    kind: str
    key: str
    status: Literal["open", "accepted"]
    request: Any
    attempts: tuple[Attempt, ...]


async def operations(tx: Transaction, run_id: UUID) -> list[Operation]:
    """Return the operations of a run in the order in which they were first needed."""
    attempts: dict[str, list[Attempt]] = {}
    for row in await tx.many(_ATTEMPTS, run_id=run_id):
        attempts.setdefault(row.pop("operation_id"), []).append(Attempt(**row))
    return [
        Operation(
            operation_id=row["operation_id"],
            task_id=row["task_id"],
            kind=row["kind"],
            key=row["key"],
            status="accepted" if row["accepted_attempt"] else "open",
            request=tx.unpack(row),
            attempts=tuple(attempts.get(row["operation_id"], ())),
        )
        for row in await tx.many(_OPERATIONS, run_id=run_id)
    ]
