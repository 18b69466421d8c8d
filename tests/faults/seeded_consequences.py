"""Deliberate faults in what a run does outside, and in what people decide: each has to be noticed."""

import os
from typing import Any
from uuid import UUID

from ledger import artifacts, contracts, effects, reviews, runs
from ledger.canonical import canonical
from ledger.contracts import Send
from ledger.effects import Effect
from nodes.effects import Begun, Carrier, publication_of
from nodes.targets import webhook
from nodes.targets.base import Confirmed, NotSent, Sending
from tests.faults.seeding import Bug, replaced, rewritten


async def _unfenced(self: Carrier, begun: Begun) -> Sending | NotSent:
    """Send what was recorded, whatever has happened since."""
    return await _sending(self, begun.effect)


async def _sending(carrier: Carrier, effect: Effect) -> Sending:
    async with carrier.ledger.transaction() as tx:
        run = await runs.get(tx, effect.run_id)
        content = await artifacts.get(tx, effect.artifact)
    publication = publication_of(run, effect.artifact, content, effect.media_type)
    return Sending(effect.key, effect.request_digest, effect.request, publication)


async def _acting_first(self: Carrier, effect: Effect, target: Any) -> Effect:
    """Send before it is recorded that one will."""
    said = await target.send(await _sending(self, effect))
    async with self.ledger.transaction(self.run_id) as tx:
        begun = await self.begin(tx, await effects.get(tx, effect.run_id, effect.key))
    return await self._observed(begun, said) if begun else effect


async def _confirming_first(self: Carrier, begun: Begun, target: Any) -> Effect:
    """Take it for carried out before it is."""
    effect = await self._observed(begun, Confirmed(begun.effect.key))
    await target.send(await _sending(self, effect))
    return effect


_begin = Carrier.begin


async def _undoubting(self: Carrier, tx: Any, effect: Effect) -> Begun | None:
    """Leave to its worker what it was sending."""
    return None if effect.status == "sending" else await _begin(self, tx, effect)


def _signed(body: Any) -> bytes:
    """Say in each request who sends it."""
    return canonical({**body, "sent_by": os.getpid()})


_next_act = contracts.next_act


def _insisting(contract: Any, tried: Any, lease_seconds: float) -> Any:
    """Send again what may have been sent."""
    return Send() if contract.kind == "opaque" else _next_act(contract, tried, lease_seconds)


def _at_once(*_: Any) -> float:
    """Take every request for over."""
    return 0.0


async def _applied_always(tx: Any, run_id: UUID, review_id: str) -> bool:
    """Do again what was decided, whenever it is read."""
    return True


def _never(*_: Any) -> bool:
    """Take the first word for the last."""
    return False


CONSEQUENCES: dict[str, Bug] = {
    "an effect is sent before its attempt is recorded": Bug(
        replaced(Carrier, "carry_out", _acting_first), "publish-webhook"
    ),
    "an effect is confirmed before it is sent": Bug(
        replaced(Carrier, "call", _confirming_first), "publish-webhook", "kill_before", "http hooks"
    ),
    "what was being sent is never doubted": Bug(
        replaced(Carrier, "begin", _undoubting), "publish-webhook", "kill_after", "http hooks"
    ),
    "a key is used with another payload": Bug(
        replaced(webhook, "canonical", _signed), "publish-mute-webhook", "kill_after", "http hooks"
    ),
    "the time of a request is not waited out": Bug(
        replaced(contracts, "_over_after", _at_once), "publish-slowly", "freeze", "http hooks"
    ),
    "an opaque effect is sent again": Bug(
        replaced(contracts, "next_act", _insisting),
        "publish-opaque-webhook",
        "kill_after",
        "http hooks",
    ),
    "who wakes sends what it had recorded": Bug(
        replaced(Carrier, "_sending", _unfenced),
        "publish-unhurried",
        "freeze_after",
        r"ledger effect_attempts\+effects #1$",
    ),
    "a relay confirms what another has confirmed": Bug(
        rewritten(r"AND attempts = %\(number\)s\s+AND status IN \('sending', 'in_doubt'\)", ""),
        "notice",
        "freeze",
        r"audit_log\+effect_attempts\+effects",
    ),
    "a notice is sent before its checkpoint is stored": Bug(
        rewritten(r"AND \(run\.status = 'completed'\s+OR EXISTS .*? \? effect\.key\)\)", ""),
        "notice-of-review",
    ),
    "a decision is carried out without a record of it": Bug(
        replaced(reviews, "apply", _applied_always), "review"
    ),
    "one person is enough": Bug(replaced(reviews, "_is_vote", _never), "two-persons"),
}
