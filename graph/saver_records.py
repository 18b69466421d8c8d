"""The record of a checkpoint, made of what LangGraph hands to its saver; and whose checkpoint it is."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, cast
from uuid import UUID

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import Checkpoint, CheckpointMetadata

from graph.boundaries import boundary_of
from ledger.db import Ledger
from ledger.records import SCHEMA_VERSION
from nodes.resources import Workflow

#: What a checkpoint's metadata call the version of its state's form.
STATE_VERSION_KEY: Final = "perdure_state_version"

_KINDS: dict[str, type] = {
    **dict.fromkeys(("step", "tasks", "products", "finished", "effects"), dict),
    **dict.fromkeys(("ready", "reviews"), list),
    "wave": int,
    "decided": int,
}


def place(config: RunnableConfig) -> tuple[str, str, str | None]:
    """Return thread, namespace and checkpoint id of a config."""
    configurable = configurable_of(config)
    return (
        str(configurable["thread_id"]),
        configurable.get("checkpoint_ns", ""),
        configurable.get("checkpoint_id"),
    )


def config_of(thread_id: str, ns: str, checkpoint_id: str) -> RunnableConfig:
    """Return the config that names a checkpoint."""
    return {
        "configurable": {
            "thread_id": thread_id,
            "checkpoint_ns": ns,
            "checkpoint_id": checkpoint_id,
        }
    }


def run_of(thread_id: str) -> UUID | None:
    """Return the run that a thread is, None for a thread of nobody's; as `ledger.run_of` in the database."""
    try:
        run_id = UUID(thread_id)
    except ValueError:
        return None
    return run_id if str(run_id) == thread_id else None


def configurable_of(config: RunnableConfig) -> dict[str, Any]:
    """Return what a config names a checkpoint by."""
    assert "configurable" in config  # LangGraph calls a saver with nothing else
    return config["configurable"]


def record(
    ledger: Ledger,
    workflow: Workflow,
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
) -> dict[str, Any]:
    """Return the record of a checkpoint as JSON, {} for a thread that is no run."""
    thread_id, ns, parent = place(config)
    run_id = run_of(thread_id)
    if run_id is None:
        return {}
    values = _ours(checkpoint["channel_values"])
    step: dict[str, Any] = values.get("step") or {}
    version, seal = ledger.newest.get(run_id, (None, None))
    made_at = datetime.fromisoformat(checkpoint["ts"]).astimezone(UTC)
    return {
        "tenant": ledger.tenant,
        "run_id": thread_id,
        "checkpoint_ns": ns,
        "checkpoint_id": checkpoint["id"],
        "parent_checkpoint": parent,
        "schema_version": SCHEMA_VERSION,
        "workflow_version": workflow.version,
        "fingerprint": workflow.fingerprint,
        "boundary": boundary_of(values, ns),
        "phase": str(step.get("name", "begin")),
        "step": metadata.get("step", 0),
        "tasks": values.get("tasks") or {},
        "fence": ledger.held.get(run_id),
        # LangGraph's time of the checkpoint, which the seal can cover before the row is written.
        "created_at": made_at.isoformat(timespec="microseconds"),
        "ledger_version": version,
        "ledger_seal": seal,
        "summary_artifact": (values.get("products") or {}).get("summary"),
        "approval": _approval(values),
        "wave": _wave(values),
        "effects": values.get("effects") or None,
    }


def _ours(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the channels that a record is made of; another graph on this thread may mean other things by their names."""
    return {
        name: values[name] for name, kind in _KINDS.items() if isinstance(values.get(name), kind)
    }


def _approval(values: Mapping[str, Any]) -> dict[str, Any] | None:
    asked: list[Any] = values.get("reviews") or []
    # Another graph on this thread may keep other things under this name.
    ours = [cast("dict[str, Any]", each) for each in asked if isinstance(each, dict)]
    open_reviews = [{"review_id": each.get("review_id"), "kind": each.get("kind")} for each in ours]
    decided = values.get("decided", 0)
    if not open_reviews and not decided:
        return None
    return {"open": open_reviews, "decided": decided}


def _wave(values: Mapping[str, Any]) -> dict[str, Any] | None:
    out = values.get("ready")
    if not out:
        return None
    finished: dict[str, dict[str, Any]] = values.get("finished") or {}
    tasks = {name: finished.get(name, {}).get("status", "running") for name in out}
    return {"number": values.get("wave"), "tasks": tasks}
