"""Plays scenarios with the code of the environment that runs this, of whatever commit: `python driver.py FOLDER < scenarios`.

Each attempt is a process of its own, so that one can be killed at a boundary as it would be; the next goes on with the run.
It uses nothing but what every commit since the first release has.
"""

import asyncio
import json
import os
import signal
import sys
import traceback
from collections import Counter
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from uuid import UUID

from graph import runs
from graph.runtime import open_runtime
from graph.settings import load_settings
from ledger import reviews
from nodes.options import RunOptions

ATTEMPTS_MAX = 4
DECISIONS_MAX = 12
# Where all commits have it.
_DECISION: Any = vars(reviews)["Decision"]


class Killer:
    """Ends this process as the kernel would, at the n-th time that a fault point is reached."""

    def __init__(self, point: str | None = None, number: int = 0) -> None:
        self.point, self.number, self.seen = point, number, Counter[str]()

    def reach(self, point: Any) -> None:
        """Count, and end."""
        self.seen[str(point)] += 1
        if str(point) == self.point and self.seen[self.point] == self.number:
            os.kill(os.getpid(), signal.SIGKILL)


def edit_of(kind: str, shown: Any) -> Any:
    """Return an edit of what a review shows that changes something, None where there is nothing to change."""
    if kind == "plan":
        return {"tasks": shown["tasks"][:-1]} if len(shown["tasks"]) > 1 else None
    claims = shown.get("claims") or []
    return {"omit": [claims[-1]["id"]]} if len(claims) > 1 else None


def decision_of(kind: str, choice: str, shown: Any) -> dict[str, Any]:
    """Return what a person says of a review."""
    match choice:
        case "edit" if (edit := edit_of(kind, shown)) is not None:
            return {"choice": "edit", "edit": edit}
        case "rewrite":
            return {
                "choice": "edit",
                "edit": {"text": shown["report"] + "\n\nRead by the editor.\n"},
            }
        case "respond":
            return {"choice": "respond", "response": "What happens when it is warmer than usual?"}
        case "reject":
            return {"choice": "reject", "comment": "Ask for one thing only."}
        case _:
            return {"choice": "approve"}


async def attempt(scenario: dict[str, Any], folder: Path, number: int) -> None:
    """Start the run, or go on with it, until it is finished or waits for what nobody will say."""
    kill = scenario.get("kill") if number == 0 else None
    run_id = UUID(scenario["run_id"])
    given: dict[str, Any] = {"faults": Killer(*kill) if kill else Killer()}
    async with open_runtime(load_settings(), **given) as runtime:
        if number == 0:
            options = RunOptions.model_validate(options_of(scenario, folder))
            outcome = await runs.start_run(runtime, scenario["question"], options, run_id)
        else:
            outcome = await runs.resume_run(runtime, run_id)
        if scenario.get("retry") and outcome.reviews and find_spec("graph.control"):
            control = import_module("graph.control")
            outcome = await control.retry_run(
                runtime, run_id, await first_task(runtime, run_id), "latest"
            )
        left = list(scenario.get("decisions", []))
        for _ in range(DECISIONS_MAX):
            if not outcome.reviews or outcome.reviews[0].kind == scenario.get("stop_at"):
                return
            await decide(runtime, outcome.reviews[0], left)
            outcome = await runs.resume_run(runtime, run_id)


async def decide(runtime: Any, asked: Any, left: list[list[str]]) -> None:
    """Decide a review as the scenario says, once; else approve it, as many people as it needs."""
    choice = next((each for each in left if each[0] == asked.kind), None)
    if choice:
        left.remove(choice)
    said = decision_of(asked.kind, choice[1] if choice else "approve", asked.shown)
    for person in ("ada", "grace")[: getattr(asked, "persons", 1)]:
        decision = _DECISION.model_validate({"decided_by": person, **said})
        await runs.decide(runtime, asked.review_id, decision)


async def first_task(runtime: Any, run_id: UUID) -> str:
    """Return the first task of the plan."""
    from ledger import tasks  # noqa: PLC0415  # of the commit that is played

    async with runtime.ledger.transaction() as tx:
        return (await tasks.everything(tx, run_id))[0].task_id


def options_of(scenario: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return the options of a run, without what its commit does not know."""
    targets = {
        "file": f"file:{folder}/published/{scenario['run_id']}.md",
        "postgres": "postgres:reports",
    }
    options: dict[str, Any] = {
        "corpus": (str(folder / "corpora" / scenario["corpus"]),),
        "review": scenario.get("review", "none"),
        "publish": tuple(targets[each] for each in scenario.get("publish", [])),
        "two_persons": tuple(scenario.get("two_persons", [])),
    }
    return {name: value for name, value in options.items() if name in RunOptions.model_fields}


def ended(scenario: dict[str, Any], folder: Path, number: int) -> int:
    """Return how an attempt ended, for this process to end so: nothing of the parent's may run in it."""
    try:
        asyncio.run(attempt(scenario, folder, number))
    # Whatever the code of that commit raises, the next attempt meets or mends.
    except BaseException:  # noqa: BLE001
        traceback.print_exc()
        return 1
    return 0


def play(scenario: dict[str, Any], folder: Path) -> str:
    """Play a scenario in as many processes as it takes, and say how each ended."""
    ends: list[str] = []
    for number in range(ATTEMPTS_MAX):
        if (child := os.fork()) == 0:
            os._exit(ended(scenario, folder, number))
        _, status = os.waitpid(child, 0)
        ends.append(str(os.waitstatus_to_exitcode(status)))
        if ends[-1] == "0":
            break
    return " ".join(ends)


def main() -> None:
    """Play what standard input says, one after the other."""
    folder = Path(sys.argv[1])
    for scenario in json.load(sys.stdin):
        print(f"{scenario['name']}: {play(scenario, folder)}", flush=True)


if __name__ == "__main__":
    main()
