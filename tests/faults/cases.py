"""The cases of the campaign: a scenario, what is done to it where, and what came of it."""

from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from typing_extensions import override

from tests.faults.gate import When
from tests.faults.oracle import Facts
from tests.faults.scripts import Scenario

Action: TypeAlias = Literal[
    "kill_before",
    "kill_after",
    "cut_before",
    "cut_after",
    "stop_before",
    "stop_after",
    "freeze",
    "freeze_after",
]
ACTIONS: tuple[Action, ...] = get_args(Action)


@dataclass(frozen=True)
class Harm:
    """What is done at which boundary."""

    label: str
    action: Action
    #: Where the boundary's transaction begins: a process is frozen there, before anything of it has been sent.
    begun: str | None = None

    @override
    def __str__(self) -> str:
        return f"{self.action} at {self.label!r}"

    @property
    def trapped(self) -> str:
        """The label at which it is done."""
        return (self.action == "freeze" and self.begun) or self.label

    @property
    def when(self) -> When:
        """With `freeze` a process has not sent what it was about to send; with `freeze_after` it does not know that it was done."""
        return "after" if self.action.endswith("_after") else "before"


@dataclass(frozen=True)
class Case:
    """A scenario and its harm; a second harm is done in the recovery from the first."""

    scenario: Scenario
    harms: tuple[Harm, ...] = ()
    bug: str | None = None

    @override
    def __str__(self) -> str:
        return f"{self.scenario.name}: {', then '.join(map(str, self.harms)) or 'no harm'}"


@dataclass
class Played:
    """What came of a case: the boundaries before the first harm and after it, and what is wrong."""

    case: Case
    facts: Facts | None
    reached: list[str]
    recovered: list[str]
    problems: list[str]
    seconds: float
    #: Harms that were done: a boundary may not be reached where branches are parallel.
    harmed: int
    #: How a frozen process ended: its exit code or its status.
    woke: str | None = None
    #: By label, where each boundary's transaction begins.
    begun: dict[str, str] = field(default_factory=dict[str, str])
