"""The branch: one task, researched in rounds of search, read, extract, assess.

A subgraph, so that LangGraph Studio can step through it. Reviews never stand here: in a subgraph a renamed node would
skip them.
"""

from functools import partial
from typing import Any

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from graph.entering import entered
from nodes.assess import again, assess
from nodes.extract import extract
from nodes.options import RunOptions
from nodes.read import read
from nodes.resources import Resources
from nodes.search import search
from nodes.state import BranchInput, BranchOutput, BranchState


def build_branch(resources: Resources) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Return the subgraph of one task."""
    branch = StateGraph(
        BranchState, RunOptions, input_schema=BranchInput, output_schema=BranchOutput
    )
    branch.add_node("search", partial(entered("search", BranchState, search), resources))
    branch.add_node("read", partial(entered("read", BranchState, read), resources))
    branch.add_node("extract", partial(entered("extract", BranchState, extract), resources))
    branch.add_node("assess", partial(entered("assess", BranchState, assess), resources))
    branch.add_edge(START, "search")
    branch.add_edge("search", "read")
    branch.add_edge("read", "extract")
    branch.add_edge("extract", "assess")
    branch.add_conditional_edges("assess", again, ["search", END])
    return branch.compile()
