"""The graph that langgraph.json names: the factory that LangGraph's server calls.

It opens nothing at import. The server calls it to read the graph's shape too; then the nodes are bound to nothing, and
the topology is the same. To execute a run it binds them to the process's resources and holds the run while it lasts.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, TypeAlias
from uuid import UUID

from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph
from langgraph_sdk.runtime import ServerRuntime
from pydantic import ValidationError

from graph.build import topology
from graph.process import SERVER
from graph.threads import run_config
from graph.working import working
from ledger.errors import LedgerError
from ledger.runs import Run
from nodes.options import BadInput, RunOptions

Graph: TypeAlias = CompiledStateGraph[Any, Any, Any, Any]


class RunStopped(RuntimeError):
    """What stopped a run, in words. LangGraph's server keeps the text of most other errors from whoever started the run."""


@asynccontextmanager
async def graph(
    config: RunnableConfig, runtime: ServerRuntime[RunOptions]
) -> AsyncGenerator[Graph]:
    """Yield the graph for one call of the server.

    Raises BadInput for options that cannot be used and RunStopped for whatever else stops a run: another worker that
    has it, an unknown workflow, a database that is gone.
    """
    execution = runtime.execution_runtime
    if execution is None:
        yield topology().compile(name="perdure")
        return
    run_id = UUID(str(config.get("configurable", {}).get("thread_id")))
    opened = await SERVER.runtime()
    try:
        async with working(opened, run_id) as run:
            bound = run_config(run_id, _options(run, execution.context))
            yield opened.compiled(saver=False).with_config(bound)
    except LedgerError as error:
        raise RunStopped(str(error)) from error


def _options(run: Run | None, context: Any) -> RunOptions:
    """Return the options of the run's row; those that the server was given count for a new run only."""
    given = run.options if run else context or {}
    try:
        return RunOptions.model_validate(given)
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()
        )
        raise BadInput(f"the run's options cannot be used: {problems}") from None
