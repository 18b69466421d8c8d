"""Telling the runs that a process works to stop at their next step."""

import asyncio
from contextlib import suppress

from langgraph.runtime import RunControl
from typing_extensions import override


class Drain(RunControl):
    """LangGraph's control of one run, for all runs of a process: once it is told to end, it is for good."""

    __slots__ = ("_requested",)

    def __init__(self) -> None:
        super().__init__()
        self._requested = asyncio.Event()

    @override
    def request_drain(self, reason: str = "shutdown") -> None:
        """Let no run begin another step; from the thread of the event loop."""
        super().request_drain(reason)
        self._requested.set()

    async def wait(self, seconds: float) -> None:
        """Return when the process is told to end, or after so many seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._requested.wait()
