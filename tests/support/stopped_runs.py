"""Runs of the command line that are met in the middle of a branch, and what the ledger says of them meanwhile."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg.rows import dict_row

from tests.support.commands import perdure, start
from tests.support.slow_search import SlowSearch, slow_search

QUESTION = "Which lock does the ferry take?"
DOCUMENT = (
    "# Ferries\n\nThe ferry takes the northern lock at noon.\n\nBarges wait below the weir.\n"
)
# Short, so that a test need not wait; long enough for a busy machine to renew it in time.
LEASE_SECONDS = 3
ASKED_SECONDS_MAX = 120


@dataclass
class StoppedRun:
    """A run by a process of its own, whose branch waits for a search to be answered."""

    run_id: str
    process: "subprocess.Popen[bytes]"
    search: SlowSearch
    database_url: str

    def wait_until_asked(self) -> None:
        """Return once the branch waits for its answer."""
        assert self.search.asked.wait(ASKED_SECONDS_MAX)

    def signal(self, number: signal.Signals) -> None:
        """Send the worker a signal."""
        self.process.send_signal(number)

    def freeze(self) -> None:
        """Stop the worker as a suspended laptop does; returns when it stands still."""
        self.signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WNOWAIT)

    def lease(self) -> dict[str, Any]:
        """Return the lease, with `alive`: whether it has not run out."""
        query = (
            "SELECT *, expires_at > clock_timestamp() AS alive FROM ledger.leases WHERE run_id = %s"
        )
        with psycopg.connect(self.database_url, row_factory=dict_row) as connection:
            row = connection.execute(query, (self.run_id,)).fetchone()
        assert row is not None
        return row

    def belong_to_another_workflow(self) -> None:
        """Let the run be of a workflow that nobody here knows."""
        with psycopg.connect(self.database_url) as connection:
            connection.execute(
                "UPDATE ledger.runs SET fingerprint = 'other' WHERE run_id = %s", (self.run_id,)
            )

    def shown(self) -> dict[str, Any]:
        """Return its row of `perdure runs`."""
        (row,) = [one for one in perdure("runs", "--json").json if one["run_id"] == self.run_id]
        shown: dict[str, Any] = row
        return shown


@contextmanager
def stopped_run(patch: pytest.MonkeyPatch, database_url: str, folder: Path) -> Iterator[StoppedRun]:
    """Begin a run over one document and a search that waits for `search.released`; its worker is killed at the end."""
    (folder / "corpus").mkdir()
    (folder / "corpus" / "ferries.md").write_text(DOCUMENT)
    patch.setenv("PERDURE_DATABASE_URL", database_url)
    patch.setenv("PERDURE_HOME", str(folder / "home"))
    patch.setenv("PERDURE_LEASE_SECONDS", str(LEASE_SECONDS))
    name = str(uuid4())
    with slow_search() as search:
        patch.setenv("PERDURE_SEARCH_URL", search.url)
        process = start("run", QUESTION, "--corpus", str(folder / "corpus"), "--run-id", name)
        try:
            yield StoppedRun(name, process, search, database_url)
        finally:
            process.kill()
            process.communicate()
