"""Some cases of the crash campaign, spread over boundaries and actions; `make crash` plays all of them."""

import os
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.faults.cases import ACTIONS
from tests.faults.crash import Campaign, Tally, open_campaign, single
from tests.faults.scenarios import BY_NAME

# No multiple of the number of actions, so that all of them come in turn.
EVERY = 17


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def campaign(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Campaign]:
    """A lane for each processor."""
    async with open_campaign(tmp_path_factory.mktemp("crash"), os.cpu_count() or 1) as opened:
        yield opened


@pytest.mark.slow
@pytest.mark.parametrize("name", ["review", "two-branches"])
@pytest.mark.asyncio(loop_scope="module")
async def test_a_run_that_is_harmed_at_a_boundary_ends_like_one_that_is_not(
    campaign: Campaign, name: str
) -> None:
    base = await campaign.base(BY_NAME[name])
    assert base.facts is not None
    tally = Tally(base.case.scenario, len(base.reached))
    cases = single(base, base.reached, ACTIONS)[::EVERY]
    async for played in campaign.play(cases, base.facts):
        tally.add(played)
    print(f"\n{name}: {tally.boundaries} boundaries, {tally.cases} cases: {dict(tally.done)}")
    assert set(tally.done) == set(ACTIONS)
    assert [(str(each.case), each.problems) for each in tally.violations] == []
