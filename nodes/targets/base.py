"""What a target is: it prepares a request, sends it, and, where it can, looks up whether it was carried out.

To add one (a ticket, a chat, an object store): write a class with these members in one file of this folder, name it in
`nodes/targets/opening.py`, and let `tests/support/target_conformance.py` run its checks against a real server of it.

A target never decides whether something is sent again: it says what it knows, and ledger/effects.py with the contract says
what follows. So none of its functions tries again by itself, follows a redirect with a request that changes something, or
raises for what a server answers.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, runtime_checkable
from uuid import UUID

from ledger.canonical import Json
from ledger.contracts import Contract
from ledger.db import Transaction

#: What a report is.
MARKDOWN = "text/markdown; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Publication:
    """What a run gives away: its report as Markdown, and what it is about."""

    run_id: UUID
    question: str
    report_artifact: str
    content: bytes
    #: When the run was begun, in UTC: the one time that is the same in every process that sends this.
    begun_at: str
    media_type: str = MARKDOWN


@dataclass(frozen=True, slots=True)
class Sending:
    """One effect as it is carried out; `request` is what the target's `request` made, as it was recorded before."""

    key: str
    request_digest: str
    request: Mapping[str, Any]
    publication: Publication


@dataclass(frozen=True, slots=True)
class Confirmed:
    """It was carried out, once; `external_id` is the other side's name for it."""

    external_id: str
    detail: Mapping[str, Json] = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True)
class Refused:
    """It was not carried out, and the same again would be refused again."""

    reason: str


@dataclass(frozen=True, slots=True)
class NotSent:
    """It was surely not carried out, and may be tried again: nobody listened, or the other side asked for patience."""

    reason: str
    retry_after_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nobody can tell from here whether it was carried out."""

    reason: str
    retry_after_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Absent:
    """The other side was asked and does not have it."""


@dataclass(frozen=True, slots=True)
class Differs:
    """The other side has something else under this key: a person has to look."""

    reason: str


@dataclass(frozen=True, slots=True)
class NoLookUp:
    """The other side cannot be asked."""


Sent: TypeAlias = Confirmed | Refused | NotSent | Unknown | Differs
Found: TypeAlias = Confirmed | Absent | Differs | Unknown | NoLookUp


class Target(Protocol):
    """One place that takes reports, opened for one address (`file:PATH`, `https://…`, `mailto:…`, `postgres:TABLE`)."""

    @property
    def kind(self) -> str:
        """The short name of this kind of target: `file`, `webhook`, `email`, `postgres`."""
        ...

    @property
    def address(self) -> str:
        """The address as it was given, made absolute; it holds no secret."""
        ...

    @property
    def contract(self) -> Contract:
        """What the other side guarantees, as it is declared for this address."""
        ...

    def request(self, publication: Publication) -> dict[str, Json]:
        """Return the canonical request: the same publication makes the same, in every process. It holds no secret.

        Large content stands in it by its digest. Raises BadInput for what this target can never take.
        """
        ...

    async def check(self) -> str:
        """Say whether the address can be used with what is set up here, sending nothing; raises BadInput."""
        ...

    async def send(self, sending: Sending) -> Sent:
        """Carry it out, once, within `contract.request_seconds`."""
        ...

    async def look_up(self, sending: Sending) -> Found:
        """Ask whether it was carried out, changing nothing."""
        ...


@runtime_checkable
class TransactionalTarget(Target, Protocol):
    """A target in the ledger's own database: it commits with the row that says so."""

    async def send_in(self, tx: Transaction, sending: Sending) -> Sent:
        """Carry it out in this transaction."""
        ...


class Targets(Protocol):
    """Opens targets with what is set up in this process."""

    def open(self, address: str) -> Target:
        """Return the target at an address; raises BadInput with the forms that exist."""
        ...
