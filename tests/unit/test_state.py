"""State stays plain and small, and the workflow can be told from another."""

import pytest
from langgraph.graph import END, START, StateGraph

from graph.boundaries import boundary_of
from graph.build import topology
from graph.versions import fingerprint
from nodes.assess import again
from nodes.dispatch import to_branches
from nodes.review import human_response
from nodes.state import ResearchState, keep_as_record, merge_outcomes

#: Changes with every change of nodes, edges or channels: then raise WORKFLOW_VERSION, because runs may be asleep.
RELEASED = "sha256:1f165458e36282a57b1abdcdc4eae64906962af1c35163c39394d08344e53f9a"


def test_a_typed_question_is_kept_inside_a_record() -> None:
    asked = keep_as_record(None, "Why\x00?")
    assert asked == {"text": "Why\x00?"}
    assert keep_as_record(asked, None) == asked
    assert keep_as_record(asked, {"text": "Else?"}) == {"text": "Else?"}


def test_outcomes_of_parallel_branches_join_and_are_emptied() -> None:
    one = {"a": {"status": "complete", "findings": 1, "gaps": 0}}
    two = {"b": {"status": "blocked", "findings": 0, "gaps": 1}}
    assert merge_outcomes(one, two) == one | two  # type: ignore[arg-type]
    assert merge_outcomes(one, None) == {}  # type: ignore[arg-type]


def test_a_wave_is_sent_to_one_branch_per_task_and_an_empty_one_goes_on() -> None:
    state = {"ready": ["a", "b"]}
    sends = to_branches(state)  # type: ignore[arg-type]
    assert [(send.node, send.arg) for send in sends] == [  # type: ignore[union-attr]
        ("branch", {"task_id": "a"}),
        ("branch", {"task_id": "b"}),
    ]
    assert to_branches({"ready": [], "gate": "dispatch"}) == "compact"  # type: ignore[typeddict-item]


def test_a_branch_goes_on_until_it_has_an_outcome() -> None:
    assert again({"task_id": "a", "queries": ["more"]}) == "search"
    assert (
        again({"task_id": "a", "finished": {"a": {"status": "complete", "findings": 0, "gaps": 0}}})
        == END
    )


def test_the_fingerprint_names_this_topology_and_no_other() -> None:
    def build(*nodes: str) -> StateGraph[ResearchState, None, ResearchState, ResearchState]:
        graph = StateGraph(ResearchState)
        for name in nodes:
            graph.add_node(name, lambda state: state)
            graph.add_edge(START, name)
        return graph

    assert fingerprint(topology()) == fingerprint(topology())
    assert fingerprint(build("a")) == fingerprint(build("a"))
    assert (
        len({fingerprint(build("a")), fingerprint(build("b")), fingerprint(build("a", "b"))}) == 3
    )


def test_the_topology_is_that_of_the_workflow_version() -> None:
    assert fingerprint(topology()) == RELEASED


@pytest.mark.parametrize(
    ("values", "namespace", "boundary"),
    [
        ({}, "", "run_begun"),
        ({}, "branch:1", "branch_begun"),
        ({"step": {"name": "plan"}}, "", "plan_validated"),
        ({"step": {"name": "plan"}, "reviews": [{"kind": "plan"}]}, "", "before_review"),
        ({"step": {"name": "dispatch"}, "ready": ["a"]}, "", "tasks_dispatched"),
        ({"step": {"name": "dispatch"}, "ready": []}, "", "before_compaction"),
        ({"step": {"name": "decide"}}, "", "decision_applied"),
    ],
)
def test_a_checkpoint_is_named_for_its_boundary(
    values: dict[str, object], namespace: str, boundary: str
) -> None:
    assert boundary_of(values, namespace) == boundary


@pytest.mark.parametrize(
    ("answer", "choice"),
    [
        ({"type": "accept", "args": None}, "approve"),
        ([{"type": "ignore", "args": None}], "reject"),
        ([{"type": "response", "args": "do not cover noise"}], "respond"),
        ({"type": "edit", "args": {"action": "review_plan", "args": {"tasks": []}}}, "edit"),
    ],
)
def test_what_studio_sends_is_read_as_a_decision(answer: object, choice: str) -> None:
    decision = human_response(answer)
    assert decision is not None
    assert decision.choice == choice


@pytest.mark.parametrize("answer", ["rev_1", ["rev_1"], None, {"type": "no"}, {}, []])
def test_anything_else_is_no_decision(answer: object) -> None:
    assert human_response(answer) is None
