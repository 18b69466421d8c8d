"""Limits of our own to what an endpoint is asked within a minute: calls, and tokens.

A call is let go when it and those of the last minute keep to both limits, in the order in which they came. Its tokens are
estimated then, and corrected when the endpoint has counted them. No window of 60 seconds holds more, wherever it begins:
a bucket that fills steadily lets twice its size pass in the minute after a rest, and a whole burst at a minute's turn.
"""

import asyncio
from collections import deque
from dataclasses import dataclass, field

from nodes.clock import Clock
from nodes.models.base import Usage

# One call may be a second longer on its way than the next.
WINDOW_SECONDS = 61.0
# Waiting for less might not move a clock that counts in floating point.
_WAIT_MIN = 0.001


@dataclass(frozen=True, slots=True)
class Limits:
    """At most so many calls, and tokens of prompts and answers, within 60 seconds; None for no limit."""

    calls: int | None = None
    tokens: int | None = None


@dataclass(slots=True)
class Taken:
    """A call that was let go: when, and what it is taken to cost."""

    at: float
    tokens: int

    def cost(self, usage: Usage) -> None:
        """Put right what it costs; an endpoint that tells nothing leaves the estimate."""
        counted = usage.prompt_tokens + usage.completion_tokens
        self.tokens = counted or self.tokens


@dataclass(slots=True)
class Rate:
    """Lets calls go as the limits allow, over all branches and runs of a process."""

    limits: Limits = field(default_factory=Limits)
    _taken: deque[Taken] = field(default_factory=deque[Taken])
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def take(self, tokens: int, clock: Clock) -> Taken:
        """Wait until a call of so many tokens may be made; one that alone exceeds the limit is made alone."""
        # Whoever waits keeps the turn: many small calls do not hold up a large one for ever.
        async with self._turn:
            while (wait := self._seconds_left(tokens, clock.now())) > 0:
                await clock.sleep(max(wait, _WAIT_MIN))
            self._taken.append(Taken(clock.now(), tokens))
            return self._taken[-1]

    def _seconds_left(self, tokens: int, now: float) -> float:
        """Return how long to wait until enough of those before have left the window."""
        while self._taken and now - self._taken[0].at >= WINDOW_SECONDS:
            self._taken.popleft()
        calls, used, until = len(self._taken), sum(each.tokens for each in self._taken), now
        for each in self._taken:
            if self._fits(calls, used, tokens):
                break
            calls, used, until = calls - 1, used - each.tokens, each.at + WINDOW_SECONDS
        return until - now

    def _fits(self, calls: int, used: int, tokens: int) -> bool:
        if self.limits.calls is not None and calls >= self.limits.calls:
            return False
        return self.limits.tokens is None or used + tokens <= self.limits.tokens
