"""What was found out about the endpoints of models, the newest of each question. It belongs to no run, and names no key."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from ledger.db import Transaction
from ledger.sql import load

_SQL = load("endpoints")
_KEEP, _OF = _SQL["KeepEndpointCheck"], _SQL["EndpointChecks"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What a question came to: `ok` is verified, else it was refuted."""

    name: str
    ok: bool
    detail: str


@dataclass(frozen=True, slots=True)
class Kept(Finding):
    """The same, and when, by the database's clock."""

    checked_at: datetime

    @property
    def verdict(self) -> str:
        """What was found, and the day in UTC."""
        day = self.checked_at.astimezone(UTC).date().isoformat()
        return f"{'verified' if self.ok else 'refuted'} {day}"


async def keep(tx: Transaction, endpoint: str, findings: Iterable[Finding]) -> None:
    """Keep findings about an endpoint (model and place) instead of those before."""
    # In one order, so that two that do so at once do not wait for each other.
    for finding in sorted(findings, key=lambda each: each.name):
        values = {"name": finding.name, "ok": finding.ok, "detail": finding.detail}
        await tx.run(_KEEP, endpoint=endpoint, **values)


async def kept(tx: Transaction, endpoint: str) -> dict[str, Kept]:
    """Return what was found out about an endpoint, by question."""
    return {row["name"]: Kept(**row) for row in await tx.many(_OF, endpoint=endpoint)}
