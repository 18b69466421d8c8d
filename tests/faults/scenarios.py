"""What the campaign lets happen: each scenario is a short script of what processes and people do to one run.

The worlds are tiny, one search and one page for a task, so that every boundary can be harmed in every way.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from tests.faults.places import Place
from tests.support.deeds import Action
from tests.support.pages import Pages

Deed: TypeAlias = Literal["restart"]

PAGES: Pages = {
    "seawall": (
        "Seawall",
        (
            "The seawall of Ostby was built between 1868 and 1874 from granite blocks of nine tons each.",
        ),
    ),
    "lantern": (
        "Lantern",
        ("The lantern of Ostby was bought in 1902, and its keeper lit it by hand every evening.",),
    ),
}
ONE = "When was the seawall built?"
TWO = "When was the seawall built, and when was the lantern bought?"


@dataclass(frozen=True)
class Step:
    """One process, or "restart" for the database, and how the run stands when it is done.

    At the label `dies_at` the process is killed; at the label `at` it stands still until another has done `meanwhile`.
    """

    do: Action | Deed
    ends: str = ""
    decision: Mapping[str, Any] = field(default_factory=dict[str, Any])
    dies_at: str | None = None
    at: str | None = None
    meanwhile: "Step | None" = None


@dataclass(frozen=True)
class Scenario:
    """A script and the world in which it is played; `failing` searches, and webhooks, are out of order at first."""

    name: str
    steps: tuple[Step, ...]
    question: str = ONE
    review: str = "none"
    failing: int = 0
    hooks_failing: int = 0
    publish: tuple[Place, ...] = ()
    notify: tuple[Place, ...] = ()

    @property
    def waits_out(self) -> bool:
        """Whether it waits until a lease and a request are surely over: then these are short."""
        return bool(self.notify) or not {"queryable", "other"}.isdisjoint(self.publish)


_WORK = Step("go", "completed")
_ASK = Step("go", "paused")
_FIRST_PAGE = "http pages #1"

#: One for each way in which a target can keep its promise, and a person who settles what none can.
CONSEQUENCES: tuple[Scenario, ...] = (
    Scenario("publish-webhook", (_WORK,), publish=("keyed",)),
    Scenario("publish-mute-webhook", (_WORK,), publish=("mute",)),
    Scenario("publish-queryable", (_WORK,), publish=("queryable",)),
    Scenario("publish-file", (_WORK,), publish=("file",)),
    Scenario("publish-table", (_WORK,), publish=("table",)),
    Scenario("publish-other-table", (_WORK,), publish=("other",)),
    Scenario("publish-mail", (_WORK,), publish=("mail",)),
    Scenario("publish-opaque-webhook", (_WORK,), publish=("opaque",)),
    Scenario("publish-all", (_WORK,), publish=("mail", "mute", "file")),
    Scenario("notice", (_WORK, Step("relay", "relayed")), notify=("queryable",)),
    Scenario(
        "effect-settled",
        (
            Step("go", "blocked"),
            Step("settle", "settled", {"happened": []}),
            _WORK,
        ),
        publish=("opaque",),
        hooks_failing=1,
    ),
)

SCENARIOS: tuple[Scenario, ...] = (
    Scenario("straight", (_WORK,)),
    Scenario(
        "review",
        (_ASK, Step("decide", "decided", {"choice": "approve"}), _WORK),
        review="report",
    ),
    Scenario(
        "reject",
        (_ASK, Step("decide", "decided", {"choice": "reject"}), Step("go", "cancelled")),
        review="report",
    ),
    Scenario("tried-again", (_WORK,), failing=1),
    Scenario("two-branches", (_WORK,), question=TWO),
    Scenario(
        "two-waves",
        (
            _ASK,
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
            _WORK,
        ),
        review="plan",
    ),
    Scenario(
        "retry",
        (
            _ASK,
            Step("retry", "paused"),
            Step("decide", "decided", {"choice": "approve"}),
            _WORK,
        ),
        review="report",
    ),
    Scenario("fork", (_WORK, Step("fork", "completed"))),
    Scenario("takeover", (Step("go", "completed", dies_at=_FIRST_PAGE),)),
    Scenario(
        "restart-while-deciding",
        (_ASK, Step("restart"), Step("decide", "decided", {"choice": "approve"}), _WORK),
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
        (_ASK, Step("cancel_unless_done", "cancelled"), Step("go", "cancelled")),
        review="plan",
    ),
    *CONSEQUENCES,
)
BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}
