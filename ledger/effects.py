"""The life of an effect outside: intended, sent, settled.

Each change of status is one statement whose WHERE clause names the status that it leaves and the newest attempt, so that of
two workers only one succeeds.

The intent commits before anything is sent, an attempt before each call of the target, what was observed after it. Whoever
dies in between leaves an effect that is `sending`; the next worker calls it in doubt and does what the contract allows
(ledger/contracts.py). A key stands for one request for ever.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Literal, TypeAlias
from uuid import UUID

from psycopg.rows import DictRow
from psycopg.types.json import Jsonb
from pydantic import BaseModel, ConfigDict

from ledger import audit
from ledger.canonical import Json, canonical, digest
from ledger.contracts import Act, Contract, Outcome, Tried
from ledger.db import Transaction, readable
from ledger.errors import EffectKeyTaken, IllegalTransition, NotFound
from ledger.ids import derived_id
from ledger.sql import load

Status: TypeAlias = Literal[
    "intended", "sending", "confirmed", "failed", "in_doubt", "awaiting_person"
]
Mode: TypeAlias = Literal["publication", "notice"]

#: Every change of status that there is; queries/effects.sql, the table and the README say the same.
TRANSITIONS: Final[Mapping[Status, frozenset[Status]]] = {
    "intended": frozenset({"sending", "failed"}),
    "sending": frozenset({"confirmed", "failed", "in_doubt", "intended"}),
    "in_doubt": frozenset({"confirmed", "failed", "awaiting_person"}),
    "awaiting_person": frozenset({"confirmed", "failed", "intended"}),
    "failed": frozenset({"intended"}),
    "confirmed": frozenset(),
}

_SQL = load("effects")


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Intent(_Frozen):
    """What is to be done: `request` is the target's canonical request, `artifact` the bytes that it is about."""

    step: str
    mode: Mode
    kind: str
    target: str
    contract: Contract
    request: dict[str, Any]
    artifact: str
    media_type: str

    @property
    def request_digest(self) -> str:
        """The digest of the canonical request."""
        return digest(canonical(self.request))

    def key(self, run_id: UUID) -> str:
        """Return the idempotency key: the same run doing the same at the same step is doing it once."""
        return derived_id("eff", str(run_id), self.step, self.target, self.request_digest)


class Attempt(_Frozen):
    """One call of the target; `said` is what it answered, None while nobody knows."""

    number: int
    act: Act
    worker: str
    fence: int
    started_at: datetime
    ended_at: datetime | None
    outcome: Outcome
    said: dict[str, Any] | None
    age_seconds: float


class Settlement(_Frozen):
    """What a person said about an effect."""

    settled_by: str
    why: str


class Effect(_Frozen):
    """One effect with its attempts, oldest first; `patience_seconds` is how long it is not to be tried again."""

    run_id: UUID
    key: str
    step: str
    mode: Mode
    kind: str
    target: str
    contract: Contract
    request_digest: str
    request: dict[str, Any]
    artifact: str
    media_type: str
    status: Status
    reason: str | None
    external_id: str | None
    reused_from: UUID | None
    settlement: Settlement | None
    settled_at: datetime | None
    intended_at: datetime
    changed_at: datetime
    patience_seconds: float
    attempts: tuple[Attempt, ...]

    @property
    def is_settled(self) -> bool:
        """Whether nothing more is to be done: it was carried out, or a person knows that it was not."""
        return self.status == "confirmed" or (
            self.status == "failed" and self.settlement is not None
        )

    @property
    def tried(self) -> tuple[Tried, ...]:
        """Its attempts as the rules of its contract see them."""
        return tuple(Tried(each.act, each.outcome, each.age_seconds) for each in self.attempts)


async def intend(tx: Transaction, run_id: UUID, intent: Intent) -> str:
    """Record what is to be done, unless it stands already, and return its key.

    Raises EffectKeyTaken when it stands for another request, another run's effect, or one whose record was deleted.
    """
    key = intent.key(run_id)
    await _claim(tx, run_id, key, intent.request_digest)
    body: dict[str, Json] = {
        "request": intent.request,
        "artifact": intent.artifact,
        "media_type": intent.media_type,
    }
    await tx.run(
        _SQL["IntendEffect"],
        run_id=run_id,
        key=key,
        contract_kind=intent.contract.kind,
        contract=Jsonb(intent.contract.model_dump(mode="json")),
        request_digest=intent.request_digest,
        **intent.model_dump(include={"step", "mode", "kind", "target"}),
        **tx.pack(body),
    )
    return key


async def _claim(tx: Transaction, run_id: UUID, key: str, request_digest: str) -> None:
    claim = {"run_id": run_id, "key": key, "request_digest": request_digest}
    if await tx.maybe(_SQL["ClaimKey"], **claim):
        return
    row = await tx.maybe(_SQL["KeyStandsFor"], key=key)
    if row != {"run_id": run_id, "request_digest": request_digest}:
        raise EffectKeyTaken(key)


async def reuse(tx: Transaction, run_id: UUID, done_by: UUID, key: str) -> bool:
    """Count what another run carried out as done by this one, too; returns whether that one has."""
    await tx.run(_SQL["ReuseEffect"], run_id=run_id, done_by=done_by, key=key)
    return await tx.maybe(_SQL["GetEffect"], run_id=run_id, key=key) is not None


async def get(tx: Transaction, run_id: UUID, key: str) -> Effect:
    """Return one effect of a run; raises NotFound."""
    row = await tx.maybe(_SQL["GetEffect"], run_id=run_id, key=key)
    if row is None:
        raise NotFound(
            f"run {run_id} has no effect {key[:80]!r}; `perdure effects {run_id}` lists its effects"
        )
    return _effect(tx, row, await tx.many(_SQL["ListEffectAttempts"], run_id=run_id, key=key))


async def of_run(tx: Transaction, run_id: UUID) -> list[Effect]:
    """Return the effects of a run in the order in which they were decided."""
    attempts: dict[str, list[DictRow]] = {}
    for row in await tx.many(_SQL["ListEffectAttempts"], run_id=run_id, key=None):
        attempts.setdefault(row["key"], []).append(row)
    return [
        _effect(tx, row, attempts.get(row["key"], []))
        for row in await tx.many(_SQL["ListEffects"], run_id=run_id)
    ]


async def find(tx: Transaction, prefix: str) -> Effect:
    """Return the one effect whose key begins so; raises NotFound if there is none or more than one."""
    rows = await tx.many(_SQL["FindEffects"], prefix=prefix.strip()) if prefix.strip() else []
    if len(rows) != 1:
        found = "no effect has a key that begins" if not rows else "more than one key begins"
        raise NotFound(f"{found} with {prefix[:80]!r}; `perdure effects RUN` lists those of a run")
    return await get(tx, rows[0]["run_id"], rows[0]["key"])


async def begin(tx: Transaction, effect: Effect, act: Act) -> int:
    """Record that the target is about to be called, and return the attempt's number.

    Raises IllegalTransition when another worker was quicker.
    """
    statement = _SQL["BeginSending" if effect.status == "intended" else "TryInDoubt"]
    name = {"run_id": effect.run_id, "key": effect.key}
    row = await tx.maybe(statement, **name, attempts=len(effect.attempts))
    if row is None:
        raise IllegalTransition(f"effect {effect.key} is worked by another")
    number: int = row["number"]
    await tx.run(
        _SQL["RecordEffectAttempt"],
        **name,
        number=number,
        act=act,
        worker=tx.actor,
        fence=tx.fence or 0,
    )
    return number


async def end(
    tx: Transaction, effect: Effect, number: int, outcome: Outcome, said: Mapping[str, Json]
) -> None:
    """Record how a call of the target ended; raises IllegalTransition when that stands already."""
    packed = tx.pack(dict(said))
    name = {"run_id": effect.run_id, "key": effect.key, "number": number}
    if await tx.maybe(_SQL["EndEffectAttempt"], **name, outcome=outcome, **packed) is None:
        raise IllegalTransition(f"attempt {number} of effect {effect.key} has ended already")


async def confirm(tx: Transaction, effect: Effect, number: int, external_id: str) -> None:
    """Say that it was carried out."""
    await _change(tx, "ConfirmEffect", effect, number, external_id=external_id)
    await _log(tx, effect, "effect_confirmed")


async def fail(tx: Transaction, effect: Effect, number: int, reason: str) -> None:
    """Say that it was refused, and would be again."""
    await _change(tx, "FailEffect", effect, number, reason=reason)
    await _log(tx, effect, "effect_failed")


async def put_back(
    tx: Transaction, effect: Effect, number: int, reason: str, seconds: float
) -> None:
    """Say that it surely was not carried out, and may be tried again after so many seconds."""
    await _change(tx, "PutBack", effect, number, reason=reason, seconds=seconds)


async def doubt(tx: Transaction, effect: Effect, number: int, reason: str, seconds: float) -> None:
    """Say that nobody knows whether it was carried out, and not to look before so many seconds."""
    await _change(tx, "Doubt", effect, number, reason=reason, seconds=seconds)
    await _log(tx, effect, "effect_in_doubt")


async def stay_in_doubt(
    tx: Transaction, effect: Effect, number: int, reason: str, seconds: float
) -> None:
    """Say why it is still not known."""
    await _change(tx, "StayInDoubt", effect, number, reason=reason, seconds=seconds)


async def await_person(tx: Transaction, effect: Effect, reason: str) -> None:
    """Say that only a person can tell."""
    await _change(tx, "AwaitPerson", effect, len(effect.attempts), reason=reason)
    await _log(tx, effect, "effect_awaits_person")


async def _change(
    tx: Transaction, name: str, effect: Effect, number: int, **values: str | float
) -> None:
    statement = _SQL[name]
    key = {"run_id": effect.run_id, "key": effect.key, "number": number}
    if await tx.maybe(statement, **key, **values) is None:
        raise IllegalTransition(f"{name}: effect {effect.key} is no longer what it was")


async def _log(tx: Transaction, effect: Effect, event: str) -> None:
    await audit.append(tx, effect.run_id, event, {"effect": effect.key, "kind": effect.kind})


def _effect(tx: Transaction, row: DictRow, attempts: Sequence[DictRow]) -> Effect:
    with readable(row["run_id"], f"row effects {row['key']}"):
        sealed = {"settled_key_id", "settled_body", "key_id", "body", "attempts"}
        columns = {name: value for name, value in row.items() if name not in sealed}
        settled = row["settled_body"]
        said = tx.unpack({"key_id": row["settled_key_id"], "body": settled}) if settled else None
        return Effect(
            **{**columns, "patience_seconds": max(0.0, row["patience_seconds"] or 0.0)},
            **tx.unpack(row),
            settlement=said and Settlement(**said),
            attempts=tuple(_attempt(tx, each) for each in attempts),
        )


def _attempt(tx: Transaction, row: DictRow) -> Attempt:
    columns = {name: value for name, value in row.items() if name not in {"key", "key_id", "body"}}
    return Attempt(**columns, said=tx.unpack(row) if row["body"] is not None else None)
