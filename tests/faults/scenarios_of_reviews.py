"""Scenarios with people: one for each kind of review and for what can be decided there."""

from tests.faults.scripts import ASK, WORK, Scenario, decide
from tests.support.pages import Pages

_DISAGREEING: Pages = {
    "seawall": (
        "Seawall",
        ("The seawall of Ostby was built from granite blocks of nine tons each, and it stands.",),
    ),
    "harbour": (
        "Harbour",
        ("The seawall of Ostby was built from granite blocks of seven tons each, and it stands.",),
    ),
}

REVIEWS: tuple[Scenario, ...] = (
    Scenario(
        "plan-rejected",
        (
            ASK,
            decide("reject", response="When was the lantern bought?"),
            ASK,
            decide("approve"),
            WORK,
        ),
        review="plan",
    ),
    Scenario("source-excluded", (ASK, decide("edit", edit="omit source"), WORK), review="sources"),
    Scenario(
        "conflict",
        (ASK, decide("edit", edit="let one stand"), WORK),
        review="conflict",
        pages=_DISAGREEING,
    ),
    Scenario(
        "sensitive",
        (ASK, decide("approve"), WORK),
        publish=("mute",),
        options={"sensitive": [{"name": "stone", "pattern": "granite"}]},
    ),
    Scenario(
        "report-edited",
        (ASK, decide("edit", edit="add words"), ASK, decide("approve"), WORK),
        review="report",
    ),
    Scenario("effect-released", (ASK, decide("approve"), WORK), review="effect", publish=("mute",)),
    Scenario(
        "two-persons",
        (ASK, decide("approve"), decide("approve", decided_by="bob"), WORK),
        review="report",
        options={"two_persons": ["report"]},
    ),
)
