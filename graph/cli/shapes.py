"""The JSON fields of the contract: what each command's `--json` says, and nothing else."""

from collections.abc import Sequence
from typing import Any

from ledger.citations import Citation
from ledger.effects import Effect
from ledger.findings import Finding
from ledger.journal import Operation
from ledger.questions import Review
from ledger.records import CheckpointRecord
from ledger.runs import Run
from ledger.sources import Source
from ledger.tasks import Task
from ledger.workers import Worker
from nodes.decisions.kinds import KINDS

#: The kind of operation that asks a language model.
MODEL_CALL = "model"


def of_run(run: Run, worker: Worker) -> dict[str, Any]:
    """Return a row of `perdure runs`."""
    shown = run.model_dump(
        mode="json",
        include={
            "run_id",
            "question",
            "status",
            "phase",
            "workflow_version",
            "created_at",
            "updated_at",
        },
    )
    return {**shown, "worker": worker}


def of_task(task: Task) -> dict[str, Any]:
    """Return a task of `perdure show`."""
    fields = {"question", "depends_on", "status", "attempts", "reason"}
    return {"id": task.task_id, **task.model_dump(mode="json", include=fields)}


def of_finding(finding: Finding) -> dict[str, Any]:
    """Return a finding of `perdure show`."""
    fields = {"finding_id", "task_id", "kind", "claim", "verdict", "evidence_ids"}
    return finding.model_dump(mode="json", include=fields)


def of_citation(citation: Citation) -> dict[str, Any]:
    """Return a citation of `perdure show`."""
    return citation.model_dump(mode="json")


def of_source(source: Source) -> dict[str, Any]:
    """Return a row of `perdure sources`."""
    return source.model_dump(
        mode="json", exclude={"redirects", "metadata", "excluded_by", "accepted_by"}
    )


def ways_of(review: Review) -> str:
    """Return the options by which a review of its kind can be decided."""
    forms = {
        "approve": "--approve",
        "edit": "--edit [FILE]",
        "respond": "--respond TEXT",
        "reject": "--reject",
    }
    allowed = [form for choice, form in forms.items() if choice in KINDS[review.kind].allows]
    return " or ".join(allowed)


def of_effect(effect: Effect) -> dict[str, Any]:
    """Return a row of `perdure effects`."""
    fields = {"key", "kind", "mode", "target", "status", "reason", "external_id", "settlement"}
    attempts = [
        each.model_dump(mode="json", include={"number", "act", "worker", "started_at", "outcome"})
        for each in effect.attempts
    ]
    shown = effect.model_dump(mode="json", include=fields)
    return {**shown, "contract": effect.contract.kind, "attempts": attempts}


def of_operation(operation: Operation) -> dict[str, Any]:
    """Return a row of `perdure journal`."""
    shown = operation.model_dump(mode="json", exclude={"request", "attempts"})
    fields = {"number", "worker", "started_at", "ended_at", "outcome", "accepted", "reason"}
    return {
        **shown,
        "attempts": [
            {**attempt.model_dump(mode="json", include=fields), "reused": attempt.reused}
            for attempt in operation.attempts
        ],
    }


def of_record(record: CheckpointRecord) -> dict[str, Any]:
    """Return a row of `perdure history`."""
    return {**record.model_dump(mode="json"), "can_fork": record.can_fork}


def of_review(review: Review) -> dict[str, Any]:
    """Return a row of `perdure reviews`."""
    fields = {"review_id", "run_id", "kind", "status", "shown_digest", "shown", "asked_at"}
    decision = review.decision
    return {
        **review.model_dump(mode="json", include=fields),
        "decided_by": decision.decided_by if decision else None,
        "decision": decision.choice if decision else None,
    }


def of_whole_review(review: Review) -> dict[str, Any]:
    """Return one review with everything that is known of it, what an edit changes of it among that."""
    fields = {"decided_at", "votes", "due_at", "at_deadline", "missing", "applied_at"}
    decision = review.decision
    return {
        **of_review(review),
        **review.model_dump(mode="json", include=fields),
        "missing": review.missing,
        "form": KINDS[review.kind].form(review.shown),
        "comment": decision.comment if decision else None,
        "edit": decision.edit if decision else None,
        "response": decision.response if decision else None,
    }


def usage_of(operations: Sequence[Operation]) -> dict[str, Any]:
    """Return what the language-model calls of a run used; `cost_usd` is None where no attempt says its cost."""
    attempts = [
        attempt
        for operation in operations
        if operation.kind == MODEL_CALL
        for attempt in operation.attempts
    ]
    costs = [attempt.usage["cost_usd"] for attempt in attempts if "cost_usd" in attempt.usage]
    tokens = {
        name: int(sum(attempt.usage.get(name, 0) for attempt in attempts))
        for name in ("prompt_tokens", "completion_tokens", "cached_tokens")
    }
    return {"calls": len(attempts), **tokens, "cost_usd": sum(costs) if costs else None}


def usage_line(usage: dict[str, Any]) -> str:
    """Say in words what the language-model calls of a run used."""
    cost = usage["cost_usd"]
    paid = "of unknown cost" if cost is None else f"for {cost:.4f} USD"
    return (
        f"language model: {usage['calls']} calls, {usage['prompt_tokens']} tokens in ({usage['cached_tokens']} of them cached),"
        f" {usage['completion_tokens']} out, {paid}"
    )
