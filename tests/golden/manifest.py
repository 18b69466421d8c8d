"""The digests of released files, which nobody edits or removes: tests/golden/MANIFEST is only ever added to."""

import hashlib
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
MANIFEST = Path(__file__).parent / "MANIFEST"
#: What runs of released versions rest on.
RELEASED = (
    "tests/golden/histories/*/*.json.gz",
    "tests/golden/releases/*.tar.xz",
    "graph/upcasts/v*.py",
    "graph/released/*.json",
    "ledger/migrations/*.sql",
)


def listed(text: str | None = None) -> dict[str, str]:
    """Return the digests by path, as MANIFEST, or a text of its form, has them."""
    lines = (MANIFEST.read_text() if text is None else text).splitlines()
    pairs = (line.split("  ", 1) for line in lines)
    return {path: found for found, path in pairs}


def sha256(path: Path) -> str:
    """Return the digest of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def released(root: Path = ROOT) -> list[str]:
    """Return the paths of the files that a release seals, as they are now."""
    found = [each for pattern in RELEASED for each in root.glob(pattern)]
    return sorted(str(each.relative_to(root)) for each in found)


def problems(known: dict[str, str], root: Path = ROOT) -> list[str]:
    """Say which released files were edited or removed."""
    told: list[str] = []
    for path, digest in known.items():
        if not (root / path).exists():
            told.append(f"{path} was released and is gone")
        elif sha256(root / path) != digest:
            told.append(
                f"{path} was released and has been edited; a released file is never edited: add a new one"
            )
    return told


def seal() -> list[str]:
    """Add the digests of files that are new to MANIFEST, and return their lines; no line that is there is changed."""
    known = listed() if MANIFEST.exists() else {}
    lines = [f"{sha256(ROOT / path)}  {path}" for path in released() if path not in known]
    with MANIFEST.open("a") as file:
        file.writelines(f"{line}\n" for line in lines)
    return lines
