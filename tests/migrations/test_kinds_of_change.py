"""Every kind of change, tried on a run that slept at a checkpoint: it goes on correctly, or is refused with the reason.

In the suite each kind is tried where it misleads most; `make changes` tries each at every checkpoint and prints the table.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import pytest
from typing_extensions import override

from tests.migrations.cases import Case, continued, refused
from tests.migrations.conftest import WHOLE
from tests.migrations.kinds import KINDS, Kind, unchanged
from tests.migrations.stops import Stop, Stopped


@dataclass
class Table:
    """What became of all cases, by kind and by whether there was a version."""

    rows: dict[str, dict[str, Counter[str]]] = field(default_factory=dict[str, dict[str, Counter[str]]])  # fmt: skip

    def add(self, kind: Kind, way: str, cases: list[Case]) -> None:
        """Count cases."""
        self.rows.setdefault(kind.name, {})[way] = Counter(each.became for each in cases)

    @override
    def __str__(self) -> str:
        headings = (
            "without a new version",
            "with one and its upcast",
            "with one that does nothing",
        )
        lines = [f"{'kind of change':38}" + "".join(f"{each:32}" for each in headings)]
        for name, ways in self.rows.items():
            told = (
                ", ".join(f"{number} {became}" for became, number in ways.get(way, {}).items())
                for way in ("without", "with", "forgotten")
            )
            lines.append(f"{name:38}" + "".join(f"{each:32}" for each in told))
        return "\n".join(lines)


@pytest.fixture(scope="module")
def table() -> Iterator[Table]:
    made = Table()
    yield made
    print(f"\n{made}")


def chosen(stopped: Stopped, kind: Kind) -> list[Stop]:
    """Return the stops to try: all, or the last of those that say most."""
    if WHOLE:
        return stopped.stops
    named = [stop for stop in stopped.stops if stop.name == kind.telling]
    assert named, f"no stop is called {kind.telling}"
    return named[-1:]


def wrong(cases: list[Case]) -> list[str]:
    """Return all problems, and print them: an assertion shows only the first."""
    told = [
        f"{each.stop.number} {each.stop.name}: {problem}"
        for each in cases
        for problem in each.problems
    ]
    print(*told, sep="\n")
    return told


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
async def test_a_change_without_a_version_is_refused_and_named_and_nothing_is_done(
    stopped: Stopped, kind: Kind, server_url: str, table: Table
) -> None:
    cases = [await refused(stopped, stop, kind, server_url) for stop in chosen(stopped, kind)]
    table.add(kind, "without", cases)
    assert wrong(cases) == []


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
async def test_a_change_with_a_version_and_its_upcast_is_gone_on_with_correctly(
    stopped: Stopped, kind: Kind, server_url: str, table: Table
) -> None:
    """The same citations and effects, each review decided once, no call made again, and what is new runs once."""
    cases = [await continued(stopped, stop, kind, server_url) for stop in chosen(stopped, kind)]
    table.add(kind, "with", cases)
    assert wrong(cases) == []


@pytest.mark.parametrize(
    "kind", [each for each in KINDS if each.upcast is not unchanged], ids=lambda kind: kind.name
)
async def test_an_upcast_that_forgets_its_change_misleads_nobody(
    stopped: Stopped, kind: Kind, server_url: str, table: Table
) -> None:
    """The run is refused with nothing done, or it did not matter there."""
    careless = replace(kind, upcast=unchanged, runs={})
    cases = [await continued(stopped, stop, careless, server_url) for stop in chosen(stopped, kind)]
    table.add(kind, "forgotten", cases)
    assert {each.became for each in cases} <= {"refused", "completed"}
    assert wrong(cases) == []
