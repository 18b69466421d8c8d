"""The gate: what was released stays as it was, and the topology changes with its version only; the halves replay."""

import subprocess
from pathlib import Path

from graph.histories import History
from graph.topologies import differences
from graph.versions import WORKFLOW_VERSION
from graph.workflow import CURRENT
from tests.golden import manifest
from tests.golden.gate import COMMITS, FILES


def test_there_are_a_hundred_histories_of_at_least_three_earlier_commits() -> None:
    assert len(FILES) >= 100
    assert len(COMMITS) >= 4


def test_no_released_file_was_edited_or_removed() -> None:
    assert manifest.problems(manifest.listed()) == []


def test_every_golden_history_is_sealed() -> None:
    known = manifest.listed()
    assert [
        file for file in manifest.released() if file.startswith("tests/") and file not in known
    ] == []


def test_an_edited_and_a_removed_file_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "edited.sql").write_text("SELECT 2;\n")
    known = {"edited.sql": "0" * 64, "gone.sql": "1" * 64}
    told = manifest.problems(known, tmp_path)
    assert ["edited" in each for each in told] == [True, False]
    assert "gone.sql was released and is gone" in told


def test_the_manifest_was_only_ever_added_to() -> None:
    """Each committed form of it is the beginning of what follows: a line that was changed shows in the history."""
    forms = committed_forms()
    now = manifest.MANIFEST.read_text().splitlines()
    for form in forms:
        assert set(form) <= set(now), "a line of MANIFEST was changed or removed"


def committed_forms() -> list[list[str]]:
    """Every form of the manifest that main had; none where there is no git, as in an unpacked archive.

    What a branch sealed that main had not yet was not released.
    """
    path = str(manifest.MANIFEST.relative_to(manifest.ROOT))
    found = git("log", "--first-parent", "--format=%H", "--", path)
    return [git("show", f"{commit}:{path}").splitlines() for commit in found.split()]


def git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=manifest.ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout if done.returncode == 0 else ""


def test_the_topology_has_not_changed_without_a_new_version() -> None:
    """Where it has: raise WORKFLOW_VERSION and write an upcast (`perdure new-version`); what differs is named."""
    headers = [History.read(file.read_bytes()).header for file in FILES]
    released = [
        header["topology"]
        for header in headers
        if header["workflow_version"] == WORKFLOW_VERSION and header["topology"]
    ]
    assert {tuple(differences(topology, CURRENT.described())) for topology in released} <= {()}
