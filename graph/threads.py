"""LangGraph's name for a run: a run is a thread."""

from uuid import UUID

from langchain_core.runnables import RunnableConfig

from nodes.options import RunOptions

# Supersteps of the longest run that a plan allows, many times over: an endless loop ends.
RECURSION_MAX = 2_000


def run_config(run_id: UUID, options: RunOptions) -> RunnableConfig:
    """Return LangGraph's config of a run.

    Strict resume refuses an answer to a question that is not open; the metadata go to traces, ids only.
    """
    return {
        "configurable": {"thread_id": str(run_id), "__pregel_strict_resume": True},
        "metadata": {"perdure_run_id": str(run_id)},
        "max_concurrency": options.branches,
        "recursion_limit": RECURSION_MAX,
        "run_name": "perdure",
    }
