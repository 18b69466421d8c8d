"""Withdrawing findings, and having what rested on them looked at anew."""

from collections.abc import Collection, Iterable, Sequence

from ledger import findings, retries, tasks
from ledger.tasks import Task
from nodes.decisions.base import Applying, Way

_ENDED = frozenset({"complete", "blocked", "retryable"})


async def withdraw(applying: Applying, names: Sequence[str]) -> set[str]:
    """Set aside findings, those that rest on named sources, and what was said of them; returns the tasks left with none."""
    tx, run_id, by = applying.tx, applying.run_id, applying.review.review_id
    before = await findings.standing(tx, run_id)
    gone = {*names, *await findings.resting_on(tx, run_id, names)}
    about = {each.finding_id for each in before if gone & set(each.about)}
    await findings.supersede(tx, run_id, sorted(gone | about), by)
    had = {each.task_id for each in before if each.kind == "claim"}
    kept = {each.task_id for each in before if each.kind == "claim" and each.finding_id not in gone}
    return had - kept


async def look_again(applying: Applying, emptied: Collection[str]) -> None:
    """Have the tasks researched anew that depend, at whatever distance, on one that lost all that it had found."""
    tx, run_id = applying.tx, applying.run_id
    planned = await tasks.everything(tx, run_id)
    asked: list[tuple[str, int]] = []
    for task in depending_on(emptied, planned):
        if task.status in _ENDED:
            number = await retries.request(tx, run_id, task.task_id, "latest")
            asked.append((task.task_id, number))
    # The graph is on its way to them: nothing has to be sent back.
    await retries.applied(tx, run_id, asked, applying.checkpoint_id)


def depending_on(emptied: Iterable[str], planned: Sequence[Task]) -> list[Task]:
    """Return the tasks that wait for one of these, or for one that does."""
    reached = set(emptied)
    while found := {task.task_id for task in planned if reached & set(task.depends_on)} - reached:
        reached |= found
    return [task for task in planned if task.task_id in reached - set(emptied)]


async def way(applying: Applying) -> Way:
    """Return where a withdrawal leads: to the tasks that are to be researched anew, or on."""
    waiting = await tasks.ready(applying.tx, applying.run_id, 1)
    return Way.DISPATCH if waiting else Way.ON
