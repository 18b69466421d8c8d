"""Makes golden histories: plays the scenarios with the code of a commit, and records the runs with the code at hand.

    python -m tests.golden.make --commit COMMIT --work FOLDER
    python -m tests.golden.make --seal

A release adds its own: `--commit HEAD`. `--seal` writes the digests of released files that MANIFEST does not have yet; it
never changes a line of it.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

import psycopg
from pydantic import SecretStr

from graph import checkpoints
from graph.recording import record
from graph.runtime import Runtime, open_runtime
from graph.settings import Settings
from ledger import integrity
from ledger.errors import NotFound
from tests.golden import manifest
from tests.golden.scenarios import CORPORA, scenarios
from tests.support.postgres import for_database, make_cluster

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
HISTORIES = HERE / "histories"
SEAL_KEY = "golden histories are sealed with a key that everybody knows"
NAMES = UUID("0f3f3f6e-3b53-4d0a-9a52-5b4a5ef7c0de")
TABLE = """
CREATE TABLE IF NOT EXISTS reports (
    idempotency_key text PRIMARY KEY, run_id uuid NOT NULL, question text NOT NULL,
    report_artifact text NOT NULL, markdown text NOT NULL, request_digest text NOT NULL
)"""


def run(*command: str, cwd: Path = ROOT) -> str:
    """Return what a command writes to standard output."""
    return subprocess.run(command, cwd=cwd, check=True, stdout=subprocess.PIPE, text=True).stdout


def checked_out(commit: str, work: Path) -> Path:
    """Return a folder with the code of a commit and an environment of its own."""
    folder = work / commit
    if not folder.exists():
        run("git", "worktree", "add", "--detach", str(folder), commit)
    if not (folder / ".venv" / "made-in").exists():
        run("sh", ".ci/environment", cwd=folder)
    return folder


@contextmanager
def server(work: Path) -> Iterator[str]:
    """Run a PostgreSQL under the folder for as long as it is needed."""
    directory = work / "cluster"
    directory.mkdir(exist_ok=True)
    cluster = make_cluster(directory)
    asyncio.run(cluster.create())
    yield asyncio.run(cluster.start())
    asyncio.run(cluster.stop())


def database(server_url: str, commit: str) -> tuple[str, bool]:
    """Return the URL of the database of a commit's runs, and whether it is new."""
    name = f"golden_{commit}"
    with psycopg.connect(server_url, autocommit=True) as connection:
        found = connection.execute("SELECT FROM pg_database WHERE datname = %s", (name,)).fetchone()
        if found is None:
            connection.execute(f'CREATE DATABASE "{name}" TEMPLATE template0')
    url = for_database(server_url, name)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(TABLE)
    return url, found is None


def version_of(folder: Path) -> int:
    """Return the version of the workflow that a checkout has."""
    told = "from graph.versions import WORKFLOW_VERSION; print(WORKFLOW_VERSION)"
    return int(run(str(folder / ".venv/bin/python"), "-c", told, cwd=folder))


def played(commit: str, folder: Path, url: str, files: Path, *, anew: bool) -> list[dict[str, Any]]:
    """Play the scenarios of a commit, unless they were, and return them with the ids of their runs."""
    for corpus, documents in CORPORA.items():
        (files / "corpora" / corpus).mkdir(parents=True, exist_ok=True)
        for name, text in documents.items():
            (files / "corpora" / corpus / name).write_text(text, encoding="utf-8")
    (files / "published").mkdir(exist_ok=True)
    made = [
        {**each, "run_id": str(uuid5(NAMES, f"{commit} {each['name']}"))}
        for each in scenarios(version_of(folder))
    ]
    if anew:
        home = folder / "golden-home"
        environment = {
            **{name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ},
            "PERDURE_DATABASE_URL": url,
            "PERDURE_HOME": str(home),
            "PERDURE_SEAL_KEY": SEAL_KEY,
            "PERDURE_LEASE_SECONDS": "2",
            "PYTHONPATH": str(folder),
        }
        command = [
            str(folder / ".venv/bin/python"),
            "-W",
            "ignore",
            str(HERE / "driver.py"),
            str(files),
        ]
        subprocess.run(
            command, input=json.dumps(made), env=environment, cwd=folder, check=True, text=True
        )
    return made


async def adopted(runtime: Runtime, run_id: UUID) -> None:
    """Seal a run of a commit that sealed nothing, as `perdure adopt` does."""
    async with runtime.ledger.transaction(actor="golden") as tx:
        await checkpoints.adopt(tx, run_id)
        if await integrity.is_older(tx, run_id):
            await integrity.adopt_rows(tx, run_id)


async def recorded(url: str, home: Path, made: list[dict[str, Any]], into: Path) -> None:
    """Write the histories of the runs of a commit, as the code at hand reads them."""
    settings = Settings(database_url=SecretStr(url), home=home, seal_key=SecretStr(SEAL_KEY))
    async with open_runtime(settings) as runtime:
        for each in made:
            await adopted(runtime, UUID(each["run_id"]))
            try:
                history = await record(runtime, UUID(each["run_id"]))
            except NotFound as error:
                print(f"{each['name']}: {error}", file=sys.stderr)
                continue
            (into / f"{each['name']}.json.gz").write_bytes(history.packed())


def main() -> None:
    """Do what the arguments say."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--commit")
    asked.add_argument("--work", type=Path)
    asked.add_argument("--files", type=Path, default=Path("/tmp/perdure-golden"))
    asked.add_argument("--play-only", action="store_true")
    asked.add_argument("--seal", action="store_true")
    given = asked.parse_args()
    if given.commit:
        commit = run("git", "rev-parse", "--short=7", given.commit).strip()
        folder = checked_out(commit, given.work)
        with server(given.work) as server_url:
            url, anew = database(server_url, commit)
            made = played(commit, folder, url, given.files, anew=anew)
            if not given.play_only:
                (HISTORIES / commit).mkdir(parents=True, exist_ok=True)
                asyncio.run(recorded(url, given.work / "home", made, HISTORIES / commit))
    if given.seal:
        print("\n".join(manifest.seal()), file=sys.stderr)


if __name__ == "__main__":
    main()
