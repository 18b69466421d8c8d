"""Endpoints: a model with what all runs of this process share of it: how many calls may be at work at once, and its price."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from nodes.models.base import Model, Usage


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A model, and a place for each call that may be at work at once, over all branches and runs."""

    model: Model
    places: asyncio.Semaphore

    def cost_of(self, usage: Usage) -> dict[str, int | float]:
        """Return what a call used and, where its price is known, what it cost in US dollars."""
        counts: dict[str, int | float] = dict(usage.as_counts())
        price = self.model.profile.price
        if price is not None:
            fresh = max(0, usage.prompt_tokens - usage.cached_tokens)
            sums = (
                fresh * price.prompt,
                usage.cached_tokens * price.cached,
                usage.completion_tokens * price.completion,
            )
            counts["cost_usd"] = round(sum(sums) / 1_000_000, 9)
        return counts


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Opens each model once; `new` makes a client and raises BadInput for a name that nobody has."""

    new: Callable[[str], Model]
    places: int
    _open: dict[str, Endpoint] = field(default_factory=dict[str, Endpoint])

    def of(self, name: str) -> Endpoint:
        """Return the endpoint of a model; raises BadInput."""
        if name not in self._open:
            self._open[name] = Endpoint(self.new(name), asyncio.Semaphore(self.places))
        return self._open[name]

    async def close(self) -> None:
        """Close all clients."""
        for endpoint in self._open.values():
            await endpoint.model.aclose()
