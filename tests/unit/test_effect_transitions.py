"""The changes of an effect's status are the same in the table of transitions, the statements, the migration and the README."""

import re
from pathlib import Path
from typing import get_args

import pytest

from ledger.contracts import Act, ContractKind, Outcome
from ledger.effects import TRANSITIONS, Mode, Status

ROOT = Path(__file__).parents[2]
STATEMENTS = (ROOT / "ledger/queries/effects.sql").read_text()
MIGRATION = (ROOT / "ledger/migrations/0006_effects.sql").read_text()
README = (ROOT / "README.md").read_text()

ALL = {(left, reached) for left, reaches in TRANSITIONS.items() for reached in reaches}
OF_EFFECTS = {
    name: text
    for name, text in re.findall(
        r"^-- name: (\w+) :\w+\n(.*?)(?=^-- name:|\Z)", STATEMENTS, re.DOTALL | re.MULTILINE
    )
    if "UPDATE ledger.effects" in text
}


def said(text: str) -> set[tuple[str, str]]:
    """Return what the comments of a statement say that it changes."""
    return set(re.findall(r"^-- (\w+) -> (\w+)$", text, re.MULTILINE))


def test_every_status_has_its_transitions() -> None:
    assert set(TRANSITIONS) == set(get_args(Status))


def test_the_statements_make_the_transitions_of_the_table_and_no_other() -> None:
    assert set().union(*map(said, OF_EFFECTS.values())) == ALL


@pytest.mark.parametrize("name", sorted(OF_EFFECTS))
def test_a_statement_does_what_its_comments_say(name: str) -> None:
    """It leaves what its WHERE names, and comes to what its SET names."""
    assignments, _, guard = OF_EFFECTS[name].partition(" WHERE ")
    reached = re.findall(r"\bstatus = '(\w+)'", assignments)
    left = set(re.findall(r"'(\w+)'", " ".join(re.findall(r"status (?:=|IN) (.+)", guard))))
    changes = {(each, to) for to in reached for each in left if each != to}
    assert left, "the status that it leaves is named"
    assert said(OF_EFFECTS[name]) == changes


def test_the_migration_says_the_same() -> None:
    comment = re.search(r"((?:    -- .*->.*\n)+)    status ", MIGRATION)
    assert comment
    parts = re.sub(r"\s*-- ", " ", comment[1]).strip().split(";")
    lines = [part.strip().partition(" -> ") for part in parts]
    found = {(left, each.strip()) for left, _, reaches in lines for each in reaches.split("|")}
    assert found == ALL


@pytest.mark.parametrize(
    ("column", "names"),
    [
        ("status", get_args(Status)),
        ("mode", get_args(Mode)),
        ("contract_kind", get_args(ContractKind)),
        ("act", get_args(Act)),
        ("outcome", get_args(Outcome)),
    ],
)
def test_the_table_takes_the_names_that_the_code_has(column: str, names: tuple[str, ...]) -> None:
    checked = re.search(rf"CHECK \({column} IN \((.*?)\)\)", MIGRATION)
    assert checked
    assert set(re.findall(r"'(\w+)'", checked[1])) == set(names)


def test_the_chart_of_the_readme_says_the_same() -> None:
    chart = re.search(r"```mermaid\nstateDiagram-v2\n(.*?)```", README, re.DOTALL)
    assert chart
    assert set(re.findall(r"^  (\w+) --> (\w+)", chart[1], re.MULTILINE)) == ALL


@pytest.mark.parametrize("kind", get_args(ContractKind))
def test_the_readme_says_what_each_contract_guarantees(kind: str) -> None:
    assert re.search(rf"^\| {kind} \|", README, re.MULTILINE)
