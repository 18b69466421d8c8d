"""What a scenario of the campaign is made of: processes and people, one step after another, and the world around them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from tests.faults.places import REQUEST_SECONDS, Place
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
    pages: Pages = field(default_factory=lambda: PAGES)
    #: Options of the run besides.
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    #: For how long a request may last.
    request_seconds: float = REQUEST_SECONDS
    #: The lease of its workers, None for what is set by default. Short where it is waited out.
    lease_seconds: float | None = None
    publish: tuple[Place, ...] = ()
    notify: tuple[Place, ...] = ()


WORK = Step("go", "completed")
ASK = Step("go", "paused")


def decide(choice: str, **said: Any) -> Step:
    """Return the step of a person who decides whatever is open; an edit may be one by name, of EDITS in tests/support/deeds.py."""
    return Step("decide", "decided", {"choice": choice, **said})
