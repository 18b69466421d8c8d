"""Another version of perdure, installed in an environment of its own: an earlier release, or this code with a change."""

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.commands import Ended, end

ROOT = Path(__file__).parents[2]
#: The release before this code's: its packages as they landed.
RELEASE = ROOT / "tests/golden/releases/0002-f1b7b52.tar.xz"
PACKAGES = ("graph", "nodes", "ledger")
_MAIN = "from graph.cli.main import main; main()"


@dataclass(frozen=True)
class Installed:
    """An environment with a version in it; what it runs has this process's variables."""

    python: Path

    def start(self, *arguments: str, **options: Any) -> "subprocess.Popen[bytes]":
        """Begin its command `perdure`."""
        return self.begin("-c", _MAIN, *arguments, **options)

    def begin(self, *arguments: str, **options: Any) -> "subprocess.Popen[bytes]":
        """Begin its Python."""
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}
        # -P: the folder that we are in is this checkout.
        return subprocess.Popen([str(self.python), "-P", *arguments], **{**pipes, **options})

    def run(self, *arguments: str) -> Ended:
        """Run its command `perdure` to its end."""
        return end(self.start(*arguments))


def installed_release(folder: Path) -> Installed:
    """Install the release before this code's."""
    with tarfile.open(RELEASE) as archive:
        archive.extractall(_packages(folder), filter="data")
    return _environment(folder)


def installed_change(folder: Path, edits: Sequence[tuple[str, str, str]]) -> Installed:
    """Install this code with changes: a file, what stands in it, what stands there instead."""
    packages = _packages(folder)
    for name in PACKAGES:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, packages / name, ignore=ignored)
    for name, before, after in edits:
        text = (packages / name).read_text(encoding="utf-8")
        assert before in text, f"{name} has no {before!r}"
        (packages / name).write_text(text.replace(before, after), encoding="utf-8")
    return _environment(folder)


def _packages(folder: Path) -> Path:
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    return folder / "lib" / version / "site-packages"


def _environment(folder: Path) -> Installed:
    """Make the environment around the packages; what they need is taken from the one that the tests run in."""
    made = [sys.executable, "-m", "venv", "--without-pip", str(folder)]
    subprocess.run(made, check=True, env={**os.environ})
    # A path alone: that environment's own .pth files, which lead to this checkout, are not read.
    (_packages(folder) / "needs.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return Installed(folder / "bin" / "python")
