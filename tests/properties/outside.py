"""An outside system as small as its contract: it remembers keys for a window, shows late, loses answers, and counts.

Its clock is moved by the test. A request that was cut off may land later, until its time is over.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from ledger.canonical import Json
from ledger.contracts import Contract
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
    Unknown,
)

Way: TypeAlias = Literal["well", "refuses", "busy", "cut_before", "cut_after", "lands_later"]
WAYS: tuple[Way, ...] = get_args(Way)


@dataclass
class Outside:
    """The system; `effects` counts what it carried out by key."""

    contract: Contract
    now: float = 0.0
    effects: Counter[str] = field(default_factory=Counter[str])
    #: By key: the request that it stands for, when it was first seen, when it was carried out last.
    known: dict[str, tuple[str, float, float]] = field(
        default_factory=dict[str, tuple[str, float, float]]
    )
    #: Requests that are on their way.
    flying: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    #: How the next call ends.
    way: Way = "well"

    def pass_time(self, seconds: float) -> None:
        """Let what is on its way land, and time go by."""
        flying, self.flying = self.flying, []
        for key, request_digest in flying:
            self.carry_out(key, request_digest)
        self.now += seconds

    def carry_out(self, key: str, request_digest: str) -> Confirmed | Differs:
        """Do what is asked for, as often as the contract lets it be asked for."""
        if self._remembers(key) and self.contract.kind in {"keyed", "conditional"}:
            same = self.known[key][0] == request_digest
            return Confirmed(f"id-{key}") if same else Differs("another request")
        self.effects[key] += 1
        self.known[key] = (request_digest, self.now, self.now)
        return Confirmed(f"id-{key}")

    def shows(self, key: str) -> bool:
        """Say whether a look-up finds the key by now."""
        lag = self.contract.lag_seconds
        return self._remembers(key) and self.now >= self.known[key][2] + lag

    def _remembers(self, key: str) -> bool:
        window = self.contract.window_seconds
        return key in self.known and (window is None or self.now < self.known[key][1] + window)


@dataclass(frozen=True)
class OutsideTarget:
    """The system as the product reaches it."""

    outside: Outside
    kind: str = "model"
    address: str = "model:outside"

    @property
    def contract(self) -> Contract:
        return self.outside.contract

    def request(self, publication: Publication) -> dict[str, Json]:
        return {"report_artifact": publication.report_artifact}

    async def check(self) -> str:
        return "it is there"

    async def send(self, sending: Sending) -> Sent:
        request = (sending.key, sending.request_digest)
        match self.outside.way:
            case "well":
                return self.outside.carry_out(*request)
            case "refuses":
                return Refused("not this")
            case "busy":
                return NotSent("not now")
            case "cut_before":
                return Unknown("cut")
            case "cut_after":
                self.outside.carry_out(*request)
                return Unknown("cut")
            case "lands_later":
                self.outside.flying.append(request)
                return Unknown("no answer in time")

    async def look_up(self, sending: Sending) -> Found:
        if self.contract.kind in {"opaque", "conditional"}:
            return NoLookUp()
        if self.outside.way != "well":
            return Unknown("cut")
        shown = self.outside.shows(sending.key)
        return Confirmed(f"id-{sending.key}") if shown else Absent()
