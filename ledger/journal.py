"""The journal: no finished outside call is made again.

An operation is one outside read that a run needs, keyed by (run, task, kind, canonical request). An attempt is committed
before its call is made. What came back is committed as it came, before anything is made of it; then its result, and
whatever the result yields, are committed together. The first attempt to succeed is accepted; a later answer is kept as
an attempt and not accepted.

What branches may share (ledger/sharing.py) is asked once for all of them: the others' operations have an attempt that
names the operation whose answer it took.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, Literal, TypeAlias, TypeVar
from uuid import UUID

from psycopg.types.json import Jsonb
from pydantic import BaseModel, ConfigDict

from ledger import artifacts, groups, sharing
from ledger.canonical import Json
from ledger.db import Ledger, Transaction
from ledger.errors import OperationFailed
from ledger.faults import FaultPoint
from ledger.requests import Request
from ledger.sql import load

T = TypeVar("T")

_SQL = load("journal")
_BEGIN, _RECEIVE, _ACCEPTED = _SQL["BeginOperation"], _SQL["ReceiveAnswer"], _SQL["AcceptedResults"]
_SUCCEED, _FAIL = _SQL["SucceedAttempt"], _SQL["FailAttempt"]
_OPERATIONS, _ATTEMPTS = _SQL["ListOperations"], _SQL["ListAttempts"]


@dataclass(frozen=True, slots=True)
class Received:
    """What came back, as it came; `detail` is where from and what the transfer said of it."""

    content: bytes
    media_type: str
    detail: Mapping[str, Any]


async def _keep_nothing(tx: Transaction) -> None:
    """Commit nothing beside the result."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What an operation came to; `keep` writes what it yields (artifacts, sources) in the transaction of the result."""

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


@dataclass(frozen=True, slots=True)
class Attempted:
    """An attempt under way; `received` is set when a worker that died left it with its answer."""

    run_id: UUID
    operation_id: str
    number: int
    received: Received | None

    @property
    def name(self) -> dict[str, Any]:
        """The columns that name the attempt."""
        return {"run_id": self.run_id, "operation_id": self.operation_id, "number": self.number}

    def is_of_another(self, request: Request) -> bool:
        """Whether it is not the request's own: an answer to the same that came for another operation."""
        return self.operation_id != request.operation_id(self.run_id)


Perform: TypeAlias = Callable[[], Awaitable[Answer]]
Receive: TypeAlias = Callable[[], Awaitable[Received]]
Understand: TypeAlias = Callable[[Received], Awaitable[Answer]]


async def call(ledger: Ledger, run_id: UUID, request: Request, perform: Perform) -> Recorded:
    """Return the accepted result of an operation, calling `perform` only if there is none.

    Raises OperationFailed as `perform` does, with the attempt recorded as failed, and LeaseLost when another worker
    has taken the run over: the answer is then dropped.
    """
    async with sharing.alone(ledger, run_id, request):
        begun = await _begun(ledger, run_id, request)
        if isinstance(begun, Recorded):
            return begun
        return await _ended(ledger, begun, perform)


async def fetch(
    ledger: Ledger, run_id: UUID, request: Request, receive: Receive, understand: Understand
) -> Recorded:
    """Do the same for a call in two halves: what `receive` brings is safe before `understand` makes something of it.

    An answer that a worker received and died over is understood now, without a call.
    """
    async with sharing.alone(ledger, run_id, request):
        begun = await _begun(ledger, run_id, request)
        while not isinstance(begun, Recorded) and begun.is_of_another(request) and begun.received:
            # If it comes to nothing, the call is made.
            with suppress(OperationFailed):
                await _ended(ledger, begun, partial(understand, begun.received))
            begun = await _begun(ledger, run_id, request)
        if isinstance(begun, Recorded):
            return begun
        received = begun.received or await _received(ledger, begun, receive)
        return await _ended(ledger, begun, partial(understand, received))


async def _begun(ledger: Ledger, run_id: UUID, request: Request) -> Recorded | Attempted:
    ledger.faults.reach(FaultPoint.BEFORE_INTENT)
    begun = await groups.commit(ledger, run_id, lambda tx: _begin(tx, run_id, request))
    if isinstance(begun, Attempted):
        ledger.faults.reach(FaultPoint.AFTER_INTENT)
    return begun


async def _received(ledger: Ledger, attempt: Attempted, receive: Receive) -> Received:
    received = await _made(ledger, attempt, receive())
    ledger.faults.reach(FaultPoint.BEFORE_RECEIPT)
    await groups.commit(
        ledger, attempt.run_id, lambda tx: _receive(tx, attempt, received), lane="receipts"
    )
    ledger.faults.reach(FaultPoint.AFTER_RECEIPT)
    return received


async def _ended(ledger: Ledger, attempt: Attempted, perform: Perform) -> Recorded:
    answer = await _made(ledger, attempt, perform())
    ledger.faults.reach(FaultPoint.BEFORE_RESULT)
    recorded = await groups.commit(ledger, attempt.run_id, lambda tx: _succeed(tx, attempt, answer))
    ledger.faults.reach(FaultPoint.AFTER_RESULT)
    return recorded


async def _made(ledger: Ledger, attempt: Attempted, work: Awaitable[T]) -> T:
    """Return what the outside world answers; a failure is recorded with the attempt."""
    try:
        return await work
    except OperationFailed as error:
        failed = {
            "reason": error.reason,
            "response_id": error.response_id,
            "usage": Jsonb(dict(error.spent or {})),
        }
        await groups.commit(
            ledger, attempt.run_id, lambda tx: tx.one(_FAIL, **attempt.name, **failed)
        )
        raise


async def _begin(tx: Transaction, run_id: UUID, request: Request) -> Recorded | Attempted:
    other = await sharing.elsewhere(tx, run_id, request)
    if other is None:
        return await _begin_own(tx, run_id, request)
    if other["result_artifact"] is None:
        return await _attempted(tx, run_id, other["operation_id"], other)
    begun = await _begin_own(tx, run_id, request, other["operation_id"])
    assert isinstance(begun, Attempted), "it has no answer of its own"
    result, said = other["result_artifact"], {"response_id": None, "usage": Jsonb({})}
    await tx.maybe(_SUCCEED, **begun.name, result=result, **said)
    (body,) = await results(tx, run_id, [begun.operation_id])
    return Recorded(begun.operation_id, body, reused=True)


async def _begin_own(
    tx: Transaction, run_id: UUID, request: Request, reused: str | None = None
) -> Recorded | Attempted:
    operation_id = request.operation_id(run_id)
    row = await tx.one(
        _BEGIN,
        run_id=run_id,
        operation_id=operation_id,
        task_id=request.task_id,
        kind=request.kind,
        key=request.key(run_id),
        worker=tx.actor,
        fence=tx.fence or 0,
        settings=Jsonb(sharing.settings(run_id, request, reused)),
        **tx.pack(request.body),
    )
    if row["body"] is not None:
        return Recorded(operation_id, tx.unpack(row), reused=True)
    return await _attempted(tx, run_id, operation_id, row)


async def _attempted(
    tx: Transaction, run_id: UUID, operation_id: str, row: Mapping[str, Any]
) -> Attempted:
    received = None
    if row["received_artifact"] is not None:
        said = tx.unpack({"key_id": row["received_key_id"], "body": row["received_body"]})
        content = await artifacts.get(tx, row["received_artifact"])
        received = Received(content, said["media_type"], said["detail"])
    return Attempted(run_id, operation_id, row["number"], received)


async def _receive(tx: Transaction, attempt: Attempted, received: Received) -> None:
    artifact = await artifacts.put(tx, received.content, received.media_type)
    said = tx.pack({"media_type": received.media_type, "detail": dict(received.detail)})
    await tx.one(_RECEIVE, **attempt.name, artifact=artifact, **said)


async def _succeed(tx: Transaction, attempt: Attempted, answer: Answer) -> Recorded:
    result = await artifacts.put_json(tx, answer.body)
    await answer.keep(tx)
    accepted = await tx.maybe(
        _SUCCEED,
        **attempt.name,
        result=result,
        response_id=answer.response_id,
        usage=Jsonb(dict(answer.usage)),
    )
    if accepted is None:  # another attempt was first: its result stands
        (first,) = await results(tx, attempt.run_id, [attempt.operation_id])
        return Recorded(attempt.operation_id, first, reused=True)
    return Recorded(attempt.operation_id, answer.body, reused=False)


async def results(tx: Transaction, run_id: UUID, operation_ids: Sequence[str]) -> list[Any]:
    """Return the accepted results of these operations, in their order."""
    rows = await tx.many(_ACCEPTED, run_id=run_id, operation_ids=list(operation_ids))
    found = {row["operation_id"]: tx.unpack(row) for row in rows}
    return [found[operation_id] for operation_id in operation_ids if operation_id in found]


class Attempt(BaseModel):
    """One try at an operation; `reason` is why it failed, `received` says that what came back is kept as it came."""

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
    received: bool
    accepted: bool

    @property
    def reused(self) -> str | None:
        """The operation whose answer it took: no call was made."""
        return self.settings.get(sharing.REUSED)


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
