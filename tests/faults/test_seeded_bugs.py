"""A test of the test: a campaign that finds nothing has to find what was put there."""

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import cast

import pytest
import pytest_asyncio

from tests.faults.cases import Action, Case, Harm, Played
from tests.faults.crash import Campaign, open_campaign
from tests.faults.play import Play
from tests.faults.scenarios import BY_NAME
from tests.faults.seeded_bugs import BUGS
from tests.faults.seeding import Bug


@dataclass
class Bases:
    """A lane, and each scenario as it is played without harm and without bug."""

    campaign: Campaign
    played: dict[str, Played] = field(default_factory=dict[str, Played])

    async def of(self, name: str) -> Played:
        """Return how a scenario ends that nothing happens to."""
        if name not in self.played:
            self.played[name] = await self.campaign.base(BY_NAME[name])
        return self.played[name]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def bases(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Bases]:
    """One lane for all."""
    async with open_campaign(tmp_path_factory.mktemp("bugs"), 1) as campaign:
        yield Bases(campaign)


def cases(name: str, bug: Bug, base: Played) -> list[Case]:
    """Return the cases that should notice a bug."""
    scenario = BY_NAME[bug.scenario]
    if bug.action is None:
        return [Case(scenario, (), name)]
    labels = [label for label in base.reached if re.search(bug.where, label)]
    return [
        Case(scenario, (Harm(label, cast("Action", bug.action), base.begun[label]),), name)
        for label in labels[: bug.cases_max]
    ]


@pytest.mark.parametrize("name", BUGS)
@pytest.mark.asyncio(loop_scope="module")
async def test_a_seeded_bug_is_caught(bases: Bases, name: str) -> None:
    bug = BUGS[name]
    base = await bases.of(bug.scenario)
    found: list[str] = []
    for case in cases(name, bug, base):
        played = await Play(bases.campaign.lanes[0], case, base.facts).play()
        found += [f"{case}: {problem}" for problem in played.problems]
        if found:
            break
    print(f"\n{name}: {found[0][:300] if found else 'nothing was noticed'}")
    assert found
