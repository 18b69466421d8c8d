"""Traces for LangSmith, switched on by its own variables: ids, names and counts, and no text unless it is asked for.

What a trace shows is decided by the names of values: a value that nobody thought of is hidden.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any, cast
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.tracers.langchain import LangChainTracer
from langsmith import Client, utils
from typing_extensions import override

HIDDEN = "(hidden: PERDURE_TRACE_DOCUMENTS=true shows it)"

# What is under these names, however deep, is ids, names and states of ours.
_SHOWN = frozenset(
    {
        *("id", "name", "kind", "status", "decision", "ready", "finished"),
        *("searches", "sources", "findings", "products", "verdicts"),
    }
)
# Metadata of LangGraph, LangSmith and ours.
_SHOWN_PREFIXES = ("langgraph_", "ls_", "perdure_", "LANGSMITH_", "checkpoint_ns")

# A tracing service that does not answer must not keep a command that is done.
FLUSH_SECONDS_MAX = 5.0


class RunTracer(LangChainTracer):
    """LangChain's tracer, which also names the task of what runs in a branch."""

    @override
    def on_chain_start(
        self,
        serialized: dict[str, Any],
        inputs: dict[str, Any],
        *,
        run_id: UUID,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        # A router or a compiled graph may be given something else than a record.
        given = cast("Any", inputs)
        if isinstance(given, dict) and "task_id" in given:
            metadata = {**(metadata or {}), "perdure_task_id": given["task_id"]}
        return super().on_chain_start(
            serialized, inputs, run_id=run_id, metadata=metadata, **kwargs
        )


@asynccontextmanager
async def tracing(*, show_text: bool) -> AsyncGenerator[tuple[BaseCallbackHandler, ...]]:
    """Yield the callbacks that trace a graph: none unless LANGSMITH_TRACING says so.

    A graph that has them gets no tracer of LangChain's own, in LangGraph's server neither.
    """
    if not utils.tracing_is_enabled():
        yield ()
        return
    client = Client(anonymizer=None if show_text else without_text)
    try:
        yield (RunTracer(client=client),)
    finally:
        await asyncio.to_thread(client.close, FLUSH_SECONDS_MAX)


def without_text(record: dict[str, Any]) -> dict[str, Any]:
    """Return a trace's inputs, outputs, metadata or error with every text hidden that may come from a person or a document."""
    return {str(name): _shown(str(name), value) for name, value in record.items()}


def _shown(name: str, value: Any) -> Any:
    if name in _SHOWN or name.endswith("_id") or name.startswith(_SHOWN_PREFIXES):
        return value
    match value:
        case Mapping():
            return without_text(cast("dict[str, Any]", value))
        case list() | tuple():
            return [_shown(name, one) for one in cast("list[Any]", value)]
        case str() if name == "error":
            # The kind of error, as its repr begins with it; its text may quote anything.
            kind = re.match(r"\w+", value)
            return f"{kind.group() if kind else ''} {HIDDEN}".strip()
        case str():
            return HIDDEN
        case _:
            return value
