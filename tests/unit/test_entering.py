"""A step is not begun with a state that is not what this version stores; what is wrong is named, never the values."""

from functools import partial
from typing import Any

import pytest

from graph.entering import entered
from graph.errors import StateInvalid
from graph.topologies import described
from graph.workflow import CURRENT
from nodes.state import AskedReview, BranchState, ResearchState

WHOLE: dict[str, Any] = {
    "question": {"text": "Why?"},
    "step": {"name": "plan"},
    "finished": {"t1": {"status": "complete", "findings": 1, "gaps": 0}},
    "problems": {},
    "effects": {},
    "ready": ["t1"],
    "wave": 1,
}
ASKED: dict[str, Any] = {"kind": "plan", "review_id": "rev_1", "summary": "s", "form": {}}


async def step(_resources: object, state: dict[str, Any]) -> dict[str, Any]:
    return state


async def test_a_whole_state_is_handed_to_the_step_as_it_is() -> None:
    assert await entered("collect", ResearchState, step)(None, WHOLE) is WHOLE
    assert await entered("review_plan", AskedReview, step)(None, ASKED) is ASKED


@pytest.mark.parametrize(
    ("schema", "state", "told"),
    [
        (ResearchState, {**WHOLE, "ready": "t1"}, "ready: Input should be a valid list"),
        (ResearchState, {**WHOLE, "wave": "1"}, "wave: Input should be a valid integer"),
        (ResearchState, {**WHOLE, "wave": True}, "wave: Input should be a valid integer"),
        (ResearchState, {**WHOLE, "question": {}}, "question.text: Field required"),
        (ResearchState, {**WHOLE, "question": "Why?"}, "question: Input should be a valid dict"),
        (ResearchState, {**WHOLE, "waves": 1}, "waves: Extra inputs are not permitted"),
        (
            ResearchState,
            {**WHOLE, "finished": {"t1": {"status": "complete", "findings": 1}}},
            "finished.t1.gaps: Field required",
        ),
        (BranchState, {"round": 1}, "task_id: Field required"),
        (AskedReview, {**ASKED, "form": None}, "form: Input should be a valid dict"),
        (AskedReview, {**ASKED, "answer": "yes"}, "answer: Extra inputs are not permitted"),
    ],
)
async def test_what_this_version_never_stores_is_refused_with_step_and_channel(
    schema: Any, state: dict[str, Any], told: str
) -> None:
    with pytest.raises(StateInvalid, match="step collect was not begun") as refused:
        await entered("collect", schema, step)(None, state)
    assert told in str(refused.value)
    assert refused.value.node == "collect"


async def test_values_from_outside_are_not_told() -> None:
    with pytest.raises(StateInvalid) as refused:
        await entered("collect", ResearchState, step)(None, {**WHOLE, "wave": "secret"})
    assert "secret" not in str(refused.value)


def test_every_step_is_entered_by_this_door() -> None:
    """Also those of the branch; a step that is added beside it would be half checked."""
    builder = CURRENT.build(None)  # type: ignore[arg-type]
    branch: Any = builder.nodes["branch"].runnable
    steps = {name: spec for name, spec in builder.nodes.items() if name != "branch"}
    for name, spec in {**steps, **branch.builder.nodes}.items():
        function: Any = spec.runnable
        assert isinstance(function.afunc, partial), name
        assert function.afunc.func.__code__.co_name == "enter", name


def test_the_door_changes_nothing_of_the_topology() -> None:
    asks = {
        name
        for name, node in described(CURRENT.build(None))["nodes"].items()  # type: ignore[arg-type]
        if node["asks"]
    }
    assert asks == {name for name in CURRENT.described()["nodes"] if name.startswith("review_")}
