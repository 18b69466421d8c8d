"""The resources of the process that LangGraph's server runs in: opened by whoever asks first, once.

A module of its own, because the server loads the file that langgraph.json names for the checkpointer under a name of
its own: what that file held, the graph's factory would not see.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager

from graph.runtime import Runtime, open_runtime
from graph.settings import load_settings
from graph.sweeping import Swept, watch

logger = logging.getLogger(__name__)


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
                runtime = await self._stack.enter_async_context(open_runtime(settings))
                await self._stack.enter_async_context(_swept(runtime))
                self._runtime = runtime
        return self._runtime

    async def close(self) -> None:
        """Close what was opened."""
        self._runtime = None
        await self._stack.aclose()


@asynccontextmanager
async def _swept(runtime: Runtime) -> AsyncGenerator[None]:
    """Take up runs whose workers died, for as long as the server lives."""
    watching = asyncio.create_task(watch(runtime, _log))
    try:
        yield
    finally:
        watching.cancel()
        await asyncio.wait({watching})


def _log(swept: Swept) -> None:
    logger.info("run %s, whose worker %s died: %s", swept.run_id, swept.owner, swept.became)


SERVER = ServerProcess()
