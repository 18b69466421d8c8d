"""Runs in processes of their own that can be killed, by the hundred: what one is to do, and how it ended.

Each is a fork of one server (tests/support/fork_server.py), which has imported the product once.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from graph.settings import Settings
from ledger.faults import FaultPoint
from tests.support.deeds import Action
from tests.support.ledgers import SEAL_KEY
from tests.support.open_web import LOOPBACK


@dataclass(frozen=True, slots=True)
class Trial:
    """One process: what it does, and at which fault point (the k-th that it reaches) it kills itself."""

    action: Action
    run_id: str
    database_url: str | None
    home: str
    question: str = ""
    search_url: str | None = None
    corpus: tuple[str, ...] = ()
    review: str = "none"
    branches: int = 4
    publish: tuple[str, ...] = ()
    notify: tuple[str, ...] = ()
    #: Options of the run besides.
    options: dict[str, Any] = field(default_factory=dict[str, Any])
    smtp_url: str | None = None
    mail_from: str | None = None
    databases: dict[str, str] = field(default_factory=dict[str, str])
    contracts: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    lease_seconds: float | None = None
    #: A door at which the process asks before it changes files below a folder: see tests/faults/doors.py.
    door: tuple[str, str] | None = None
    kill_at: int | None = None
    #: Of which kind they are that count; None counts all.
    kill_point: FaultPoint | None = None
    #: Kills itself when so many documents of its corpus are settled.
    kill_at_document: int | None = None
    #: Pages are parsed in a process of their own, as in production, and not within the trial.
    own_readers: bool = False
    #: What a person says: with `decide` at every review that is open, a Decision's fields; with `settle`, which of the
    #: effects that wait for a person have happened.
    decision: dict[str, Any] = field(default_factory=dict[str, Any])
    #: A deliberate fault in our own code, by its name in tests.faults.seeded_bugs.
    bug: str | None = None
    #: "plain" works the same question by the graph that one would write without a ledger.
    workflow: Literal["perdure", "plain"] = "perdure"

    @property
    def settings(self) -> Settings:
        """The settings of this process."""
        given = {
            "database_url": self.database_url,
            "search_url": self.search_url,
            "private_networks": [LOOPBACK],
            "home": self.home,
            "pool_size": max(4, self.branches),
            "smtp_url": self.smtp_url,
            "mail_from": self.mail_from,
            "databases": self.databases,
            "contracts": self.contracts,
            "lease_seconds": self.lease_seconds,
        }
        return Settings.model_validate({name: value for name, value in given.items() if value})


@dataclass
class Ended:
    """How a trial ended: the points that it reached in their order, and its status, its error or the signal."""

    reached: list[FaultPoint]
    status: str | None
    error: str | None
    trace: str
    killed: bool
    #: The exit code of the command line for `error`, None for one that it does not know.
    code: int | None = None

    def learn(self, fact: dict[str, Any]) -> None:
        """Take what the trial told."""
        if "reached" in fact:
            self.reached.append(FaultPoint(fact["reached"]))
        elif "exit" in fact:
            self.killed = os.WIFSIGNALED(fact["exit"])
        else:
            self.status, self.error = fact.get("status"), fact.get("error")
            self.trace, self.code = fact.get("trace", ""), fact.get("code")


@dataclass
class Running:
    """A trial under way."""

    pid: int
    _reader: asyncio.StreamReader
    _writer: asyncio.StreamWriter

    async def end(self) -> Ended:
        """Wait for its end."""
        ended = Ended([], None, None, "", killed=False)
        try:
            # Its sibling processes have the connection, too, so that it may stay open after the end.
            while (line := await self._reader.readline()) and "exit" not in (
                fact := json.loads(line)
            ):
                ended.learn(fact)
            ended.learn(fact)
        finally:
            self._writer.close()
            await self._writer.wait_closed()
        return ended

    async def reach(self, number: int) -> None:
        """Wait until it has reached so many fault points."""
        while number:
            fact = json.loads(await self._reader.readline())
            number -= "reached" in fact

    def kill(self) -> None:
        """Kill it, as an outage would."""
        os.kill(self.pid, signal.SIGKILL)


@dataclass(frozen=True)
class ForkServer:
    """The fork server as a test sees it."""

    path: Path

    async def begin(self, trial: Trial) -> Running:
        """Start a trial."""
        reader, writer = await asyncio.open_unix_connection(self.path)
        writer.write(json.dumps(asdict(trial)).encode() + b"\n")
        return Running(json.loads(await reader.readline())["pid"], reader, writer)

    async def run(self, trial: Trial) -> Ended:
        """Run a trial to its end."""
        return await (await self.begin(trial)).end()


@contextmanager
def fork_server(path: Path) -> Generator[ForkServer]:
    """Run a fork server that listens at `path`."""
    command = (sys.executable, "-m", "tests.support.fork_server", str(path))
    # No page here is encrypted, and reading the certificates of all authorities takes a third of a run's time.
    # Whoever looks at what was sealed must have the key.
    environment = {"SSL_CERT_DIR": str(path.parent), "PERDURE_SEAL_KEY": SEAL_KEY}
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **environment},
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield ForkServer(path)
        finally:
            process.stdin.close()
