"""What a run's steps did without while they thought about the whole of it: kept from step to step, for the report.

State holds the name of an artifact, as of the other products; what a branch did without stands with its task.
"""

import json
from collections.abc import Mapping, Sequence

from ledger import artifacts
from ledger.db import Transaction

_NOTES = "notes"


async def kept(tx: Transaction, products: Mapping[str, str]) -> tuple[str, ...]:
    """Return what was noted so far."""
    name = products.get(_NOTES)
    return () if name is None else tuple(json.loads(await artifacts.get(tx, name)))


async def keep(
    tx: Transaction, products: Mapping[str, str], notes: Sequence[str]
) -> dict[str, str]:
    """Return the products with these notes beside the earlier ones, each once."""
    if not notes:
        return dict(products)
    noted = list(dict.fromkeys([*await kept(tx, products), *notes]))
    return {**products, _NOTES: await artifacts.put_json(tx, noted)}
