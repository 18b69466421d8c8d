"""A new version of the workflow begins with its number, an upcast that changes nothing, and a test."""

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from graph.scaffolding import checkout, new_version
from graph.workflow import CURRENT
from nodes.options import BadInput

CHANGED = replace(CURRENT, released={})


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The parts of a checkout that a new version changes."""
    shutil.copytree(checkout() / "graph", tmp_path / "graph")
    return tmp_path


def test_a_new_version_loads_with_its_number_and_its_upcast(copy: Path) -> None:
    written = new_version(copy, CHANGED)
    old = CURRENT.version
    assert [str(path.relative_to(copy)) for path in written] == [
        "graph/versions.py",
        "graph/upcasts/__init__.py",
        f"graph/upcasts/v{old:04}.py",
        f"tests/migrations/test_v{old:04}.py",
    ]
    told = "from graph.workflow import CURRENT; print(CURRENT.version, sorted(CURRENT.upcasts))"
    command = [sys.executable, "-c", told]
    ended = subprocess.run(command, cwd=copy, capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == f"{old + 1} {list(range(1, old + 1))}"
    compile(written[3].read_text(), written[3].name, "exec")


def test_nothing_is_written_where_nothing_has_changed_or_twice(copy: Path) -> None:
    with pytest.raises(BadInput, match="a new version begins with a change"):
        new_version(copy)
    assert len(new_version(copy, force=True)) == 4
    with pytest.raises(BadInput, match="is not as this command knows it"):
        new_version(copy, force=True)


def test_a_version_that_was_not_released_is_changed_as_it_is(copy: Path) -> None:
    (copy / "graph" / "released" / f"{CURRENT.version:04}.json").unlink()
    with pytest.raises(BadInput, match="was not released"):
        new_version(copy, CHANGED)
