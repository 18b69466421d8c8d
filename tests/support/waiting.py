"""Waiting for what other processes do, by asking until it is so; the test's own time limit ends what never comes."""

import asyncio
import time
from collections.abc import Awaitable, Callable

POLL_SECONDS = 0.02


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    """Return once the condition holds."""
    while not await condition():  # noqa: ASYNC110  # it comes true elsewhere: no event of ours
        await asyncio.sleep(POLL_SECONDS)


def wait_until(condition: Callable[[], object]) -> None:
    """Return once the condition holds."""
    while not condition():
        time.sleep(POLL_SECONDS)
