"""Runs in processes of their own that can be killed, by the hundred: a fork server.

`python -m tests.support.trials SOCKET` imports the product once and then forks one process per trial, while it has no
event loop and no connection. A trial is one connection: its first line is a Trial; the answer is lines of JSON, `{"pid"}`
at once, `{"reached": point}` for each fault point, `{"status"}` or `{"error"}` when it ended by itself, and `{"exit"}`
with the wait status. A trial that is to `warm` is done by the server itself: what a first run has to import, compile and
cache is there for all that come after it. The server ends when its standard input does.
"""

import asyncio
import gc
import json
import logging
import os
import select
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Generator
from contextlib import contextmanager, redirect_stderr, suppress
from dataclasses import asdict, dataclass, field, replace
from io import StringIO
from pathlib import Path
from typing import Any, Literal, NoReturn
from uuid import UUID

from typing_extensions import override

from graph.cli.exits import translated
from graph.runtime import Runtime, open_runtime
from graph.settings import Settings
from ledger.faults import FaultPoint
from nodes.resources import Silent
from nodes.tools.toolbox import RunToolbox
from tests.faults.seeded_bugs import seeded
from tests.support import plain_calls
from tests.support.deeds import DEEDS, Action
from tests.support.inline import Inline


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
    kill_at: int | None = None
    #: Kills itself when so many documents of its corpus are settled.
    kill_at_document: int | None = None
    #: Pages are parsed in a process of their own, as in production, and not within the trial.
    own_readers: bool = False
    #: What a person says at every review that is open, with `decide`: a Decision's fields.
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
            "home": self.home,
            "pool_size": max(4, self.branches),
        }
        return Settings.model_validate({name: value for name, value in given.items() if value})


class KillAt:
    """Tells of each fault point, and ends the process at the k-th as an outage would."""

    def __init__(self, conn: socket.socket, kill_at: int | None) -> None:
        self._conn = conn
        self._left = kill_at

    def reach(self, point: FaultPoint) -> None:
        """Count this point."""
        _tell(self._conn, reached=point)
        if self._left is not None:
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)


class KillAtDocument(Silent):
    """Ends the process when so many documents of a corpus are settled."""

    def __init__(self, kill_at: int | None) -> None:
        self._kill_at = kill_at

    @override
    def ingesting(self, done: int, total: int, uri: str) -> None:
        if done == self._kill_at:
            os.kill(os.getpid(), signal.SIGKILL)


@dataclass
class Server:
    """Forks a process for each trial and tells how it ended."""

    listener: socket.socket
    #: The processes that are at work, by what is readable when one has ended.
    children: dict[int, tuple[int, socket.socket]] = field(
        default_factory=dict[int, tuple[int, socket.socket]]
    )

    def serve(self) -> None:
        """Serve until standard input ends."""
        while True:
            waiting = [self.listener, sys.stdin, *self.children]
            readable = select.select(waiting, [], [])[0]
            if sys.stdin in readable:
                return
            for each in readable:
                if isinstance(each, int):
                    self._tell_end(each)
                else:
                    self._begin(self.listener.accept()[0])

    def _begin(self, conn: socket.socket) -> None:
        with conn.makefile("rb") as lines:
            spec = json.loads(lines.readline())
        trial = Trial(**{**spec, "corpus": tuple(spec["corpus"])})
        if trial.action == "warm":
            _tell(conn, pid=os.getpid())
            _tell(conn, exit=_perform(trial, conn))
            conn.close()
            gc.collect()
            gc.freeze()
            return
        pid = os.fork()
        if pid == 0:
            self.listener.close()
            os._exit(_perform(trial, conn))
        _tell(conn, pid=pid)
        self.children[os.pidfd_open(pid)] = (pid, conn)

    def _tell_end(self, pidfd: int) -> None:
        pid, conn = self.children.pop(pidfd)
        os.close(pidfd)
        _, status = os.waitpid(pid, 0)
        with conn, suppress(OSError):  # whoever asked may be gone
            _tell(conn, exit=status)


def main(path: str) -> None:
    """Serve trials at a socket."""
    # Whoever cuts connections knows that they are cut.
    logging.getLogger("psycopg").setLevel(logging.ERROR)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(64)
        print("ready", flush=True)
        Server(listener).serve()


def _perform(trial: Trial, conn: socket.socket) -> int:
    try:
        with seeded(trial.bug):
            status = asyncio.run(work(trial, KillAt(conn, trial.kill_at)))
    except Exception as error:  # noqa: BLE001  # whatever ended it is the trial's outcome
        trace = traceback.format_exc()
        _tell(conn, error=type(error).__name__, code=_exit_code(error), trace=trace)
        return 1
    _tell(conn, status=status)
    return 0


def _exit_code(error: Exception) -> int | None:
    """Return the code with which the command line would exit; None for an error that it does not know."""
    with redirect_stderr(StringIO()):
        try:
            _raise_translated(error)
        except SystemExit as end:
            return int(end.code or 0)
        except Exception:  # noqa: BLE001  # a defect, which ends with its traceback
            return None


def _raise_translated(error: Exception) -> NoReturn:
    with translated():
        raise error


async def work(trial: Trial, faults: KillAt) -> str:
    """Do what the trial says and return the status of its run."""
    run_id = UUID(trial.run_id)
    if trial.workflow == "plain":
        assert trial.database_url is not None
        assert trial.search_url is not None
        where = (trial.database_url, trial.search_url)
        return await plain_calls.work(*where, trial.question, trial.run_id, trial.branches)
    progress = KillAtDocument(trial.kill_at_document)
    async with open_runtime(trial.settings, progress, faults) as opened:
        runtime = opened if trial.own_readers else with_inline_readers(opened)
        return await DEEDS[trial.action](runtime, trial, run_id)


def with_inline_readers(runtime: Runtime) -> Runtime:
    """Return a runtime whose web tool reads pages within the process."""
    toolbox = runtime.resources.toolbox
    assert isinstance(toolbox, RunToolbox)
    if toolbox.web is None:
        return runtime
    toolbox = replace(toolbox, web=replace(toolbox.web, extractors=Inline(1)))
    return replace(runtime, resources=replace(runtime.resources, toolbox=toolbox))


def _tell(conn: socket.socket, **fact: object) -> None:
    conn.sendall(json.dumps(fact).encode() + b"\n")


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
    command = (sys.executable, "-m", "tests.support.trials", str(path))
    # No page here is encrypted, and reading the certificates of all authorities takes a third of a run's time.
    certificates = {"SSL_CERT_DIR": str(path.parent)}
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **certificates},
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield ForkServer(path)
        finally:
            process.stdin.close()


if __name__ == "__main__":
    main(sys.argv[1])
