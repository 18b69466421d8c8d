"""The crash campaign: every boundary of every scenario, harmed in every way, and what must be true afterwards.

`make crash`, or `python -m tests.faults.crash [--scenario NAME]… [--action NAME]… [--label LABEL] [--lanes N] [--pairs]`.
Ends with exit code 1 if anything was wrong; each violation is a line of JSON in crash-violations.jsonl, with the
scenario, the labels and the actions that do it again.
"""

import argparse
import asyncio
import json
import logging
import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic

from tests.faults.cases import ACTIONS, Action, Case, Harm, Played
from tests.faults.lane import Lane, open_lane
from tests.faults.oracle import Facts
from tests.faults.play import Play
from tests.faults.scenarios import BY_NAME, SCENARIOS
from tests.faults.scripts import Scenario
from tests.support.trials import fork_server

# The shortest ones: each of their boundaries, and then each boundary of the recovery from that.
PAIRED = ("straight", "cancel", "cancel-paused", "publish-webhook", "publish-file")
REPORT = Path("crash-violations.jsonl")
PROGRESS_EVERY = 100


@dataclass
class Tally:
    """What came of a scenario."""

    scenario: Scenario
    boundaries: int
    cases: int = 0
    missed: list[str] = field(default_factory=list[str])
    violations: list[Played] = field(default_factory=list[Played])
    #: How often each action was done.
    done: Counter[str] = field(default_factory=Counter[str])
    woke: Counter[str] = field(default_factory=Counter[str])
    #: Seconds of lanes, which work at the same time.
    lane_seconds: float = 0.0

    def add(self, played: Played) -> None:
        """Count a case."""
        self.cases += 1
        self.lane_seconds += played.seconds
        harms = played.case.harms
        if played.harmed < len(harms):
            self.missed.append(str(played.case))
        self.done.update(harm.action for harm in harms[: played.harmed])
        if played.woke is not None:
            self.woke[played.woke] += 1
        if played.problems:
            self.violations.append(played)


def tell_violation(played: Played) -> None:
    """Say what is wrong and how it is done again."""
    harms = [{"label": harm.label, "action": harm.action} for harm in played.case.harms]
    what = {"scenario": played.case.scenario.name, "harms": harms, "problems": played.problems}
    with REPORT.open("a") as file:
        file.write(json.dumps(what) + "\n")
    print(f"VIOLATION {played.case}", *played.problems, sep="\n    ", flush=True)


@dataclass
class Campaign:
    """Lanes that work cases off."""

    lanes: Sequence[Lane]

    async def base(self, scenario: Scenario) -> Played:
        """Play a scenario without harm; whatever is played after it is compared with this."""
        played = await Play(self.lanes[0], Case(scenario), None).play()
        assert not played.problems, played.problems
        return played

    async def play(self, cases: Iterable[Case], expected: Facts) -> AsyncIterator[Played]:
        """Play cases on all lanes, and yield each as it ends."""
        waiting, ended = iter(cases), asyncio.Queue[Played | None]()

        async def work(lane: Lane) -> None:
            try:
                for case in waiting:
                    await ended.put(await Play(lane, case, expected).play())
            finally:
                await ended.put(None)

        tasks = [asyncio.create_task(work(lane)) for lane in self.lanes]
        left = len(tasks)
        try:
            while left:
                if (played := await ended.get()) is None:
                    left -= 1
                else:
                    yield played
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()


def single(base: Played, labels: Sequence[str], actions: Sequence[Action]) -> list[Case]:
    """Return the cases of one harm: every label, every action; where the script itself stops, nothing else does."""
    scenario = base.case.scenario
    own = {step.dies_at for step in scenario.steps} | {step.at for step in scenario.steps}
    return [
        Case(scenario, (Harm(label, action, base.begun[label]),))
        for label in labels
        if label not in own
        for action in actions
    ]


def paired(first: Played) -> list[Case]:
    """Return the cases that are harmed once more in the recovery, at each of its boundaries."""
    return [
        replace(first.case, harms=(*first.case.harms, Harm(label, "kill_before")))
        for label in first.recovered
    ]


@asynccontextmanager
async def open_campaign(folder: Path, lanes: int) -> AsyncIterator[Campaign]:
    """Start the fork server and the lanes, and let the server have run once."""
    async with AsyncExitStack() as stack:
        forks = stack.enter_context(fork_server(folder / "forks"))
        opened = [
            await stack.enter_async_context(open_lane(forks, folder / f"lane{number}"))
            for number in range(lanes)
        ]
        trial, _ = opened[0].new_run(BY_NAME["two-branches"])
        ended = await forks.run(replace(trial, action="warm"))
        assert ended.status == "completed", ended.trace
        yield Campaign(opened)


async def work_scenario(
    campaign: Campaign, scenario: Scenario, chosen: argparse.Namespace
) -> Tally:
    """Play all cases of a scenario."""
    base = await campaign.base(scenario)
    assert base.facts is not None
    tally = Tally(scenario, len(base.reached))
    labels = [
        label
        for label in base.reached
        if chosen.label in {None, label} and re.search(chosen.where, label)
    ]
    if chosen.since:
        labels = labels[next(at for at, label in enumerate(labels) if chosen.since in label) :]
    cases = single(base, labels, chosen.action or ACTIONS)
    again: list[Case] = []
    async for played in campaign.play(cases, base.facts):
        tally.add(played)
        if played.case.harms[0].action == "kill_before":
            again += paired(played)
        tell_progress(tally, len(cases), played)
    if chosen.pairs and (chosen.scenario or scenario.name in PAIRED):
        async for played in campaign.play(again, base.facts):
            tally.add(played)
            tell_progress(tally, len(cases) + len(again), played)
    return tally


def tell_progress(tally: Tally, cases: int, played: Played) -> None:
    """Say what is wrong, and now and then how far a scenario is."""
    if played.problems:
        tell_violation(played)
    if tally.cases % PROGRESS_EVERY == 0 or tally.cases == cases:
        print(
            f"{tally.scenario.name}: {tally.cases} of {cases} cases,"
            f" {len(tally.violations)} violations",
            file=sys.stderr,
            flush=True,
        )


def table(tallies: Sequence[tuple[Tally, float]], lanes: int) -> str:
    """Return what was done, a line for each scenario."""
    columns = ("boundaries", "cases", "not reached", "violations", "seconds", "ms per case")
    widths = (11, 8, 13, 12, 9, 13)
    headings = (f"{name:>{width}}" for name, width in zip(columns, widths, strict=True))
    lines = [f"{'scenario':24}{''.join(headings)}"]
    for tally, seconds in tallies:
        lines.append(
            f"{tally.scenario.name:24}{tally.boundaries:11}{tally.cases:8}{len(tally.missed):13}"
            f"{len(tally.violations):12}{seconds:9.1f}{1000 * seconds / max(1, tally.cases):13.0f}"
        )
    counted = [tally for tally, _ in tallies]
    cases, seconds = sum(each.cases for each in counted), sum(spent for _, spent in tallies)
    lines.append(
        f"{'all':24}{sum(each.boundaries for each in counted):11}{cases:8}"
        f"{sum(len(each.missed) for each in counted):13}{sum(len(each.violations) for each in counted):12}"
        f"{seconds:9.1f}{1000 * seconds / max(1, cases):13.0f}"
    )
    done = sum((each.done for each in counted), Counter[str]())
    woke = sum((each.woke for each in counted), Counter[str]())
    lines.append(f"{lanes} lanes; harms done: {dict(done)}; frozen ones ended: {dict(woke)}")
    return "\n".join(lines)


def arguments() -> argparse.Namespace:
    """Read what is to be played."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scenario", action="append", choices=list(BY_NAME))
    parser.add_argument("--action", action="append", choices=ACTIONS)
    parser.add_argument("--label", help="only this boundary")
    parser.add_argument("--where", default="", help="only boundaries that this pattern is found in")
    parser.add_argument(
        "--since", help="only boundaries from the first on that has this in its label"
    )
    parser.add_argument("--lanes", type=int, default=(os.cpu_count() or 1) + 1)
    parser.add_argument(
        "--pairs", action="store_true", help=f"pairs of kills, of {PAIRED} at least"
    )
    return parser.parse_args()


async def main(chosen: argparse.Namespace) -> int:
    """Play what was chosen and print the table."""
    # What the observer's own connections meet while the database is stopped is no news.
    logging.getLogger("psycopg").setLevel(logging.ERROR)
    scenarios = [BY_NAME[name] for name in chosen.scenario] if chosen.scenario else SCENARIOS
    tallies: list[tuple[Tally, float]] = []
    leaks: list[str] = []
    with tempfile.TemporaryDirectory(prefix="perdure-crash-") as folder:
        async with open_campaign(Path(folder), chosen.lanes) as campaign:
            try:
                for scenario in scenarios:
                    began = monotonic()
                    tally = await work_scenario(campaign, scenario, chosen)
                    tallies.append((tally, monotonic() - began))
                    leaks += [leak for lane in campaign.lanes for leak in await lane.oracle.leaks()]
            finally:
                print(table(tallies, chosen.lanes), *leaks, sep="\n", flush=True)
    for tally, _ in tallies:
        print(*(f"not reached: {case}" for case in tally.missed), sep="\n", file=sys.stderr)
    return 1 if leaks or any(tally.violations for tally, _ in tallies) else 0


if __name__ == "__main__":
    REPORT.unlink(missing_ok=True)
    sys.exit(asyncio.run(main(arguments())))
