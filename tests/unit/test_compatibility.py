"""Every verdict on what this code may do with a run, from its stamp alone; and what was released stays as it was."""

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langgraph.graph import END, START, StateGraph

from graph.compatibility import Compatible, Migratable, Newer, Same, Unknown, judge, supported
from graph.upcasts.base import Sleeping
from graph.versions import RELEASES, WORKFLOW_VERSION
from graph.workflow import CURRENT, Definition
from ledger.canonical import canonical, digest
from ledger.stamps import Stamp
from nodes.state import ResearchState

FIRST_OF_1 = "sha256:d8145154a3285894fbdaaeb6d4e8d4c360f7dfe140c09201d94c592f591ec3fd"
FIRST_OF_2 = "sha256:2eb6f8cd48b61005375d2d2444d3559a05df30557fffef662b53ee0da0e1bef9"
#: Never edited: runs may be asleep that bear what stands in them. A new version adds its line.
FILES = {
    "0001.json": "6b82d602422a7e1ca759441dc007f8cd282a06242e5917fe817808d1a59da011",
    "0002.json": "d11b780f1cf8386df9d5c570cdcfdd5b66b3e001d004c981f12a117619847996",
}


def chain(*nodes: str) -> Any:
    """Return what builds a graph of these nodes, one after the other."""

    def build(_resources: object) -> StateGraph[Any, Any, Any, Any]:
        graph = StateGraph(ResearchState)
        for name in nodes:
            graph.add_node(name, lambda state: state)
        for before, after in zip((START, *nodes), (*nodes, END), strict=True):
            graph.add_edge(before, after)
        return graph

    return build


def unchanged(run: Sleeping) -> Sleeping:
    return run


OLD = Definition(1, chain("a", "b"))
NEW = Definition(
    2, chain("a", "c"), {1: unchanged}, released={1: frozenset({OLD.stamp.fingerprint})}
)


def test_the_same_workflow_goes_on() -> None:
    assert judge(NEW.stamp, NEW) == Same()


def test_a_change_that_was_proved_harmless_goes_on_with_its_reason() -> None:
    new = replace(NEW, upcasts={}, compatible={OLD.stamp.fingerprint: "b was never reached"})
    assert judge(OLD.stamp, new) == Compatible("b was never reached")


def test_an_older_version_is_brought_here_step_by_step() -> None:
    assert judge(OLD.stamp, NEW) == Migratable((2,))
    further = Definition(4, chain("d"), dict.fromkeys((1, 2, 3), unchanged), released=NEW.released)
    assert judge(OLD.stamp, further) == Migratable((2, 3, 4))


@pytest.mark.parametrize("lost", [1, 2, 3])
def test_a_gap_in_the_upcasts_leads_nowhere(lost: int) -> None:
    steps = {version: unchanged for version in (1, 2, 3) if version != lost}
    verdict = judge(OLD.stamp, Definition(4, chain("d"), steps, released=NEW.released))
    assert isinstance(verdict, Unknown)


def test_a_topology_that_its_version_never_had_is_not_migrated() -> None:
    """The number alone is no proof: somebody edited the workflow and raised nothing."""
    edited = Definition(1, chain("a", "x"))
    verdict = judge(edited.stamp, NEW, edited.described())
    assert isinstance(verdict, Unknown)
    assert {"node x is gone", "node c is new"} < set(verdict.differences)


def test_a_newer_version_is_none_of_ours_whatever_else_is_known_of_it() -> None:
    """Even its topology being the same says nothing of what its steps mean."""
    assert judge(Stamp(3, NEW.stamp.fingerprint), NEW) == Newer(3)
    harmless = replace(NEW, compatible={"sha256:x": "harmless"})
    assert judge(Stamp(3, "sha256:x"), harmless) == Newer(3)


def test_a_version_that_changed_no_edge_is_another_all_the_same() -> None:
    """A review that means something else now leaves the topology as it was."""
    new = replace(NEW, build=OLD.build)
    assert judge(OLD.stamp, new) == Migratable((2,))
    assert judge(OLD.stamp, replace(new, upcasts={})) == Unknown(
        ("nobody here knows the topology " + OLD.stamp.fingerprint,)
    )
    assert judge(OLD.stamp, replace(new, upcasts={}), OLD.described()) == Unknown(
        ("no upcast leads on from version 1",)
    )


def test_what_nobody_described_is_named_by_its_fingerprint() -> None:
    assert judge(Stamp(2, "sha256:x"), NEW) == Unknown(("nobody here knows the topology sha256:x",))


def test_a_worker_supports_what_it_may_go_on_with_and_nothing_else() -> None:
    known = replace(NEW, compatible={"sha256:x": "harmless"})
    harmless = {Stamp(1, "sha256:x"), Stamp(2, "sha256:x")}
    assert supported(known, migrating=False) == {NEW.stamp, *harmless}
    assert supported(known, migrating=True) == {NEW.stamp, OLD.stamp, *harmless}
    assert supported(known, migrating=True, versions=[1]) == {OLD.stamp, Stamp(1, "sha256:x")}


def test_runs_of_this_version_go_on_under_both_forms_of_its_fingerprint() -> None:
    assert judge(Stamp(2, FIRST_OF_2), CURRENT) == Compatible(CURRENT.compatible[FIRST_OF_2])
    assert FIRST_OF_1 in CURRENT.released[1]


def test_how_version_1_differs_is_known_without_its_code() -> None:
    verdict = judge(Stamp(1, FIRST_OF_1), replace(CURRENT, upcasts={}))
    assert isinstance(verdict, Unknown)
    assert "node revise is new" in verdict.differences


def test_released_files_are_never_edited_and_say_what_they_are() -> None:
    folder = Path(__file__).parents[2] / "graph" / "released"
    found = {each.name: hashlib.sha256(each.read_bytes()).hexdigest() for each in folder.iterdir()}
    assert found == FILES
    assert [each.version for each in RELEASES] == list(range(1, WORKFLOW_VERSION + 1))
    for release in RELEASES:
        assert digest(canonical(release.topology)) == release.fingerprint


def test_the_current_topology_is_the_newest_that_was_released() -> None:
    assert CURRENT.stamp == (RELEASES[-1].version, RELEASES[-1].fingerprint)
    assert RELEASES[-1].topology == CURRENT.described()
