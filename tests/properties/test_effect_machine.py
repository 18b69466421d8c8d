"""Whatever happens to an effect, in whatever order, it is carried out at most once, and the ledger never says what is not so.

Hypothesis plays sends with every outcome, deaths of workers at every point, workers that stand still and wake, takeovers,
time that passes, and people who say what became of it; on the real ledger, beside a model of the outside that counts.
`make properties` plays a thousand such lives.
"""

import asyncio
import os
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from typing_extensions import override

from ledger import effects, settling
from ledger.contracts import Contract, ContractKind
from ledger.db import Ledger
from ledger.effects import Effect, Settlement, Status
from ledger.errors import EffectClosed, IllegalTransition, LeaseLost
from ledger.faults import FaultPoint, NoFaults
from nodes.consequences import intent_of
from nodes.effects import Begun, Carrier
from tests.properties.outside import WAYS, Outside, OutsideTarget, Way
from tests.support.carrying import IMPATIENT, Died, again, age, decided, outcomes, publication_in
from tests.support.ledgers import open_ledger, take

T = TypeVar("T")

WHOLE = bool(os.environ.get("PERDURE_TEST_WHOLE"))
EXAMPLES, STEPS = (1_000, 16) if WHOLE else (60, 14)

LEASE = 30.0
# Time passes in steps so large that the seconds of a busy machine decide nothing.
STEP = 100.0
REQUEST, LAG, WINDOW = 10.0, 20.0, 3.4 * STEP
KINDS: tuple[ContractKind, ...] = ("keyed", "queryable", "conditional", "opaque")
DOUBTED: set[Status] = {"awaiting_person", "in_doubt"}
SAID = Settlement(settled_by="ada", why="looked there")

#: What an outcome of a call makes of an effect: of a first send, and of one in doubt.
FIRST: dict[str, Status] = {
    "confirmed": "confirmed",
    "refused": "failed",
    "not_sent": "intended",
    "differs": "awaiting_person",
}
LATER: dict[str, Status] = {
    "confirmed": "confirmed",
    "refused": "awaiting_person",
    "differs": "awaiting_person",
}


@dataclass
class DiesWhenTold(NoFaults):
    """Ends the worker at the point that the machine has chosen."""

    point: FaultPoint | None = None

    @override
    def reach(self, point: FaultPoint) -> None:
        if point is self.point:
            self.point = None
            raise Died(point)


@dataclass
class Stage:
    """What all lives are played on: one database, its connections, and the loop that they belong to."""

    runner: asyncio.Runner
    ledger: Ledger
    faults: DiesWhenTold

    def run(self, step: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(step)


@dataclass
class Modelled:
    """What the model knows of the effect."""

    status: Status = "intended"
    #: When, by the model's clock, each send began, and whether its end was recorded.
    sends: list[tuple[float, bool]] = field(default_factory=list[tuple[float, bool]])
    calls: int = 0
    #: Whether a person has said how it stands since it last changed.
    noted: bool = False


class EffectMachine(RuleBasedStateMachine):
    """One effect, from its intent on."""

    stage: ClassVar[Stage]

    @initialize(kind=st.sampled_from(KINDS))
    def intend(self, kind: ContractKind) -> None:
        window = WINDOW if kind == "keyed" else None
        lag = LAG if kind == "queryable" else 0.0
        contract = Contract(
            kind=kind, window_seconds=window, request_seconds=REQUEST, lag_seconds=lag
        )
        self.outside = Outside(contract)
        self.target = OutsideTarget(self.outside)
        self.model = Modelled()
        self.frozen: list[tuple[Carrier, Begun]] = []
        self.effect = self.stage.run(decided(self.stage.ledger, self.target))
        self.take_over()

    @rule()
    def intend_again(self) -> None:
        """A step that is run again decides the same."""

        async def intended() -> str:
            ledger, run_id = self.stage.ledger, self.effect.run_id
            intent = intent_of(
                self.target, await publication_in(ledger, run_id), "publish", "publication"
            )
            async with ledger.transaction() as tx:
                return await effects.intend(tx, run_id, intent)

        assert self.stage.run(intended()) == self.effect.key

    @rule()
    def take_over(self) -> None:
        """Another worker takes the run."""
        ledger = self.stage.ledger
        run_id = self.effect.run_id
        ledger.held.pop(run_id, None)
        ledger.held[run_id] = self.stage.run(take(ledger, run_id))
        self.carrier = Carrier(ledger, run_id, IMPATIENT)

    @rule(way=st.sampled_from(WAYS))
    def work(self, way: Way) -> None:
        """The worker makes the next call, and records what came of it."""
        begun = self.begun()
        if begun is not None:
            self.outside.way = way
            self.stage.run(self.carrier.call(begun, self.target))
            self.ended(begun)

    @rule(
        way=st.sampled_from(WAYS),
        point=st.sampled_from(
            [FaultPoint.BEFORE_SEND, FaultPoint.AFTER_SEND, FaultPoint.AFTER_OUTCOME]
        ),
    )
    def die(self, way: Way, point: FaultPoint) -> None:
        """The worker dies over its next call."""
        begun = self.begun()
        if begun is None:
            return
        self.outside.way = way
        self.stage.faults.point = point
        with pytest.raises(Died):
            self.stage.run(self.carrier.call(begun, self.target))
        if point is FaultPoint.AFTER_OUTCOME:
            self.ended(begun)
        self.take_over()

    @rule()
    def stand_still(self) -> None:
        """The worker has recorded its next call, and another takes over before it has made it."""
        carrier, begun = self.carrier, self.begun()
        if begun is not None:
            self.frozen.append((carrier, begun))
        self.take_over()

    @precondition(lambda self: self.frozen)
    @rule(way=st.sampled_from(WAYS), data=st.data())
    def wake(self, way: Way, data: st.DataObject) -> None:
        """It makes its call now; what it believes to hold is another's."""
        carrier, begun = data.draw(st.sampled_from(self.frozen))
        before = (self.outside.effects.total(), len(self.outside.flying))
        held = self.stage.ledger.held
        fence = held[self.effect.run_id]
        held[self.effect.run_id] = fence - 1
        self.outside.way = way
        with pytest.raises((LeaseLost, IllegalTransition)):
            self.stage.run(carrier.call(begun, self.target))
        held[self.effect.run_id] = fence
        assert (self.outside.effects.total(), len(self.outside.flying)) == before

    @rule(steps=st.integers(1, 4))
    def pass_time(self, steps: int) -> None:
        """Requests land, windows end."""
        seconds = steps * STEP
        self.outside.pass_time(seconds)
        self.stage.run(age(self.stage.ledger, self.effect, seconds))

    @precondition(lambda self: not self.outside.flying)
    @rule(again=st.booleans())
    def settle(self, *, again: bool) -> None:
        """A person looks there, and says what is so."""
        happened = self.outside.effects[self.effect.key] > 0

        async def settled() -> None:
            async with self.stage.ledger.transaction() as tx:
                if happened:
                    await settling.happened(tx, self.effect, "id-person", SAID)
                elif again:
                    await settling.again(tx, self.effect, SAID)
                else:
                    await settling.did_not_happen(tx, self.effect, SAID)

        # What is in doubt is the next worker's to look into; it is sent again only after that.
        open_to: set[Status] = {"awaiting_person"} if again and not happened else DOUBTED
        allowed = self.model.status in open_to or (
            self.model.status == "failed" and (again or not self.model.noted)
        )
        if not allowed:
            with pytest.raises(EffectClosed):
                self.stage.run(settled())
            return
        self.stage.run(settled())
        self.model.status = "confirmed" if happened else "intended" if again else "failed"
        self.model.noted = True

    def begun(self) -> Begun | None:
        """Let the worker record its next call, and compare what it decided with the model."""

        async def begin() -> Begun | None:
            async with self.stage.ledger.transaction(self.effect.run_id) as tx:
                effect = await effects.get(tx, self.effect.run_id, self.effect.key)
                return await self.carrier.begin(tx, effect)

        if self.model.status == "sending":
            self.model.status = "in_doubt"
        begun = self.stage.run(begin())
        if begun is None:
            self.model.status = self.left()
            return None
        self.model.calls += 1
        if begun.act == "send":
            self.model.sends.append((self.outside.now, False))
        if self.model.status == "intended":
            self.model.status = "sending"
        else:
            assert self.model.status == "in_doubt"
        return begun

    def left(self) -> Status:
        """Return what an effect is whose worker found nothing to do."""
        if self.model.status != "in_doubt":
            assert self.model.status != "intended"
            return self.model.status
        kind = self.outside.contract.kind
        since = self.outside.now - self.model.sends[-1][0]
        if kind == "queryable":
            assert since == 0.0, "it is looked up as soon as its request is surely over"
            return "in_doubt"
        assert kind != "conditional"
        assert kind == "opaque" or self.outside.now - self.model.sends[0][0] >= WINDOW - STEP
        return "awaiting_person"

    def ended(self, begun: Begun) -> None:
        """Say in the model what the recorded outcome of a call makes of the effect."""
        outcome = self.stage.run(self.now()).attempts[-1].outcome
        if begun.act == "send":
            self.model.sends[-1] = (self.model.sends[-1][0], True)
        became = FIRST if begun.effect.status == "intended" else LATER
        self.model.status = became.get(outcome, "in_doubt")
        self.model.noted = False

    async def now(self) -> Effect:
        return await again(self.stage.ledger, self.effect)

    @invariant()
    def nothing_is_done_twice(self) -> None:
        assert self.outside.effects[self.effect.key] <= 1

    @invariant()
    def the_ledger_says_what_is_so(self) -> None:
        effect = self.stage.run(self.now())
        assert effect.status == self.model.status
        assert len(outcomes(effect)) == self.model.calls
        done = self.outside.effects[self.effect.key] + len(self.outside.flying)
        if effect.status == "confirmed":
            assert self.outside.effects[self.effect.key] == 1
        if effect.status in {"failed", "intended"}:
            assert done == 0
        settled = effect.status == "confirmed" or (effect.status == "failed" and self.model.noted)
        assert effect.is_settled == settled

    @override
    def teardown(self) -> None:
        """Leave nothing of this life to the next one."""
        if hasattr(self, "effect"):
            self.stage.ledger.held.pop(self.effect.run_id, None)
        self.stage.faults.point = None


@pytest.mark.slow
def test_no_life_of_an_effect_ends_in_two_of_it_or_in_a_record_that_is_not_so(
    database_url: str,
) -> None:
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        faults = DiesWhenTold()
        opened = open_ledger(database_url, faults=faults, lease_seconds=LEASE)
        ledger = runner.run(stack.enter_async_context(opened))

        class Staged(EffectMachine):
            stage = Stage(runner, ledger, faults)

        try:
            run_state_machine_as_test(
                Staged,
                settings=settings(
                    max_examples=EXAMPLES,
                    stateful_step_count=STEPS,
                    deadline=None,
                    derandomize=False,
                    database=None,
                    suppress_health_check=list(HealthCheck),
                ),
            )
        finally:
            runner.run(stack.aclose())
