"""Notices: effects that a run decides and does not wait for. A relay sends them.

A notice is recorded by the step that decides it and is due once the checkpoint that names it is stored: a step that is run
again finds its own row, and one whose checkpoint was never stored is never sent.
"""

from collections.abc import Collection

from ledger import effects
from ledger.db import Transaction
from ledger.effects import Effect
from ledger.sql import load
from ledger.stamps import Stamp, Taken, columns
from ledger.workers import ANY, Orphan

_SQL = load("effects")


async def next_notice(
    tx: Transaction,
    seen: Collection[str],
    lease_seconds: float,
    supports: Collection[Stamp] | None = None,
) -> Effect | None:
    """Return a notice that is due and was not `seen` yet, with its run's head locked for this transaction; or None.

    Of runs whose workflow this worker supports; None: of any. One whose relay may still be at work is left to it, until `lease_seconds` after its request is surely over.
    """
    row = await tx.maybe(
        _SQL["NextNotice"], seen=list(seen), lease=lease_seconds, **columns(supports)
    )
    return None if row is None else await effects.get(tx, row["run_id"], row["key"])


async def unsettled(tx: Transaction, of: Taken = ANY) -> list[Orphan]:
    """Return the blocked runs with a publication that can be looked into again; `owner` worked it last."""
    return [Orphan(**row) for row in await tx.many(_SQL["UnsettledRuns"], **of.columns)]
