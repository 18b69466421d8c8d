"""Scenarios in which a run sleeps while the workflow is changed: begun by this version, gone on with by a later one."""

from tests.faults.scripts import ASK, TWO, Scenario, Step, decide

VERSIONS: tuple[Scenario, ...] = (
    Scenario(
        "migrated-while-reviewing",
        (ASK, Step("upgrade", "upgraded"), decide("approve"), Step("go_later", "completed")),
        review="plan",
    ),
    Scenario(
        "migrated-in-a-wave",
        (Step("go_later", "completed", dies_at="http pages #1"),),
        question=TWO,
    ),
)
