"""The relay: sends the notices that runs decided and do not wait for, and looks again into publications that runs wait for.

One call of one target for each claim, and no waiting: what a target asks patience for is found again when it is due. Any
number of relays may work beside each other and beside the runs' workers. Notices of runs of other workflows are theirs.
"""

import logging
from collections import Counter
from dataclasses import dataclass

from graph.runtime import Runtime
from ledger import effects, outbox
from ledger.errors import IllegalTransition
from nodes.effects import Begun, Carrier
from nodes.options import BadInput

logger = logging.getLogger(__name__)

# A look ends, however many notices come in meanwhile.
NOTICES_MAX = 1_000


@dataclass(frozen=True, slots=True)
class RelayCounts:
    """What came of one look: notices that were carried out, that wait for a person or were refused, that are left for later."""

    confirmed: int = 0
    given_up: int = 0
    left: int = 0


async def run_once(runtime: Runtime) -> RelayCounts:
    """Work every notice that is due by one step; raises what the database does."""
    carrier = Carrier(runtime.ledger, None, runtime.resources.patience)
    seen: set[str] = set()
    counts = Counter[str]()
    while len(seen) < NOTICES_MAX:
        try:
            status = await _one(runtime, carrier, seen)
        except IllegalTransition:
            # Another relay was quicker.
            counts["left"] += 1
            continue
        if status is None:
            break
        counts[_COUNTED.get(status, "left")] += 1
    return RelayCounts(counts["confirmed"], counts["given_up"], counts["left"])


_COUNTED = {"confirmed": "confirmed", "failed": "given_up", "awaiting_person": "given_up"}


async def _one(runtime: Runtime, carrier: Carrier, seen: set[str]) -> effects.Status | None:
    """Work one notice by one step and return its status, None when none is due."""
    async with runtime.ledger.transaction() as tx:
        effect = await outbox.next_notice(tx, seen, runtime.ledger.lease_seconds, runtime.supports)
        if effect is None:
            return None
        seen.add(effect.key)
        try:
            target = runtime.resources.targets.open(effect.target)
        except BadInput as error:
            # Another process may be set up for it.
            logger.warning("notice %s cannot be sent here: %s", effect.key, error)
            return effect.status
        begun: Begun | None = await carrier.begin(tx, effect)
        if begun is None:
            return (await effects.get(tx, effect.run_id, effect.key)).status
    return (await carrier.call(begun, target)).status
