"""Carries out effects: intent committed, then the target called, then what was observed committed.

Whoever dies in between leaves an effect that is `sending` or in doubt; what follows is decided by its contract
(ledger/contracts.py) and nowhere else. The same for a worker that holds the run and for a relay that holds none: each change
is guarded, so that of two only one succeeds.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC
from typing import Final, assert_never
from uuid import UUID

from ledger import artifacts, contracts, effects, runs
from ledger.canonical import Json
from ledger.contracts import Act, AskPerson, LookUp, Send, Wait
from ledger.db import Ledger, Transaction
from ledger.effects import Effect
from ledger.errors import IllegalTransition, RunCancelled
from ledger.faults import FaultPoint
from ledger.runs import Run
from nodes.targets.base import (
    Absent,
    Confirmed,
    Differs,
    Found,
    NoLookUp,
    NotSent,
    Publication,
    Refused,
    Sending,
    Sent,
    Target,
    TransactionalTarget,
    Unknown,
)

# Half a second becomes half a minute.
_DOUBLINGS_MAX = 6


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a worker stands by one effect before it leaves it for later; seconds."""

    #: Calls of the target in one go.
    calls_max: int = 6
    first_wait: float = 0.5
    #: A target that asks for more patience than this is left for later.
    wait_max: float = 120.0


@dataclass(frozen=True, slots=True)
class Begun:
    """A call of a target that is recorded and not made yet; `effect` is as it stood before."""

    effect: Effect
    number: int
    act: Act


@dataclass(frozen=True, slots=True)
class Carrier:
    """Carries out effects of one run; `run_id` is the run that this process holds, None for a relay."""

    ledger: Ledger
    run_id: UUID | None
    patience: Patience = Patience()

    async def carry_out(self, effect: Effect, target: Target) -> Effect:
        """Do with an effect what can be done now, and return how it stands then.

        It is confirmed, failed or awaits a person; or it stays intended or in doubt, because its target asks for more
        patience than we have. Raises LeaseLost when the run was taken over, and IllegalTransition when another worked it.
        """
        for turn in range(self.patience.calls_max):
            if not await self._waited(effect, turn):
                break
            async with self.ledger.transaction(self.run_id) as tx:
                effect = await effects.get(tx, effect.run_id, effect.key)
                begun = await self.begin(tx, effect)
                effect = await effects.get(tx, effect.run_id, effect.key)
            if effect.status in {"confirmed", "failed", "awaiting_person"}:
                break
            if begun is not None:
                effect = await self.call(begun, target)
        return effect

    async def begin(self, tx: Transaction, effect: Effect) -> Begun | None:
        """Record the next call of an effect's target; None where there is none to be made now, or ever.

        What another worker was sending is in doubt from here on: it may have been carried out.
        """
        if effect.status == "sending":
            reason = "its worker died, or was taken over, before it had recorded what the target answered"
            await effects.doubt(tx, effect, len(effect.attempts), reason, 0.0)
            effect = await effects.get(tx, effect.run_id, effect.key)
        following = self._following(effect)
        match following:
            case AskPerson():
                await effects.await_person(tx, effect, following.why)
                return None
            case Wait() | None:
                return None
            case Send() | LookUp():
                act: Act = "send" if isinstance(following, Send) else "look_up"
                return Begun(effect, await effects.begin(tx, effect, act), act)
            case _:
                assert_never(following)

    async def call(self, begun: Begun, target: Target) -> Effect:
        """Call the target and commit what it said.

        Raises LeaseLost, RunCancelled or IllegalTransition, and calls nobody, where the run was taken over or cancelled, or
        the effect was worked or settled by another, since this call was recorded.
        """
        self.ledger.faults.reach(FaultPoint.BEFORE_SEND)
        try:
            sending = await self._sending(begun)
        except RunCancelled:
            if begun.act == "send":
                await self._observed(begun, NotSent("the run was cancelled before this was sent"))
            raise
        if isinstance(sending, NotSent):
            effect = await self._observed(begun, sending)
        elif begun.effect.contract.kind == "transactional":
            assert isinstance(target, TransactionalTarget), target.kind
            async with self.ledger.transaction(self.run_id) as tx:
                effect = await self._recorded(tx, begun, await target.send_in(tx, sending))
        else:
            said = await (target.send(sending) if begun.act == "send" else target.look_up(sending))
            self.ledger.faults.reach(FaultPoint.AFTER_SEND)
            effect = await self._observed(begun, said)
        self.ledger.faults.reach(FaultPoint.AFTER_OUTCOME)
        return effect

    async def _observed(self, begun: Begun, said: Sent | Found) -> Effect:
        try:
            async with self.ledger.transaction(self.run_id) as tx:
                return await self._recorded(tx, begun, said)
        except RunCancelled:
            # What happened outside has happened. Nobody works the run any more, so no fence is asked for.
            async with self.ledger.transaction() as tx:
                await self._recorded(tx, begun, said)
            raise

    async def _sending(self, begun: Begun) -> Sending | NotSent:
        """Return what the target is given; or that it is given nothing, as we stood still since the call was recorded.

        Who takes over believes that a worker sends within a lease of that record, or never: see ledger/contracts.py.
        """
        async with self.ledger.transaction(self.run_id) as tx:
            effect = await effects.get(tx, begun.effect.run_id, begun.effect.key)
            newest = effect.attempts[-1]
            ours = newest.number == begun.number and newest.outcome == "started"
            if not ours or effect.status not in {"sending", "in_doubt"}:
                raise IllegalTransition(f"effect {effect.key} was worked or settled by another")
            if begun.act == "send" and newest.age_seconds >= self.ledger.lease_seconds:
                return NotSent("this process stood still before it had sent anything")
            run = await runs.get(tx, effect.run_id)
            content = await artifacts.get(tx, effect.artifact)
        publication = publication_of(run, effect.artifact, content, effect.media_type)
        return Sending(effect.key, effect.request_digest, effect.request, publication)

    async def _waited(self, effect: Effect, turn: int) -> bool:
        """Wait until the effect may be worked; returns False where that is longer than our patience."""
        seconds = effect.patience_seconds
        following = self._following(effect) if effect.status == "in_doubt" else None
        if isinstance(following, Wait):
            seconds = max(seconds, following.seconds)
        if turn and effect.status == "intended":
            seconds = max(seconds, self.patience.first_wait * 2 ** (turn - 1))
        if seconds > self.patience.wait_max:
            return False
        await asyncio.sleep(seconds)
        return True

    def _following(self, effect: Effect) -> contracts.Next | None:
        if effect.status == "intended":
            return Send()
        if effect.status == "in_doubt":
            return contracts.next_act(effect.contract, effect.tried, self.ledger.lease_seconds)
        return None

    async def _recorded(self, tx: Transaction, begun: Begun, said: Sent | Found) -> Effect:
        """Commit what the target said, and what it means for the effect."""
        effect, number = begun.effect, begun.number
        await effects.end(tx, effect, number, _OUTCOMES[type(said)], _in_words(said))
        standing = await effects.get(tx, effect.run_id, effect.key)
        if standing.is_settled and len(standing.attempts) == number:
            # A person said meanwhile what became of it. That counts, and what the target said stands beside it.
            return standing
        first = effect.status == "intended"
        match said:
            case Confirmed():
                await effects.confirm(tx, effect, number, said.external_id)
            case Refused() if first:
                await effects.fail(tx, effect, number, said.reason)
            case NotSent() if first:
                await effects.put_back(tx, effect, number, said.reason, self._wait(said, number))
            case Refused() | Differs():
                # What was sent before may have been carried out; that this was refused says nothing of it.
                if first:
                    await effects.doubt(tx, effect, number, said.reason, 0.0)
                doubted = await effects.get(tx, effect.run_id, effect.key)
                await effects.await_person(tx, doubted, said.reason)
            case _:
                change = effects.doubt if first else effects.stay_in_doubt
                await change(tx, effect, number, _reason(said), self._wait(said, number))
        return await effects.get(tx, effect.run_id, effect.key)

    def _wait(self, said: NotSent | Unknown | Absent | NoLookUp, number: int) -> float:
        """Return for how many seconds the target is left in peace: as it asks for, else longer each time."""
        if isinstance(said, Absent | NoLookUp):
            return 0.0
        if said.retry_after_seconds is not None:
            return said.retry_after_seconds
        return self.patience.first_wait * float(2 ** min(number - 1, _DOUBLINGS_MAX))


def publication_of(run: Run, artifact: str, content: bytes, media_type: str) -> Publication:
    """Return what a target is given of a run: the bytes of an artifact, and what they are about."""
    return Publication(
        run_id=run.run_id,
        question=run.question,
        report_artifact=artifact,
        content=content,
        begun_at=run.created_at.astimezone(UTC).isoformat(),
        media_type=media_type,
    )


def _reason(said: NotSent | Unknown | Absent | NoLookUp) -> str:
    match said:
        case Absent():
            return (
                "looked up, and the target does not have it; what it answered before says nothing"
            )
        case NoLookUp():
            return "the target cannot be asked whether it was carried out"
        case NotSent() | Unknown():
            return said.reason
        case _:
            assert_never(said)


_OUTCOMES: Final[Mapping[type[Sent | Found], contracts.Outcome]] = {
    Confirmed: "confirmed",
    Refused: "refused",
    NotSent: "not_sent",
    Unknown: "unknown",
    Differs: "differs",
    Absent: "absent",
    NoLookUp: "no_look_up",
}


def _in_words(said: Sent | Found) -> dict[str, Json]:
    """Return what the target said as JSON, for the record of the attempt."""
    return {name: value for name, value in asdict(said).items() if value is not None}
