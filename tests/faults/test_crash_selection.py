"""Some cases of the crash campaign, spread over boundaries and actions; `make crash` plays all of them."""

import os
import re
from collections.abc import AsyncIterator, Sequence

import pytest
import pytest_asyncio

from tests.faults.cases import ACTIONS, Case
from tests.faults.crash import Campaign, Tally, open_campaign, single
from tests.faults.scenarios import BY_NAME
from tests.faults.scenarios_of_effects import CONSEQUENCES
from tests.faults.scenarios_of_reviews import REVIEWS

# No multiple of the number of actions, so that all of them come in turn.
EVERY = 17
# Of the others a few cases where they differ from the rest: where something is decided, and done outside.
CASES_EACH = 4
_DECIDED = r"effects|http hooks|^mail|^file|^other|reviews"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def campaign(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Campaign]:
    """A lane for each processor."""
    async with open_campaign(tmp_path_factory.mktemp("crash"), os.cpu_count() or 1) as opened:
        yield opened


async def played(campaign: Campaign, name: str, where: str, every: int | None) -> Tally:
    """Play every so many of the cases of a scenario, or a few where that is not said."""
    base = await campaign.base(BY_NAME[name])
    assert base.facts is not None
    tally = Tally(base.case.scenario, len(base.reached))
    labels = [label for label in base.reached if re.search(where, label)]
    async for each in campaign.play(_some(single(base, labels, ACTIONS), every), base.facts):
        tally.add(each)
    print(f"\n{name}: {tally.boundaries} boundaries, {tally.cases} cases: {dict(tally.done)}")
    return tally


def _some(cases: Sequence[Case], every: int | None) -> Sequence[Case]:
    if every is not None:
        return cases[::every]
    step = max(1, len(cases) // CASES_EACH)
    # An odd step meets every action in turn, as there are eight.
    return cases[:: step + 1 - step % 2][:CASES_EACH]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["review", "two-branches"])
@pytest.mark.asyncio(loop_scope="module")
async def test_a_run_that_is_harmed_at_a_boundary_ends_like_one_that_is_not(
    campaign: Campaign, name: str
) -> None:
    tally = await played(campaign, name, "", EVERY)
    assert set(tally.done) == set(ACTIONS)
    assert [(str(each.case), each.problems) for each in tally.violations] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", [scenario.name for scenario in (*CONSEQUENCES, *REVIEWS)])
@pytest.mark.asyncio(loop_scope="module")
async def test_what_is_done_outside_and_what_is_decided_is_done_once_whatever_happens(
    campaign: Campaign, name: str
) -> None:
    tally = await played(campaign, name, _DECIDED, None)
    assert tally.cases
    assert [(str(each.case), each.problems) for each in tally.violations] == []
