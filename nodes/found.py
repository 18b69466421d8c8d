"""What the searches of a branch came to: their hits, merged, and how rare the terms of the task are."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from ledger import journal
from ledger.db import Transaction
from nodes.material import Hit
from nodes.tools.passages import merge_hits

# Places that are read for a task, over all its queries.
PLACES_MAX = 12


@dataclass(frozen=True, slots=True)
class Found:
    """Merged hits, best first, the tool that each address came from, and the rarity of the queries' terms."""

    hits: tuple[Hit, ...]
    tool_of: Mapping[str, str]
    rarity: Mapping[str, float]


async def found(tx: Transaction, run_id: UUID, operation_ids: list[str]) -> Found:
    """Return what these search operations found."""
    results = await journal.results(tx, run_id, operation_ids)
    lists = [[Hit(**hit) for hit in result["hits"]] for result in results]
    tool_of = {
        hit.uri: result["tool"] for result, hits in zip(results, lists, strict=True) for hit in hits
    }
    return Found(merge_hits(lists, PLACES_MAX), tool_of, _rarity(results))


def _rarity(results: list[Any]) -> dict[str, float]:
    return {term: rarity for result in results for term, rarity in result["rarity"].items()}
