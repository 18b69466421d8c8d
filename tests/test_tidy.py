"""The house rules that no linter knows, after TigerBeetle's tidy: sizes, names, plain state, and a README that tells all."""

import ast
import json
import re
import subprocess
import types
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import packages_distributions
from importlib.util import find_spec
from inspect import getmembers, isclass
from pathlib import Path
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import pytest
import typer.main
from typing_extensions import is_typeddict

from graph.settings import PREFIX, Settings

ROOT = Path(__file__).parent.parent
PACKAGES = ("graph", "nodes", "ledger", "tests")
FILES = sorted(
    path
    for package in PACKAGES
    for path in (ROOT / package).rglob("*")
    if path.suffix in {".py", ".sql"}
)
MODULES = [path for path in FILES if path.suffix == ".py"]

FILE_LINES_MAX = 300
FUNCTION_LINES_MAX = 70
BANNED_IN_NAMES = {
    "util",
    "utils",
    "helper",
    "helpers",
    "manager",
    "handler",
    "processor",
    "service",
    "misc",
    "common",
}

# Written apart, so that this file does not contain what it looks for.
PRIVATE_TEXT = re.compile(
    "|".join(
        re.escape("".join(parts))
        for parts in [
            ("pypi", ".org"), ("python", "hosted"), ("npm", "js."), ("deb.", "debian"), ("index", "-url"),
            ("/wo", "rk/"), ("/ro", "ot/"), ("/ho", "me/"),
        ]
    )
)  # fmt: skip

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def definitions(path: Path) -> Iterator[Definition]:
    return (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, Definition))


@pytest.mark.parametrize("path", FILES, ids=named)
def test_a_file_can_be_read_in_one_sitting(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= FILE_LINES_MAX


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_a_module_says_what_it_is_for_and_its_functions_fit_a_screen(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text())), (
        "a module opens with its job and its invariant"
    )
    functions = [one for one in definitions(path) if not isinstance(one, ast.ClassDef)]
    lengths = {one.name: (one.end_lineno or one.lineno) - one.lineno + 1 for one in functions}
    assert {name: lines for name, lines in lengths.items() if lines > FUNCTION_LINES_MAX} == {}


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_names_say_what_a_thing_does(path: Path) -> None:
    """No drawer for odds and ends: such a name promises nothing."""
    names = [path.stem, path.parent.name, *(one.name for one in definitions(path))]
    words = {
        name: set(re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower().split("_")) for name in names
    }
    assert {name for name, parts in words.items() if parts & BANNED_IN_NAMES} == set()


def state_types() -> dict[str, type]:
    """Every TypedDict of nodes/state.py: what LangGraph stores of a run."""
    members = getmembers(import_module("nodes.state"), isclass)
    return {
        name: one for name, one in members if is_typeddict(one) and one.__module__ == "nodes.state"
    }


def is_json(annotation: Any) -> bool:
    """Whether values of a type come back from JSON as they were."""
    if is_typeddict(annotation):
        return all(is_json(one) for one in get_type_hints(annotation, include_extras=True).values())
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in {Annotated, Required, NotRequired}:
        return is_json(arguments[0])
    if origin in {Union, types.UnionType, list}:
        return all(is_json(one) for one in arguments)
    if origin is Literal:
        return all(type(one) in {str, int, bool, types.NoneType} for one in arguments)
    if origin is dict:
        return arguments[0] is str and is_json(arguments[1])
    return annotation in {str, int, float, bool, None, types.NoneType, Any}


@pytest.mark.parametrize("name", sorted(state_types()))
def test_state_is_plain_json(name: str) -> None:
    """A class in the state would make its module's name persisted data; renaming it would break old runs."""
    hints = get_type_hints(state_types()[name], include_extras=True)
    assert {key: hint for key, hint in hints.items() if not is_json(hint)} == {}


@pytest.mark.parametrize(
    "annotation", [Path, tuple[int, int], set[str], dict[int, str], list[bytes], str | Path]
)
def test_the_rule_for_plain_state_refuses_what_json_would_change(annotation: Any) -> None:
    assert not is_json(annotation)


@pytest.mark.parametrize("field", sorted(Settings.model_fields))
def test_every_setting_is_explained_in_the_readme(field: str) -> None:
    assert f"`{PREFIX}{field.upper()}`" in (ROOT / "README.md").read_text()


def commands() -> list[str]:
    """The names of the commands of the command line, of subcommands with their group's."""
    if not find_spec("graph.cli"):
        return []
    command = typer.main.get_command(import_module("graph.cli.main").app)
    found: dict[str, Any] = getattr(command, "commands", {})
    return sorted(
        f"{name} {below}".strip()
        for name, one in found.items()
        for below in (getattr(one, "commands", None) or [""])
    )


@pytest.mark.parametrize("command", commands())
def test_every_command_is_explained_in_the_readme(command: str) -> None:
    assert f"perdure {command}" in (ROOT / "README.md").read_text()


def test_langgraph_json_names_what_exists() -> None:
    """The module form keeps one name for each module; the checkpointer has to be named by path."""
    config = json.loads((ROOT / "langgraph.json").read_text())
    module, _, attribute = config["graphs"]["perdure"].partition(":")
    assert hasattr(import_module(module), attribute)
    path, _, attribute = config["checkpointer"]["path"].partition(":")
    assert (ROOT / path).is_file()
    assert hasattr(
        import_module(Path(path).with_suffix("").as_posix().replace("/", ".")), attribute
    )


@pytest.mark.parametrize("package", ["graph", "nodes", "ledger"])
def test_no_other_distribution_owns_our_import_names(package: str) -> None:
    assert set(packages_distributions().get(package, [])) <= {"perdure"}


def test_no_tracked_file_names_a_registry_or_a_place_on_somebodys_machine() -> None:
    listing = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False
    ).stdout
    tracked = [ROOT / name for name in listing.decode().split("\0") if name] or FILES
    found = {
        named(path): sorted(set(PRIVATE_TEXT.findall(path.read_text(errors="replace"))))
        for path in tracked
        if path.is_file()
    }
    assert {name: texts for name, texts in found.items() if texts} == {}
