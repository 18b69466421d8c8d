"""What follows from a contract when nobody knows whether an effect was carried out: every rule, at its edges."""

import pytest

from ledger.contracts import (
    Act,
    AskPerson,
    Contract,
    ContractKind,
    LookUp,
    Outcome,
    Send,
    Tried,
    Wait,
    next_act,
)

LEASE = 30.0
KEYED = Contract(kind="keyed", window_seconds=100, request_seconds=10)
QUERYABLE = Contract(kind="queryable", request_seconds=10, lag_seconds=5)
# Of a frozen worker: lease, request, lag; of one whose end was recorded: request, lag.
LEFT_OVER, ENDED_OVER = 45.0, 15.0


def sent(age: float, outcome: Outcome = "started") -> Tried:
    return Tried("send", outcome, age)


def asked(age: float, outcome: Outcome) -> Tried:
    return Tried("look_up", outcome, age)


@pytest.mark.parametrize("kind", ["keyed", "queryable", "conditional", "transactional", "opaque"])
@pytest.mark.parametrize("act", ["send", "look_up"])
def test_something_else_under_the_key_is_for_a_person_whatever_the_contract(
    kind: ContractKind, act: Act
) -> None:
    tried = [sent(900.0, "unknown"), Tried(act, "differs", 800.0)]
    assert isinstance(next_act(Contract(kind=kind), tried, LEASE), AskPerson)


@pytest.mark.parametrize("age", [0.0, 1e9])
@pytest.mark.parametrize("outcome", ["started", "unknown", "not_sent"])
def test_an_opaque_effect_in_doubt_is_never_sent_again(age: float, outcome: Outcome) -> None:
    following = next_act(Contract(kind="opaque"), [sent(age, outcome)], LEASE)
    assert isinstance(following, AskPerson)


@pytest.mark.parametrize("kind", ["conditional", "transactional"])
@pytest.mark.parametrize("age", [0.0, 1e9])
def test_what_is_created_if_absent_is_tried_again_at_once(kind: ContractKind, age: float) -> None:
    assert next_act(Contract(kind=kind), [sent(age)], LEASE) == Send()


def test_a_keyed_effect_is_looked_up_before_it_is_sent_again() -> None:
    assert next_act(KEYED, [sent(1.0)], LEASE) == LookUp()
    assert next_act(KEYED, [sent(9.0), asked(8.0, "absent"), sent(1.0, "unknown")], LEASE) == (
        LookUp()
    )


def test_a_look_up_whose_worker_died_is_asked_again() -> None:
    assert next_act(KEYED, [sent(9.0), asked(1.0, "started")], LEASE) == LookUp()
    long_ago = [sent(99.0), asked(1.0, "started")]
    assert next_act(QUERYABLE, long_ago, LEASE) == LookUp()


@pytest.mark.parametrize("outcome", ["absent", "no_look_up", "unknown"])
def test_a_keyed_effect_that_a_look_up_does_not_find_is_sent_again_inside_the_window(
    outcome: Outcome,
) -> None:
    assert next_act(KEYED, [sent(9.0), asked(1.0, outcome)], LEASE) == Send()


@pytest.mark.parametrize(
    ("age", "safe"), [(59.9, True), (60.0, False), (60.1, False), (1e6, False)]
)
def test_a_repeat_has_to_arrive_inside_the_window(age: float, *, safe: bool) -> None:
    """Of the hundred seconds its worker may stand still for thirty, and the request may take ten."""
    following = next_act(KEYED, [sent(age), asked(1.0, "absent")], LEASE)
    assert isinstance(following, Send if safe else AskPerson)


def test_the_window_counts_from_the_first_use_of_the_key() -> None:
    tried = [
        sent(95.0, "unknown"),
        asked(94.0, "absent"),
        sent(2.0, "unknown"),
        asked(1.0, "absent"),
    ]
    following = next_act(KEYED, tried, LEASE)
    assert isinstance(following, AskPerson)
    assert "95 s ago" in following.why
    assert "100 s" in following.why


def test_what_was_surely_not_sent_used_no_key() -> None:
    """A target that was away for longer than its window is sent to as one that is given the key for the first time."""
    away = [sent(9_000.0, "not_sent"), sent(900.0, "not_sent")]
    tried = [*away, sent(9.0, "unknown"), asked(8.0, "no_look_up")]
    assert next_act(KEYED, tried, LEASE) == Send()


def test_after_the_window_a_look_up_is_still_asked_first() -> None:
    assert next_act(KEYED, [sent(1e6)], LEASE) == LookUp()


def test_a_key_without_a_window_is_remembered_for_ever() -> None:
    contract = Contract(kind="keyed", window_seconds=None)
    assert next_act(contract, [sent(1e9), asked(1.0, "no_look_up")], LEASE) == Send()


@pytest.mark.parametrize(("outcome", "over"), [("started", LEFT_OVER), ("unknown", ENDED_OVER)])
def test_a_queryable_target_is_not_asked_before_the_request_is_surely_over(
    outcome: Outcome, over: float
) -> None:
    """A worker that left no end may be frozen, and sends for as long as it believes in its lease."""
    assert next_act(QUERYABLE, [sent(0.0, outcome)], LEASE) == Wait(over)
    assert next_act(QUERYABLE, [sent(over - 1, outcome)], LEASE) == Wait(1.0)
    assert next_act(QUERYABLE, [sent(over, outcome)], LEASE) == LookUp()


@pytest.mark.parametrize("outcome", ["started", "absent", "unknown", "no_look_up"])
def test_what_was_looked_up_too_soon_says_nothing(outcome: Outcome) -> None:
    too_soon = [sent(100.0), asked(100.0 - LEFT_OVER + 0.1, outcome)]
    assert next_act(QUERYABLE, too_soon, LEASE) == LookUp()


def test_a_queryable_effect_that_is_surely_not_there_is_sent_again() -> None:
    assert next_act(QUERYABLE, [sent(100.0), asked(100.0 - LEFT_OVER, "absent")], LEASE) == Send()


def test_a_queryable_target_that_cannot_be_asked_is_for_a_person() -> None:
    following = next_act(QUERYABLE, [sent(100.0), asked(1.0, "no_look_up")], LEASE)
    assert isinstance(following, AskPerson)


def test_a_look_up_that_was_not_answered_is_repeated() -> None:
    assert next_act(QUERYABLE, [sent(100.0), asked(1.0, "unknown")], LEASE) == LookUp()


def test_after_a_second_send_the_wait_begins_anew() -> None:
    tried = [sent(200.0), asked(100.0, "absent"), sent(3.0, "unknown")]
    assert next_act(QUERYABLE, tried, LEASE) == Wait(ENDED_OVER - 3.0)
