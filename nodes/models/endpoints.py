"""Endpoints: a model with what all runs of this process share of it: its places, its rate, and its price.

Models at one address share places and rate: the limits of an account are those of all of its models together.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from nodes.models.base import Model, Usage
from nodes.models.rates import Limits, Rate


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A model, a place for each call that may be at work at once, and how many may be made within a minute."""

    model: Model
    places: asyncio.Semaphore
    rate: Rate = field(default_factory=Rate)

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
    limits: Limits = field(default_factory=Limits)
    _open: dict[str, Endpoint] = field(default_factory=dict[str, Endpoint])
    _shared: dict[str, tuple[asyncio.Semaphore, Rate]] = field(
        default_factory=dict[str, tuple[asyncio.Semaphore, Rate]]
    )

    def of(self, name: str) -> Endpoint:
        """Return the endpoint of a model; raises BadInput."""
        if name not in self._open:
            model = self.new(name)
            new = (asyncio.Semaphore(self.places), Rate(self.limits))
            places, rate = self._shared.setdefault(model.profile.place, new)
            self._open[name] = Endpoint(model, places, rate)
        return self._open[name]

    async def close(self) -> None:
        """Close all clients."""
        for endpoint in self._open.values():
            await endpoint.model.aclose()
