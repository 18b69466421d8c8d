"""The pure parts of verifying a run."""

from datetime import UTC, datetime
from uuid import UUID

import pytest

from ledger.evidence import Position, cut
from ledger.records import CheckpointRecord
from ledger.verification import broken_lines, miscited, misquoted, stands

REPORT = """# What is in \\[7\\]?

- The lock, \\[9\\] [1][2]

## Citations

1. “the lock”
2. “noon \\[3\\]”
"""


def test_a_report_cites_what_is_recorded_and_escaped_brackets_are_no_citations() -> None:
    assert miscited(REPORT, [1, 2]) == []


@pytest.mark.parametrize(
    ("recorded", "told"),
    [
        ([1], ["[2] is cited and not recorded"]),
        ([1, 2, 3], ["[3] is recorded and not cited", "[3] is not in the report's list"]),
    ],
)
def test_a_number_without_its_counterpart_is_told(recorded: list[int], told: list[str]) -> None:
    assert miscited(REPORT, recorded) == told


def test_a_quote_that_is_not_the_recorded_one_is_told() -> None:
    """A citation that was pointed at other evidence keeps its number."""
    assert misquoted(REPORT, {1: "the\n lock", 2: "noon [3]"}) == []
    assert misquoted(REPORT, {1: "the key", 2: "noon [3]"}) == [
        "[1] is quoted in the report otherwise than it is recorded"
    ]


def test_a_quote_stands_with_what_surrounds_it() -> None:
    text = "Ünïcode: the ferry takes the northern lock at noon, 🛶 and so on."
    quote = cut(text, UUID(int=1), Position("src", "sha256:t", 9, 51))
    assert stands(quote, text)
    assert not stands(quote, text.replace("noon", "dusk"))
    assert not stands(quote, text.replace("Ünïcode", "Unicode"))
    assert not stands(quote, f" {text}")


def test_records_of_a_run_and_its_branches_are_lines_of_their_own() -> None:
    assert broken_lines([_record("c", "b"), _record("b", "a"), _record("a", None)]) == []
    assert broken_lines([_record("x", None, "branch:1"), _record("a", None)]) == []


def test_a_missing_parent_and_a_fork_are_told() -> None:
    assert broken_lines([_record("c", "b"), _record("a", None)]) == [
        "c follows b, which is missing"
    ]
    forked = [_record("c", "a"), _record("b", "a"), _record("a", None)]
    assert broken_lines(forked) == ["c and b follow the same checkpoint"]


def _record(name: str, parent: str | None, namespace: str = "") -> CheckpointRecord:
    return CheckpointRecord(
        checkpoint_id=name,
        checkpoint_ns=namespace,
        parent_checkpoint=parent,
        schema_version=1,
        workflow_version=1,
        fingerprint="sha256:0",
        boundary="x",
        phase="x",
        step=0,
        tasks={},
        fence=1,
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
    )
