"""Ten edits that would mislead a run that sleeps: the gate catches each."""

from dataclasses import replace
from pathlib import Path

import pytest

from graph.replaying.all import Played, play_batch
from graph.replaying.moment import Kind
from graph.topologies import differences
from graph.workflow import CURRENT, Definition
from tests.golden import seeds
from tests.golden.gate import HISTORIES

#: Histories that between them wait at reviews, send several branches out, and publish.
SAMPLE = ("approved-archive", "waits-plan-river", "published-*", "plain-river")
COMMIT = "f1b7b52"

CAUGHT_AS: dict[str, set[Kind]] = {
    "renamed_node": {"next"},
    "dropped_review": {"review"},
    "changed_join": {"next"},
    "changed_reducer": {"state"},
    "renamed_channel": {"unreadable", "state"},
    "changed_request": {"request"},
    "changed_review": {"review", "next"},
    "edge_past_a_review": {"next"},
    "changed_effect_key": {"effect"},
}


def sample() -> list[Path]:
    folder = HISTORIES / COMMIT
    return [each for name in SAMPLE for each in sorted(folder.glob(f"{name}.json.gz"))]


async def played(server_url: str, template: str, definition: Definition) -> list[Played]:
    return await play_batch(server_url, template, sample(), definition)


async def test_the_sample_replays_unedited(server_url: str, template: str) -> None:
    told = await played(server_url, template, CURRENT)
    assert len(told) >= 4
    assert [each.as_json() for each in told if not each.ok] == []


@pytest.mark.parametrize("name", sorted(seeds.EDITS))
async def test_an_edit_of_the_graph_is_caught_by_replay(
    name: str, server_url: str, template: str
) -> None:
    told = await played(server_url, template, seeds.edited(seeds.EDITS[name]))
    different = [
        each.verdict.divergence for each in told if each.verdict and each.verdict.divergence
    ]
    assert different
    assert {each.kind for each in different} & CAUGHT_AS[name], different


async def test_an_upcast_that_loses_the_plan_is_caught_by_replay(
    server_url: str, template: str
) -> None:
    forgetful = replace(CURRENT, upcasts={**CURRENT.upcasts, 1: seeds.without_its_plan})
    files = [HISTORIES / "ee7e095" / "plain-river.json.gz"]
    (told,) = await play_batch(server_url, template, files, forgetful)
    assert told.verdict is not None
    assert told.verdict.divergence is not None
    # The tasks are sent out where the recorded run had gone on to others.
    assert told.verdict.divergence.kind in {"next", "request"}


TOPOLOGICAL = sorted(set(seeds.EDITS) - {"changed_request", "changed_review", "changed_effect_key"})


@pytest.mark.parametrize("name", TOPOLOGICAL)
def test_an_edit_of_the_topology_is_named_by_the_fingerprint(name: str) -> None:
    definition = seeds.edited(seeds.EDITS[name])
    assert definition.identity().fingerprint != CURRENT.identity().fingerprint
    assert differences(CURRENT.described(), definition.described())
