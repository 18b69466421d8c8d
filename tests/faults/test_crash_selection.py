"""Some cases of the crash campaign, spread over boundaries and actions; `make crash` plays all of them."""

import os
import re
from collections.abc import AsyncIterator, Sequence
from itertools import cycle

import pytest
import pytest_asyncio

from tests.faults.cases import ACTIONS, Case, Played
from tests.faults.crash import Campaign, Tally, open_campaign, single
from tests.faults.scenarios import BY_NAME
from tests.faults.scenarios_of_effects import CONSEQUENCES
from tests.faults.scenarios_of_reviews import REVIEWS

# No multiple of the number of actions, so that all of them come in turn.
EVERY = 17
# Of the others a few cases where they differ from the rest: where something is decided, and done outside.
CASES_EACH = 5
# From one action to the next: a kill before, a cut after, a freeze, …
STRIDE = 3
_DECIDED = r"effects|http hooks|^mail|^file|^other|reviews"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def campaign(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Campaign]:
    """A lane for each processor."""
    async with open_campaign(tmp_path_factory.mktemp("crash"), os.cpu_count() or 1) as opened:
        yield opened


async def played(campaign: Campaign, base: Played, cases: Sequence[Case]) -> Tally:
    """Play cases of a scenario, and say how many of which."""
    assert base.facts is not None
    tally = Tally(base.case.scenario, len(base.reached))
    async for each in campaign.play(cases, base.facts):
        tally.add(each)
    name = tally.scenario.name
    print(f"\n{name}: {tally.boundaries} boundaries, {tally.cases} cases: {dict(tally.done)}")
    return tally


def a_few(base: Played) -> list[Case]:
    """Return a few cases where something is decided and done outside, each boundary with another action."""
    labels = [label for label in base.reached if re.search(_DECIDED, label)]
    chosen = labels[:: max(1, len(labels) // CASES_EACH)][:CASES_EACH]
    actions = cycle(ACTIONS[::STRIDE] + ACTIONS[1::STRIDE] + ACTIONS[2::STRIDE])
    return [case for label in chosen for case in single(base, [label], [next(actions)])]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["review", "two-branches"])
@pytest.mark.asyncio(loop_scope="module")
async def test_a_run_that_is_harmed_at_a_boundary_ends_like_one_that_is_not(
    campaign: Campaign, name: str
) -> None:
    base = await campaign.base(BY_NAME[name])
    tally = await played(campaign, base, single(base, base.reached, ACTIONS)[::EVERY])
    assert set(tally.done) == set(ACTIONS)
    assert [(str(each.case), each.problems) for each in tally.violations] == []


@pytest.mark.slow
@pytest.mark.asyncio(loop_scope="module")
async def test_a_fork_whose_worker_is_harmed_between_its_rows_and_its_checkpoint_is_finished(
    campaign: Campaign,
) -> None:
    base = await campaign.base(BY_NAME["fork"])
    (rows,) = [number for number, label in enumerate(base.reached) if "+forks+" in label]
    afterwards = [action for action in ACTIONS if action.endswith("_after")]
    tally = await played(campaign, base, single(base, [base.reached[rows]], afterwards))
    assert tally.missed == []
    assert [(str(each.case), each.problems) for each in tally.violations] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", [scenario.name for scenario in (*CONSEQUENCES, *REVIEWS)])
@pytest.mark.asyncio(loop_scope="module")
async def test_what_is_done_outside_and_what_is_decided_is_done_once_whatever_happens(
    campaign: Campaign, name: str
) -> None:
    base = await campaign.base(BY_NAME[name])
    tally = await played(campaign, base, a_few(base))
    assert tally.cases
    assert [(str(each.case), each.problems) for each in tally.violations] == []
