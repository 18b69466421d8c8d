"""What a target promises, as data, and what follows from it when nobody knows whether an effect was carried out.

| kind | what the target promises | in doubt |
|---|---|---|
| keyed | the same key again is the same effect, for `window_seconds` | looked up if it can be, else sent again under the key; after the window a person decides |
| queryable | what was carried out can be looked up by the key | looked up once its request is surely over; sent again only if it is not there |
| conditional | it is created if it is not there yet | tried again: what is there already is compared |
| transactional | it commits with the ledger's own row | done again: what was not recorded was not done |
| opaque | nothing | never sent again: a person decides |

The rules are pure: what is known goes in, what to do next comes out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, assert_never

from pydantic import BaseModel, ConfigDict, Field

ContractKind: TypeAlias = Literal["keyed", "queryable", "conditional", "transactional", "opaque"]
Act: TypeAlias = Literal["send", "look_up"]
Outcome: TypeAlias = Literal[
    "started",
    "confirmed",
    "refused",
    "not_sent",
    "unknown",
    "differs",
    "absent",
    "no_look_up",
]


class Contract(BaseModel):
    """What a target promises, recorded with each effect: what was promised when it was decided counts."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: ContractKind
    #: Keyed: for how long a key is remembered, from its first use; None: for ever.
    window_seconds: float | None = Field(default=None, gt=0)
    #: After so long a request is surely over: answered, or never carried out any more.
    request_seconds: float = Field(default=30.0, gt=0)
    #: For how long a look-up may not show yet what was carried out.
    lag_seconds: float = Field(default=0.0, ge=0)


@dataclass(frozen=True, slots=True)
class Tried:
    """One attempt, as the rules see it: what was done, how it ended, and how long ago it began, by the database's clock."""

    act: Act
    outcome: Outcome
    age_seconds: float


@dataclass(frozen=True, slots=True)
class Send:
    """Send it, again where it was sent before: the contract makes that safe."""


@dataclass(frozen=True, slots=True)
class LookUp:
    """Ask the target whether it was carried out."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing can be said before so many seconds have passed."""

    seconds: float


@dataclass(frozen=True, slots=True)
class AskPerson:
    """Only a person can say what happened, and why."""

    why: str


Next: TypeAlias = Send | LookUp | Wait | AskPerson


def next_act(contract: Contract, tried: Sequence[Tried], lease_seconds: float) -> Next:
    """Return what to do about an effect in doubt, whose attempts are given in their order.

    `lease_seconds` is how long a worker that was taken over may have believed that it still held the run.
    """
    last = tried[-1]
    if last.outcome == "differs":
        return AskPerson("the target has something else under this key")
    match contract.kind:
        case "opaque":
            return AskPerson("the target takes no key and cannot be asked, so it is not sent again")
        case "conditional" | "transactional":
            return Send()
        case "keyed":
            return _keyed(contract, tried, lease_seconds)
        case "queryable":
            return _queryable(contract, tried, lease_seconds)
        case _:
            assert_never(contract.kind)


def _keyed(contract: Contract, tried: Sequence[Tried], lease_seconds: float) -> Next:
    asked = tried[-1]
    if asked.act == "send":
        return LookUp()
    if asked.outcome == "started":
        # Whoever asked died over it; asking changes nothing.
        return LookUp()
    # Who sends it now may stand still for a lease before it does, and the request takes its time: it has to arrive inside
    # the window. What was surely not sent used no key: a target that was away for a day still has all of its window.
    used = [each for each in tried if each.act == "send" and each.outcome != "not_sent"]
    first = max((each.age_seconds for each in used), default=0.0)
    window = contract.window_seconds
    if window is None or first + lease_seconds + contract.request_seconds < window:
        return Send()
    return AskPerson(
        f"its key was first used {first:.0f} s ago and is remembered for {window:.0f} s, so it is not sent again"
    )


def _queryable(contract: Contract, tried: Sequence[Tried], lease_seconds: float) -> Next:
    sent = next(each for each in reversed(tried) if each.act == "send")
    over = _over_after(contract, sent, lease_seconds)
    if sent.age_seconds < over:
        return Wait(over - sent.age_seconds)
    asked = tried[-1]
    # What was looked up before the request was surely over, or before the target shows it, says nothing.
    if asked.act == "send" or sent.age_seconds - asked.age_seconds < over:
        return LookUp()
    match asked.outcome:
        case "absent":
            return Send()
        case "no_look_up":
            return AskPerson("the target cannot be asked whether it was carried out")
        case _:
            return LookUp()


def _over_after(contract: Contract, sent: Tried, lease_seconds: float) -> float:
    """Return how long after its begin a request is surely over, and shown by a look-up.

    Of one whose end was recorded its worker is known to be done with it; one that was left may be of a frozen worker, which
    sends it when it wakes, for as long as it believes in its lease.
    """
    frozen = lease_seconds if sent.outcome == "started" else 0.0
    return frozen + contract.request_seconds + contract.lag_seconds
