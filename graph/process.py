"""The resources of the process that LangGraph's server runs in: opened by whoever asks first, once.

A module of its own, because the server loads the file that langgraph.json names for the checkpointer under a name of
its own: what that file held, the graph's factory would not see.
"""

import asyncio
from contextlib import AsyncExitStack

from graph.runtime import Runtime, open_runtime
from graph.settings import load_settings


class ServerProcess:
    """What the server's process holds open, from the first call of `runtime` until `close`."""

    def __init__(self) -> None:
        self._stack = AsyncExitStack()
        self._opening = asyncio.Lock()
        self._runtime: Runtime | None = None

    async def runtime(self) -> Runtime:
        """Return the resources; raises what `open_runtime` raises."""
        async with self._opening:
            if self._runtime is None:
                settings = await asyncio.to_thread(load_settings)
                self._runtime = await self._stack.enter_async_context(open_runtime(settings))
        return self._runtime

    async def close(self) -> None:
        """Close what was opened."""
        self._runtime = None
        await self._stack.aclose()


SERVER = ServerProcess()
