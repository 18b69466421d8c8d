"""Retries: a person wants one branch researched once more.

Its calls are made anew, because the retry's number is part of the key of its operations. What its earlier attempts
found is set aside meanwhile and never removed; the rule says whose findings stand in the end. All others' stay as they
are.
"""

from collections.abc import Collection
from datetime import datetime
from typing import Literal, TypeAlias
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from ledger import audit, findings
from ledger.db import Transaction
from ledger.sql import load

_SQL = load("retries")
_REQUEST, _REOPEN, _SET_ASIDE = _SQL["RequestRetry"], _SQL["ReopenTask"], _SQL["SetAside"]
_NOT_APPLIED, _APPLY, _LIST = _SQL["NotApplied"], _SQL["ApplyRetry"], _SQL["ListRetries"]
_OPEN, _SETTLE, _FINDINGS = _SQL["OpenRetry"], _SQL["SettleRetry"], _SQL["FindingsOfRetry"]
_STAND, _UNDECIDED, _DECIDE = _SQL["Stand"], _SQL["UndecidedRetries"], _SQL["DecideRetries"]

#: Whose findings stand: of the first attempt that found something, of the latest that did, or whose a person says.
Rule: TypeAlias = Literal["first", "latest", "review"]


class Retry(BaseModel):
    """One retry of one task; `checkpoint_id` is the checkpoint that it began from, None until it has begun."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    task_id: str
    number: int
    rule: Rule
    requested_at: datetime
    checkpoint_id: str | None
    settled: Rule | None


async def request(tx: Transaction, run_id: UUID, task_id: str, rule: Rule) -> int:
    """Ask for a retry and return its number; raises IllegalTransition for a task that has not ended."""
    number: int = (await tx.one(_REQUEST, run_id=run_id, task_id=task_id, rule=rule))["number"]
    await tx.one(_REOPEN, run_id=run_id, task_id=task_id, number=number)
    await tx.run(_SET_ASIDE, run_id=run_id, task_id=task_id, mark=findings.set_aside_by(number))
    await audit.append(
        tx, run_id, "retry_requested", {"task": task_id, "number": number, "rule": rule}
    )
    return number


async def not_applied(tx: Transaction, run_id: UUID) -> list[tuple[str, int]]:
    """Return the retries (task, number) that the graph was not sent back for: whoever asked for them died over it."""
    return [(row["task_id"], row["number"]) for row in await tx.many(_NOT_APPLIED, run_id=run_id)]


async def applied(
    tx: Transaction, run_id: UUID, asked: Collection[tuple[str, int]], checkpoint_id: str
) -> None:
    """Say that the graph was sent back for these retries by this checkpoint."""
    for task_id, number in asked:
        await tx.run(
            _APPLY, run_id=run_id, task_id=task_id, number=number, checkpoint_id=checkpoint_id
        )


async def settle(tx: Transaction, run_id: UUID, task_id: str, *, found: bool) -> Rule | None:
    """Let the findings stand that the rule of this task's open retry names; None where there is no open retry.

    `found` is whether the retry came to anything: one that did not leaves the earlier findings standing, whatever the
    rule.
    """
    row = await tx.maybe(_OPEN, run_id=run_id, task_id=task_id)
    if row is None:
        return None
    number, rule = row["number"], row["rule"]
    mark = findings.set_aside_by(number)
    rows = await tx.many(_FINDINGS, run_id=run_id, task_id=task_id, mark=mark)
    before = {row["finding_id"] for row in rows if row["before"]}
    again = {row["finding_id"] for row in rows if row["again"]}
    settled: Rule = _settled(rule, before, again, found=found)
    if settled != "latest":
        for name in sorted(before - again):
            await tx.run(_STAND, run_id=run_id, finding_id=name)
    if settled == "first":
        await findings.supersede(tx, run_id, sorted(again - before), "first attempt")
    if settled == "review":
        await findings.flag(tx, run_id, sorted(before ^ again))
    await tx.run(_SETTLE, run_id=run_id, task_id=task_id, number=number, settled=settled)
    return settled


def _settled(rule: Rule, before: set[str], again: set[str], *, found: bool) -> Rule:
    if not found:
        return "first"
    # With nothing to choose between, nobody has to choose.
    return rule if before and before != again else "latest"


async def decided(tx: Transaction, run_id: UUID, task_id: str) -> None:
    """Say that a person has seen what the retries of a task came to, and left out what should not stand."""
    await tx.run(_DECIDE, run_id=run_id, task_id=task_id)


async def undecided(tx: Transaction, run_id: UUID) -> list[str]:
    """Return the tasks of which a person decides whose findings stand."""
    return [row["task_id"] for row in await tx.many(_UNDECIDED, run_id=run_id)]


async def newest_first(tx: Transaction, run_id: UUID) -> list[Retry]:
    """Return the retries of a run."""
    return [Retry(**row) for row in await tx.many(_LIST, run_id=run_id)]
