"""What the campaign lets happen: each scenario is a short script of what processes and people do to one run.

The worlds are tiny, one search and one page for a task, so that every boundary can be harmed in every way.
"""

from tests.faults.places import LEASE_SECONDS
from tests.faults.scenarios_of_effects import CONSEQUENCES
from tests.faults.scenarios_of_reviews import REVIEWS
from tests.faults.scenarios_of_versions import VERSIONS
from tests.faults.scripts import ASK, ONE, TWO, WORK, Scenario, Step

_FIRST_PAGE = "http pages #1"

SCENARIOS: tuple[Scenario, ...] = (
    Scenario("straight", (WORK,)),
    Scenario(
        "review",
        (ASK, Step("decide", "decided", {"choice": "approve"}), WORK),
        review="report",
    ),
    Scenario(
        "reject",
        (ASK, Step("decide", "decided", {"choice": "reject"}), Step("go", "cancelled")),
        review="report",
    ),
    Scenario("tried-again", (WORK,), failing=1),
    Scenario("two-branches", (WORK,), question=TWO),
    Scenario(
        "two-waves",
        (
            ASK,
            Step(
                "decide",
                "decided",
                {
                    "choice": "edit",
                    "edit": [
                        {"id": "t8", "question": ONE},
                        {
                            "id": "t9",
                            "question": "When was the lantern bought?",
                            "depends_on": ["t8"],
                        },
                    ],
                },
            ),
            WORK,
        ),
        review="plan",
    ),
    Scenario(
        "retry",
        (
            ASK,
            Step("retry", "paused"),
            Step("decide", "decided", {"choice": "approve"}),
            WORK,
        ),
        review="report",
    ),
    Scenario("fork", (WORK, Step("fork", "completed"))),
    Scenario("takeover", (Step("go", "completed", dies_at=_FIRST_PAGE),)),
    Scenario(
        "restart-while-deciding",
        (ASK, Step("restart"), Step("decide", "decided", {"choice": "approve"}), WORK),
        review="plan",
    ),
    Scenario(
        "cancel",
        (
            Step(
                "go",
                "cancelled",
                at=_FIRST_PAGE,
                meanwhile=Step("cancel_unless_done", "cancelled"),
            ),
        ),
    ),
    Scenario(
        "cancel-paused",
        (ASK, Step("cancel_unless_done", "cancelled"), Step("go", "cancelled")),
        review="plan",
    ),
    *CONSEQUENCES,
    *REVIEWS,
    *VERSIONS,
)
#: Played only where they are named: they take their time.
SLOW: tuple[Scenario, ...] = (
    Scenario(
        "publish-slowly",
        (WORK,),
        publish=("queryable",),
        request_seconds=30.0,
        lease_seconds=LEASE_SECONDS,
    ),
    # No sign of life is due before its end, so that nothing but the send itself can ask whether it may.
    Scenario("publish-unhurried", (WORK,), publish=("opaque",), lease_seconds=3600.0),
)
BY_NAME = {scenario.name: scenario for scenario in (*SCENARIOS, *SLOW)}
