"""Sending a graph back to where tasks are sent out, so that branches that a person wants anew are researched again.

A new checkpoint follows the newest: nothing that was stored is changed. What comes after the branches (synthesis, checks,
reviews) is worked again, because it rests on what they find.
"""

from collections.abc import Sequence
from typing import Any

from graph.runtime import Runtime
from graph.threads import run_config
from ledger import retries
from ledger.runs import Run
from nodes.options import RunOptions


async def rewind(runtime: Runtime, run: Run, asked: Sequence[tuple[str, int]]) -> None:
    """Let the graph go on with `dispatch`, and say for which retries; done twice it is done once."""
    graph = runtime.compiled()
    config = run_config(run.run_id, RunOptions.model_validate(run.options))
    names = [f"{task_id}/{number}" for task_id, number in asked]
    state = await graph.aget_state(config)
    head = state.config.get("configurable", {}).get("checkpoint_id")
    if (state.values.get("step") or {}).get("retries") != names or head is None:
        values: dict[str, Any] = {
            "finished": None,
            "ready": [],
            "reviews": [],
            "problems": None,
            "revision": [],
            "step": {"name": "collect", "retries": names},
        }
        # As if the last wave had just been collected: what follows is the next wave.
        moved = await graph.aupdate_state(config, values, as_node="collect")
        head = moved.get("configurable", {})["checkpoint_id"]
    async with runtime.ledger.transaction(run.run_id) as tx:
        await retries.applied(tx, run.run_id, asked, str(head))
