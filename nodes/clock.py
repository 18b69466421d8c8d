"""The time as a step sees it: a clock that only goes forward, and waiting by it."""

import asyncio
from time import monotonic
from typing import Protocol


class Clock(Protocol):
    """Tells seconds that have passed, and waits."""

    def now(self) -> float:
        """Return seconds from some moment on."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class SystemClock:
    """The clock of this machine."""

    def now(self) -> float:
        """Return seconds since the machine was started, or thereabouts."""
        return monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)
