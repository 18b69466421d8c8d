"""The fork server: imports the product once and then forks one process per trial, while it has no event loop.

`python -m tests.support.fork_server SOCKET`. A trial is one connection: its first line is a Trial; the answer is lines of
JSON, `{"pid"}` at once, `{"reached": point}` for each fault point, `{"status"}` or `{"error"}` when it ended by itself, and
`{"exit"}` with the wait status. A trial that is to `warm` is done by the server itself: what a first run has to import,
compile and cache is there for all that come after it. The server ends when its standard input does.
"""

import asyncio
import gc
import json
import logging
import os
import select
import signal
import socket
import sys
import traceback
from contextlib import redirect_stderr, suppress
from dataclasses import dataclass, field
from io import StringIO
from typing import NoReturn
from uuid import UUID

from typing_extensions import override

from graph.cli.exits import translated
from graph.runtime import open_runtime
from ledger.faults import FaultPoint
from nodes.resources import Silent
from tests.faults.doors import ask_at
from tests.faults.seeded_bugs import seeded
from tests.support import plain_calls
from tests.support.deeds import DEEDS
from tests.support.inline import with_inline_readers
from tests.support.trials import Trial


class KillAt:
    """Tells of each fault point, and ends the process at the k-th (of one kind) as an outage would."""

    def __init__(self, conn: socket.socket, kill_at: int | None, kind: FaultPoint | None) -> None:
        self._conn = conn
        self._left = kill_at
        self._kind = kind

    def reach(self, point: FaultPoint) -> None:
        """Count this point."""
        _tell(self._conn, reached=point)
        if self._left is not None and self._kind in {None, point}:
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
        several = {name: tuple(spec[name]) for name in ("corpus", "publish", "notify")}
        trial = Trial(**{**spec, **several})
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
            status = asyncio.run(work(trial, KillAt(conn, trial.kill_at, trial.kill_point)))
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
    if trial.door is not None:
        ask_at(*trial.door)
    progress = KillAtDocument(trial.kill_at_document)
    async with open_runtime(trial.settings, progress, faults) as opened:
        runtime = opened if trial.own_readers else with_inline_readers(opened)
        return await DEEDS[trial.action](runtime, trial, run_id)


def _tell(conn: socket.socket, **fact: object) -> None:
    conn.sendall(json.dumps(fact).encode() + b"\n")


if __name__ == "__main__":
    main(sys.argv[1])
