"""What langgraph.json names for LangGraph's server: our saver, on the resources that its process holds open."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from graph.process import SERVER
from graph.saver import SealedPostgresSaver


@asynccontextmanager
async def checkpointer() -> AsyncGenerator[SealedPostgresSaver]:
    """Yield the saver of the server's process; the resources are closed with it."""
    runtime = await SERVER.runtime()
    try:
        yield runtime.new_saver(checking=True)
    finally:
        await SERVER.close()
