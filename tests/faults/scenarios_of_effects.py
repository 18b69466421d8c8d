"""Scenarios with consequences: one for each way in which a target can keep its promise, and a person where none does."""

from tests.faults.places import LEASE_SECONDS
from tests.faults.scripts import WORK, Scenario, Step, decide

_STORED = "langgraph store_checkpoint #3"

CONSEQUENCES: tuple[Scenario, ...] = (
    Scenario("publish-webhook", (WORK,), publish=("keyed",)),
    Scenario("publish-mute-webhook", (WORK,), publish=("mute",)),
    Scenario("publish-queryable", (WORK,), publish=("queryable",), lease_seconds=LEASE_SECONDS),
    Scenario("publish-file", (WORK,), publish=("file",)),
    Scenario("publish-table", (WORK,), publish=("table",)),
    Scenario("publish-other-table", (WORK,), publish=("other",), lease_seconds=LEASE_SECONDS),
    Scenario("publish-mail", (WORK,), publish=("mail",)),
    Scenario("publish-opaque-webhook", (WORK,), publish=("opaque",)),
    Scenario("publish-all", (WORK,), publish=("mail", "mute", "file")),
    Scenario(
        "notice",
        (WORK, Step("relay", "relayed")),
        notify=("queryable",),
        lease_seconds=LEASE_SECONDS,
    ),
    Scenario(
        # A relay that looks while the checkpoint that asks is not stored yet finds nothing to tell.
        "notice-of-review",
        (
            Step("go", "paused", at=_STORED, meanwhile=Step("relay_once", "looked")),
            Step("relay", "relayed"),
            decide("approve"),
            WORK,
            Step("relay", "relayed"),
        ),
        review="plan",
        notify=("mute",),
        lease_seconds=LEASE_SECONDS,
    ),
    Scenario(
        "effect-settled",
        (Step("go", "blocked"), Step("settle", "settled", {"happened": []}), WORK),
        publish=("opaque",),
        hooks_failing=1,
    ),
)
