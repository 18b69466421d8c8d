"""Other code than this: a copy of the packages, to be changed and run in processes of its own."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
GOES_ON = Path(__file__).parent / "goes_on.py"


def copied(folder: Path) -> Path:
    """Copy the packages into a folder and return it."""
    for name in ("graph", "nodes", "ledger"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def run_by(folder: Path, *command: str, **environment: str) -> str:
    """Run Python with the code of a copy, and return what it prints; fails with what it says where it fails."""
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
