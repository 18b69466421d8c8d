"""What a person says about an effect: that it happened, that it did not, that it is not to be done, that it is to be done again.

Who and why are kept with the effect, and in the audit log that it was said.
"""

from typing import Any

from ledger import audit
from ledger.db import Transaction
from ledger.effects import Effect, Settlement
from ledger.errors import EffectClosed
from ledger.sql import load

_SQL = load("effects")


async def happened(
    tx: Transaction, effect: Effect, external_id: str, settlement: Settlement
) -> None:
    """Record that it was carried out, and the target's name for it; raises EffectClosed unless it is in doubt."""
    await _settle(tx, "SettleHappened", effect, settlement, external_id=external_id)


async def did_not_happen(tx: Transaction, effect: Effect, settlement: Settlement) -> None:
    """Record that it was not carried out, and is not to be; raises EffectClosed for one that was, or that is not decided yet."""
    reason = f"not carried out: {settlement.why}"
    await _settle(tx, "SettleDidNotHappen", effect, settlement, reason=reason)


async def again(tx: Transaction, effect: Effect, settlement: Settlement) -> None:
    """Record that it was not carried out, and is to be sent once more; raises EffectClosed unless it was refused or doubted."""
    reason = f"to be sent again: {settlement.why}"
    await _settle(tx, "SettleAgain", effect, settlement, reason=reason)


async def forbid(tx: Transaction, effect: Effect, settlement: Settlement) -> None:
    """Record that it is not to be carried out; raises EffectClosed once it was begun."""
    reason = f"not to be carried out: {settlement.why}"
    await _settle(tx, "ForbidEffect", effect, settlement, reason=reason)


async def _settle(
    tx: Transaction, name: str, effect: Effect, settlement: Settlement, **values: Any
) -> None:
    packed = tx.pack(settlement.model_dump(mode="json"))
    statement = _SQL[name]
    row = await tx.maybe(
        statement,
        run_id=effect.run_id,
        key=effect.key,
        settled_key_id=packed["key_id"],
        settled_body=packed["body"],
        **values,
    )
    if row is None:
        raise EffectClosed(effect.key, effect.status)
    await audit.append(tx, effect.run_id, "effect_settled", {"effect": effect.key, "how": name})
