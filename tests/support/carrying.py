"""Effects for tests: decided on a real ledger, carried out by workers that die, or stand still, wherever a test says.

A worker that dies leaves what a killed process leaves: what it had committed. A worker that stands still has recorded its
call and has not made it yet; it believes that it holds the run.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from uuid import UUID

from typing_extensions import override

from ledger import artifacts, effects, runs
from ledger.canonical import Json
from ledger.contracts import Contract
from ledger.db import Ledger
from ledger.effects import Effect, Intent, Mode
from ledger.faults import FaultPoint, NoFaults
from nodes.consequences import intent_of
from nodes.effects import Begun, Carrier, Patience, publication_of
from nodes.targets.base import MARKDOWN, Found, Publication, Sending, Sent, Target
from tests.support.ledgers import new_run, take

REPORT = b"# Beans\n\n- They are sown in May. [1]\n"
_LOCK = "SELECT FROM ledger.heads WHERE run_id = %(run_id)s FOR UPDATE"
_AGE = (
    "UPDATE ledger.effect_attempts SET started_at = started_at - make_interval(secs => %(seconds)s)"
    " WHERE run_id = %(run_id)s"
)
#: So that no test waits for what a target does not ask for.
IMPATIENT = Patience(calls_max=6, first_wait=0.01, wait_max=3.0)

INTENT = Intent(
    step="publish",
    mode="publication",
    kind="webhook",
    target="https://hooks.example.org/reports",
    contract=Contract(kind="opaque"),
    request={"report": "beans"},
    artifact="sha256:beans",
    media_type="text/plain",
)


class Died(BaseException):
    """The end of a worker: nothing catches it on the way."""


@dataclass
class DiesAt(NoFaults):
    """Ends the worker at a point, the first time that it is reached."""

    point: FaultPoint
    died: bool = False

    @override
    def reach(self, point: FaultPoint) -> None:
        if point is self.point and not self.died:
            self.died = True
            raise Died(point)


async def publication_in(ledger: Ledger, run_id: UUID, content: bytes = REPORT) -> Publication:
    """Return a report of a run, stored."""
    async with ledger.transaction() as tx:
        artifact = await artifacts.put(tx, content, MARKDOWN)
        return publication_of(await runs.get(tx, run_id), artifact, content, MARKDOWN)


async def decided(
    ledger: Ledger, target: Target, run_id: UUID | None = None, mode: Mode = "publication"
) -> Effect:
    """Record an effect of a run, of a new one if none is given."""
    named = run_id or await new_run(ledger)
    intent = intent_of(target, await publication_in(ledger, named), "publish", mode)
    async with ledger.transaction() as tx:
        key = await effects.intend(tx, named, intent)
        return await effects.get(tx, named, key)


async def intended(ledger: Ledger) -> Effect:
    """Record an effect that no target of this process carries out."""
    run_id = await new_run(ledger)
    async with ledger.transaction() as tx:
        return await effects.get(tx, run_id, await effects.intend(tx, run_id, INTENT))


async def again(ledger: Ledger, effect: Effect) -> Effect:
    """Return an effect as it stands now."""
    async with ledger.transaction() as tx:
        return await effects.get(tx, effect.run_id, effect.key)


async def worker(ledger: Ledger, effect: Effect, patience: Patience = IMPATIENT) -> Carrier:
    """Return a worker that takes the run over from whoever has it."""
    ledger.held.pop(effect.run_id, None)
    ledger.held[effect.run_id] = await take(ledger, effect.run_id)
    return Carrier(ledger, effect.run_id, patience)


async def age(ledger: Ledger, effect: Effect, seconds: float) -> None:
    """Make the attempts at an effect so much older, as if that time had passed; sealed, as everything is."""
    async with ledger.transaction() as tx:
        name = {"run_id": effect.run_id, "seconds": seconds}
        await tx.connection.execute(_LOCK, name)
        await tx.connection.execute(_AGE, name)
        tx.written.add(effect.run_id)


async def begun(carrier: Carrier, effect: Effect) -> Begun:
    """Let a worker record its next call and stand still before it makes it."""
    async with carrier.ledger.transaction(carrier.run_id) as tx:
        recorded = await carrier.begin(tx, await effects.get(tx, effect.run_id, effect.key))
    assert recorded is not None
    return recorded


def outcomes(effect: Effect) -> list[tuple[str, str]]:
    """Return what was done at each attempt and how it ended; the attempts are numbered without gaps."""
    assert [each.number for each in effect.attempts] == list(range(1, len(effect.attempts) + 1))
    return [(each.act, each.outcome) for each in effect.attempts]


@dataclass(frozen=True)
class Receiver:
    """A target, opened anew for each worker, and its other side, which counts."""

    open: Callable[[Ledger], Target]
    count: Callable[[Effect], Awaitable[int]]


@dataclass(frozen=True)
class AnswersLate:
    """A target whose answer to a send comes when something else has happened; the send itself is the real one's."""

    target: Target
    meanwhile: Callable[[], Awaitable[object]]

    @property
    def kind(self) -> str:
        return self.target.kind

    @property
    def address(self) -> str:
        return self.target.address

    @property
    def contract(self) -> Contract:
        return self.target.contract

    def request(self, publication: Publication) -> dict[str, Json]:
        return self.target.request(publication)

    async def check(self) -> str:
        return await self.target.check()

    async def send(self, sending: Sending) -> Sent:
        said = await self.target.send(sending)
        await self.meanwhile()
        return said

    async def look_up(self, sending: Sending) -> Found:
        return await self.target.look_up(sending)
