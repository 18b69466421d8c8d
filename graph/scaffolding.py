"""Begins a new version of the workflow in a checkout: the number, an upcast to fill in, and the test that proves it."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from graph.workflow import CURRENT, Definition
from nodes.options import BadInput

_VERSION: Final = re.compile(r"^WORKFLOW_VERSION: Final = (\d+)$", re.MULTILINE)
_IMPORT: Final = re.compile(r"^from graph\.upcasts import (.+)$", re.MULTILINE)
_CHAIN: Final = re.compile(r"(UPCASTS: .*= \{)(.*)\}", re.DOTALL)

_UPCAST: Final = '''"""From version {old} to version {new}: say in a sentence what changed, and what becomes of a run that sleeps."""

from graph.upcasts.base import Sleeping


def upcast(run: Sleeping) -> Sleeping:
    """Return a run of version {old} as one of version {new}."""
    return run.model_copy(update={{"values": dict(run.values), "next": run.next}})
'''

_TEST: Final = '''"""Runs of version {old} go on in version {new}, from every checkpoint."""

from graph.histories import History
from graph.replaying.all import play_batch
from graph.workflow import CURRENT
from tests.golden.gate import FILES, different


async def test_a_run_of_version_{old}_goes_on_from_every_checkpoint(
    server_url: str, template: str
) -> None:
    """Real runs, each put to every one of its checkpoints, brought up and played on."""
    files = [
        file
        for file in FILES
        if History.read(file.read_bytes()).header["workflow_version"] == {old}
    ]
    assert files
    assert different(await play_batch(server_url, template, files, CURRENT)) == []
'''


def checkout() -> Path:
    """Return the folder of the checkout that this code is of; raises BadInput for an installation."""
    root = Path(__file__).parent.parent
    if not ((root / ".git").exists() and (root / "tests" / "golden").is_dir()):
        raise BadInput(
            "this perdure was installed, and a new version of the workflow begins in a checkout of its repository"
        )
    return root


def new_version(root: Path, definition: Definition = CURRENT, *, force: bool = False) -> list[Path]:
    """Write what a new version of the workflow needs, and return the files that were written or changed.

    Raises BadInput where the topology is that of the released version, unless forced; where the version before has no
    released topology; and where a file that would be written is there.
    """
    old = definition.version
    released = root / "graph" / "released" / f"{old:04}.json"
    if not released.exists():
        raise BadInput(
            f"version {old} was not released: {released.name} is missing, so nobody has runs of it; change it as it is"
        )
    if definition.identity().fingerprint in definition.released.get(old, ()) and not force:
        raise BadInput(
            f"the topology is that of version {old}; a new version begins with a change of it, or with --force where only"
            " the meaning of the state changed"
        )
    changed = _changed(root, old)
    made = {
        root / "graph" / "upcasts" / f"v{old:04}.py": _UPCAST.format(old=old, new=old + 1),
        root / "tests" / "migrations" / f"test_v{old:04}.py": _TEST.format(old=old, new=old + 1),
    }
    if there := [str(path.relative_to(root)) for path in made if path.exists()]:
        raise BadInput(f"{', '.join(there)} is there already: version {old + 1} was begun before")
    for path, text in {**changed, **made}.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return [*changed, *made]


def _changed(root: Path, old: int) -> Mapping[Path, str]:
    """Return the files that change with what they hold then; raises BadInput where they are not as they were written."""
    versions = root / "graph" / "versions.py"
    chain = root / "graph" / "upcasts" / "__init__.py"
    name = f"v{old:04}"
    text, links = versions.read_text("utf-8"), chain.read_text("utf-8")
    found, imports, upcasts = _VERSION.search(text), _IMPORT.search(links), _CHAIN.search(links)
    if not (found and int(found[1]) == old and imports and upcasts):
        raise BadInput(
            f"{versions} or {chain} is not as this command knows it; change them by hand"
        )
    number = _VERSION.sub(f"WORKFLOW_VERSION: Final = {old + 1}", text)
    links = _IMPORT.sub(f"from graph.upcasts import {imports[1]}, {name}", links)
    links = _CHAIN.sub(rf"\g<1>\g<2>, {old}: {name}.upcast}}", links)
    return {versions: number, chain: links}
