"""What langgraph.json names for LangGraph's server: our saver, on the resources that its process opened once."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager

from graph.runtime import Runtime, open_runtime
from graph.saver import RecordingPostgresSaver
from graph.settings import load_settings


class _Process:
    """The resources of this process; opened by the first that asks, closed with the checkpointer."""

    def __init__(self) -> None:
        self.stack = AsyncExitStack()
        self.opening = asyncio.Lock()
        self.runtime: Runtime | None = None

    async def open(self) -> Runtime:
        """Return the resources, opening them at the first call."""
        async with self.opening:
            if self.runtime is None:
                settings = await asyncio.to_thread(load_settings)
                self.runtime = await self.stack.enter_async_context(open_runtime(settings))
        return self.runtime

    async def close(self) -> None:
        """Close what was opened."""
        self.runtime = None
        await self.stack.aclose()


_process = _Process()


async def server_runtime() -> Runtime:
    """Return the resources of the server's process."""
    return await _process.open()


@asynccontextmanager
async def checkpointer() -> AsyncGenerator[RecordingPostgresSaver]:
    """Yield the saver of the server's process."""
    runtime = await _process.open()
    try:
        yield runtime.new_saver()
    finally:
        await _process.close()
