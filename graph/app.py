"""The graph that langgraph.json names: the factory that LangGraph's server calls.

It opens nothing at import. The server calls it to read the graph's shape too; then the nodes are bound to nothing, and
the topology is the same. To execute a run it binds them to the process's resources and holds the run while it lasts.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph
from langgraph_sdk.runtime import ServerRuntime

from graph.build import build_graph, topology
from graph.server import server_runtime
from ledger import leases
from nodes.options import RunOptions


@asynccontextmanager
async def graph(
    config: RunnableConfig, runtime: ServerRuntime[RunOptions]
) -> AsyncGenerator[CompiledStateGraph[Any, Any, Any, Any]]:
    """Yield the graph for one call of the server; raises RunHeld while another worker has the run."""
    thread_id = config.get("configurable", {}).get("thread_id")
    if runtime.execution_runtime is None or thread_id is None:
        yield topology().compile(name="perdure")
        return
    opened = await server_runtime()
    async with leases.hold(opened.ledger, UUID(str(thread_id))):
        yield build_graph(opened.resources).compile(name="perdure")
