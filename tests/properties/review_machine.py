"""The reviews of a run as a state machine for Hypothesis: every event that may meet them, on the real ledger beside a model."""

from collections.abc import Callable, Coroutine
from copy import deepcopy
from dataclasses import replace
from typing import Any, ClassVar, get_args

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from typing_extensions import override

from graph import runs as surface
from ledger import audit
from ledger.errors import NotFound, ReviewForeign, ReviewStale
from ledger.questions import AtDeadline, Choice, Decision, Kind, Review, Rules
from tests.properties.reviewed import EDITS, PEOPLE, PERSON_OF, Expected, Refusal, Said
from tests.properties.reviewing import Room, Stage, stands, together
from tests.support.carrying import Died
from tests.support.ledgers import new_run

KINDS: tuple[Kind, ...] = ("plan", "sources")
VOTES: tuple[Choice, ...] = ("approve", "edit")
#: So that a life is not over before anybody has spoken.
MOSTLY = st.sampled_from([True, True, True, False])
DUE_SECONDS = 3_600.0
answers = st.builds(
    Said,
    spelled=st.sampled_from(sorted(PERSON_OF)),
    choice=st.sampled_from([*get_args(Choice), *VOTES]),
    edit=st.sampled_from(EDITS),
    comment=st.sampled_from([None, "", "Änderung “so”"]),
)


class ReviewMachine(RuleBasedStateMachine):
    """The reviews of one run."""

    stage: ClassVar[Stage]

    @initialize()
    def begin(self) -> None:
        self.run_id = self.stage.run(new_run(self.stage.ledger))
        self.room = Room(self.stage.ledger, self.run_id)
        self.other_run = self.stage.run(new_run(self.stage.ledger))
        self.expected: dict[str, Expected] = {}
        #: Each review as people were shown it when it was asked first.
        self.seen: dict[str, Review] = {}
        for kind, persons in (("plan", 2), ("sources", 1)):
            self.ask(kind, 1, 0, persons, None, keeps=True)

    @rule(
        kind=st.sampled_from(KINDS),
        number=st.integers(1, 2),
        decided_before=st.integers(0, 2),
        persons=st.sampled_from([2, 1]),
        deadline=st.sampled_from([None, None, *get_args(AtDeadline)]),
        keeps=MOSTLY,
    )
    def ask(
        self,
        kind: Kind,
        number: int,
        decided_before: int,
        persons: int,
        deadline: AtDeadline | None,
        *,
        keeps: bool,
    ) -> None:
        """A step asks: anew, the same again, something else, or beside what is open."""
        rules = Rules(
            persons=persons,
            due_seconds=DUE_SECONDS if deadline else None,
            at_deadline=deadline or "stay",
        )
        open_ones = [name for name, each in self.of_kind(kind) if each.status == "open"]
        beside = open_ones if keeps else []
        shown = {"kind": kind, "n": number}

        asked = self.room.ask(kind, shown, decided_before, rules, beside)
        review = self.stage.run(asked)
        assert review.shown == shown
        for name in {*open_ones} - {*beside, review.review_id}:
            self.expected[name].status = "stale"
        known = self.expected.setdefault(review.review_id, Expected(kind, persons, deadline))
        known.ask_again(persons, deadline)
        self.seen.setdefault(review.review_id, review)

    @precondition(lambda self: self.expected)
    @rule(said=answers, data=st.data())
    def say(self, said: Said, data: st.DataObject) -> None:
        """A person answers what they were shown, whatever became of it meanwhile."""
        name = self.one_of(data)
        refusal = self.expected[name].say(said)
        assert self.stage.run(self.told(name, said)) is refusal

    @precondition(lambda self: self.voted())
    @rule(choice=st.sampled_from(VOTES), data=st.data())
    def say_again(self, choice: Choice, data: st.DataObject) -> None:
        """Who has spoken speaks once more, under a name that only looks different to a machine."""
        name = data.draw(st.sampled_from(self.voted()))
        before = data.draw(st.sampled_from(self.expected[name].votes))
        spelled = data.draw(st.sampled_from(PEOPLE[before.person]))
        said = replace(before, spelled=spelled, choice=choice)
        refusal = self.expected[name].say(said)
        assert self.stage.run(self.told(name, said)) is refusal

    @precondition(lambda self: self.expected)
    @rule(ones=st.lists(answers, min_size=2, max_size=3), data=st.data())
    def say_at_once(self, ones: list[Said], data: st.DataObject) -> None:
        """Several people answer at the same moment: it is as if one had been before the other."""
        name = self.one_of(data)

        told = self.stage.run(together([self.told(name, said) for said in ones]))
        found = self.stage.run(self.room.now())[name]
        for first in range(len(ones)):
            for order in orders(len(ones), first):
                model = deepcopy(self.expected[name])
                outcomes = {place: model.say(ones[place]) for place in order}
                if [outcomes[place] for place in range(len(ones))] == told and stands(found, model):
                    self.expected[name] = model
                    return
        pytest.fail(f"{ones} said at once came to {told} and {found}, which no order explains")

    @precondition(lambda self: self.expected)
    @rule(said=answers, data=st.data())
    def die_while_saying(self, said: Said, data: st.DataObject) -> None:
        """The process ends before what was said is committed: nothing was said."""
        name = self.one_of(data)
        if refusal := deepcopy(self.expected[name]).say(said):
            assert self.stage.run(self.told(name, said, dies=True)) is refusal
            return
        with pytest.raises(Died):
            self.stage.run(self.told(name, said, dies=True))

    @precondition(lambda self: self.expected)
    @rule(said=answers, data=st.data())
    def answer_something_else(self, said: Said, data: st.DataObject) -> None:
        """An answer to what was not shown, or to another run's or tenant's review, changes nothing."""
        name = self.one_of(data)
        refusal = self.stage.run(self.told(name, said, shown_digest="sha256:other"))
        assert refusal in {ReviewStale, deepcopy(self.expected[name]).say(said)} - {None}
        assert self.stage.run(self.told(name, said, run_id=self.other_run)) is NotFound
        abroad = Room(replace(self.stage.ledger, tenant="another"), self.run_id)
        assert self.stage.run(abroad.tell(self.seen[name], said)) is NotFound
        decided = surface.decide(self.stage.runtime, name, said.decision, self.other_run)
        with pytest.raises(ReviewForeign):
            self.stage.run(decided)

    @precondition(lambda self: any(each.at_deadline for each in self.expected.values()))
    @rule(data=st.data())
    def pass_time(self, data: st.DataObject) -> None:
        """The deadline of a review passes, by the database's clock."""
        dated = [name for name, each in self.expected.items() if each.at_deadline]
        name = data.draw(st.sampled_from(dated))
        self.stage.run(self.room.make_overdue(name))
        self.expected[name].overdue = True

    @rule(twice=st.booleans())
    def look_at_the_clock(self, *, twice: bool) -> None:
        """A worker, or two at once, decides by the deadlines that have passed."""
        late = {name for name, each in self.expected.items() if each.is_late}
        late = {name for name in late if self.expected[name].status == "open"}
        found = self.stage.run(together([self.room.by_clock() for _ in range(1 + twice)]))
        for each in self.expected.values():
            each.pass_deadline()
        assert {review.review_id for each in found for review in each} == late

    @rule(spared=MOSTLY)
    def cancel(self, *, spared: bool) -> None:
        """The run is stopped: nothing that a decision could change goes on."""
        if spared:
            return
        self.stage.run(self.room.close())
        for each in self.expected.values():
            each.status = "stale" if each.status == "open" else each.status

    @precondition(lambda self: self.expected)
    @rule(workers=st.integers(1, 2), dies=st.booleans(), data=st.data())
    def do_what_was_decided(self, workers: int, data: st.DataObject, *, dies: bool) -> None:
        """The run does what was decided; once, however many workers try."""
        name = self.one_of(data)
        known = self.expected[name]
        due = known.status == "decided" and not known.applied
        if dies:
            with pytest.raises(Died):
                self.stage.run(self.room.apply(name, dies=True))
        tried = self.stage.run(together([self.room.apply(name) for _ in range(workers)]))
        assert sum(tried) == due
        known.applied = known.applied or due

    def of_kind(self, kind: Kind) -> list[tuple[str, Expected]]:
        return [(name, each) for name, each in self.expected.items() if each.kind == kind]

    def one_of(self, data: st.DataObject) -> str:
        """Choose a review; mostly one that is open, where most can happen."""
        open_ones = [name for name, each in self.expected.items() if each.status == "open"]
        return data.draw(st.sampled_from([*open_ones, *open_ones, *self.expected]))

    def voted(self) -> list[str]:
        """Return the open reviews of which somebody has said something."""
        return [name for name, each in self.expected.items() if each.votes and not each.decision]

    def told(
        self, name: str, said: Said, *, dies: bool = False, **changes: object
    ) -> Coroutine[Any, Any, Refusal | None]:
        """Let a person answer what they were shown, but for these changes."""
        return self.room.tell(self.seen[name].model_copy(update=changes), said, dies=dies)

    @invariant()
    def the_ledger_says_what_is_so(self) -> None:
        if not hasattr(self, "expected"):
            return
        found = self.stage.run(self.room.now())
        assert found.keys() == self.expected.keys()
        for name, known in self.expected.items():
            review = found[name]
            assert stands(review, known), (review, known)
            known.decided_at = known.decided_at or review.decided_at
            known.applied_at = known.applied_at or review.applied_at
            if known.decision and known.persons > 1 and known.decision.decided_by in PERSON_OF:
                alone = known.decision.choice in {"reject", "respond"}
                assert alone or len(known.agreed) >= known.persons

    @invariant()
    def the_audit_log_says_who_said_it(self) -> None:
        if not hasattr(self, "expected"):
            return
        log = self.stage.run(self.room.audit_log())
        assert audit.first_broken(self.run_id, log) is None
        for name, known in self.expected.items():
            of_it = [each for each in log if each.detail.get("review") == name]
            votes = [each.actor for each in of_it if each.event == "review_voted"]
            decided = [each for each in of_it if each.event == "review_decided"]
            assert votes == [vote.spelled for vote in known.votes]
            assert [each.detail["choice"] for each in decided] == by(known, lambda it: it.choice)
            if known.decision and known.decision.decided_by in PERSON_OF:
                assert [each.actor for each in decided] == by(known, lambda it: it.decided_by)

    @override
    def teardown(self) -> None:
        """At the end of each life its rows are those that were sealed."""
        if hasattr(self, "room"):
            assert self.stage.run(self.room.damage()) == []


def by(known: Expected, part: Callable[[Decision], str]) -> list[str]:
    return [part(known.decision)] if known.decision else []


def orders(count: int, first: int) -> list[list[int]]:
    """Return the orders of so many things that begin with this one."""
    rest = [place for place in range(count) if place != first]
    return [[first, *rest], [first, *reversed(rest)]]
