"""The names of the places at which a run is checkpointed, for its records."""

from collections.abc import Mapping
from typing import Any

#: By the last step that a checkpoint holds.
_BY_STEP = {
    "plan": "plan_validated",
    "dispatch": "tasks_dispatched",
    "collect": "branch_completed",
    "compact": "before_synthesis",
    "synthesize": "draft_stored",
    "check": "report_checked",
    "revise": "report_checked",
    "intend": "before_effect",
    "publish": "output_stored",
    "search": "tool_result_persisted",
    "read": "tool_result_persisted",
    "extract": "evidence_recorded",
    "assess": "branch_assessed",
}


def boundary_of(values: Mapping[str, Any], checkpoint_ns: str) -> str:
    """Return the name of a checkpoint's boundary from its channel values; a branch's checkpoints have a namespace."""
    last: dict[str, str] = values.get("step") or {}
    step = last.get("name")
    if values.get("reviews"):
        return "before_review"
    if step == "dispatch" and not values.get("ready"):
        return "before_compaction"
    if step is None:
        return "branch_begun" if checkpoint_ns else "run_begun"
    return _BY_STEP.get(step, "decision_applied")
