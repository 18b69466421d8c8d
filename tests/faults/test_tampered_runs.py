"""Whatever somebody edits, exchanges, deletes or adds in any table that a resume reads is found and named.

Two runs in the middle of their work: one whose worker was killed in a branch, one that a person has decided about. Every
change of one row (two for exchanges) is made to a copy of each, and the run is resumed there: it finishes from what is
whole, with the same result, or it stops and says why; in both cases what was changed is named. `make tamper` makes all of
them; the suite every fifth.
"""

import asyncio
import os
from collections import Counter
from dataclasses import replace

from tests.faults.campaign import Campaign
from tests.faults.tampered import Scene, Verdict, judged, scene_of
from tests.support.search_server import Failure

WHOLE = "PERDURE_TEST_WHOLE"
STEP = 1 if os.environ.get(WHOLE) else 5
# As many as cores and one, which waits.
AT_ONCE = 3


async def judged_all(campaign: Campaign, server_url: str, scene: Scene) -> list[Verdict]:
    """Make every change, or every fifth."""
    free = asyncio.Semaphore(AT_ONCE)

    async def when_free(number: int) -> Verdict:
        async with free:
            return await judged(campaign, server_url, scene, scene.changes[number])

    return await asyncio.gather(*(when_free(n) for n in range(0, len(scene.changes), STEP)))


def check(verdicts: list[Verdict], scene: Scene, at_least: int) -> None:
    """Nothing that was changed is unnamed, and whatever finished came to what it would have come to."""
    counts = Counter(verdict.became for verdict in verdicts)
    print(f"{len(verdicts)} of {len(scene.changes)} changes: {dict(counts)}")
    assert len(scene.changes) >= at_least
    tried = [verdict for verdict in verdicts if verdict.became != "refused"]
    unnamed = [
        f"{each.change.name}: {each.became}, {each.told[-300:]}"
        for each in tried
        if not each.is_named()
    ]
    assert not unnamed, "\n".join(unnamed)
    wrong = {
        each.change.name: each.result
        for each in tried
        if each.became == "finished" and each.result != scene.result
    }
    assert wrong == {}
    assert counts["finished"]
    assert counts["stopped"]


async def test_no_change_of_a_run_that_was_killed_in_a_branch_is_resumed(
    campaign: Campaign, server_url: str
) -> None:
    trial, world = campaign.trial()
    gate = Failure("wait", "pages/tide-gauge-history")
    world.failures.append(gate)
    running = await campaign.forks.begin(trial)
    await asyncio.to_thread(gate.reached.wait)
    while len((await campaign.observed(trial, world)).ended) < 2:
        assert gate.reached.is_set()
    running.kill()
    assert (await running.end()).killed
    gate.release.set()
    world.failures.clear()
    async with scene_of(campaign, trial, world) as scene:
        await campaign.ledger.pool.close()
        check(await judged_all(campaign, server_url, scene), scene, 180)


async def test_no_change_of_a_run_that_was_decided_about_is_resumed(
    campaign: Campaign, server_url: str
) -> None:
    trial, world = campaign.trial(review="report")
    assert (await campaign.forks.run(trial)).status == "paused"
    assert (await campaign.forks.run(replace(trial, action="approve"))).status == "decided"
    async with scene_of(campaign, trial, world) as scene:
        await campaign.ledger.pool.close()
        check(await judged_all(campaign, server_url, scene), scene, 180)
