"""Plays many histories at once: one PostgreSQL of its own for the command, one scratch database for each process.

No database that anybody uses is touched, and nothing is left behind.
"""

import asyncio
import multiprocessing
import os
import tempfile
from collections.abc import AsyncGenerator, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

from psycopg.sql import SQL, Identifier

from graph.cluster import Cluster
from graph.histories import History, HistoryUnreadable
from graph.migrate import migrate
from graph.opening import connect
from graph.replaying.histories import Verdict, replay
from graph.replaying.stage import open_player
from graph.workflow import CURRENT, Definition
from nodes.options import BadInput

# Nothing in it outlives the command.
_SETTINGS: Final = {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off"}
_TEMPLATE: Final = "replay_template"
ENDING: Final = ".json.gz"


@dataclass(frozen=True, slots=True)
class Played:
    """What came of one file: a verdict, or why it is no history."""

    file: str
    verdict: Verdict | None
    unreadable: str | None = None

    @property
    def ok(self) -> bool:
        """Whether the code at hand does what was recorded."""
        return self.verdict is not None and self.verdict.ok

    def as_json(self) -> dict[str, Any]:
        """Return it as `perdure replay --json` prints it."""
        if self.verdict is not None:
            return {"file": self.file, **self.verdict.as_json()}
        return {"file": self.file, "ok": False, "unreadable": self.unreadable}


def files_of(given: Iterable[Path]) -> list[Path]:
    """Return the files that are meant, those of folders in the order of their names; raises BadInput."""
    found: list[Path] = []
    for path in given:
        inside = sorted(path.rglob(f"*{ENDING}")) if path.is_dir() else [path]
        if not inside or not path.exists():
            raise BadInput(
                f"{path} holds no history; `perdure record RUN --to FILE{ENDING}` writes one"
            )
        found += inside
    return list(dict.fromkeys(found))


def play_files(files: Sequence[Path], jobs: int, definition: Definition = CURRENT) -> list[Played]:
    """Play histories with so many processes; raises EmbeddedPostgresFailed, DatabaseUnavailable, OSError."""
    return asyncio.run(_play(files, min(jobs, len(files)), definition))


async def _play(files: Sequence[Path], jobs: int, definition: Definition) -> list[Played]:
    async with scratch_server() as server_url:
        await made_database(server_url, _TEMPLATE, "template0")
        await migrate(of_database(server_url, _TEMPLATE))
        if jobs <= 1:
            return await play_batch(server_url, _TEMPLATE, files, definition)
        # One process plays each n-th: those of one folder are of like length.
        batches = [list(files[number::jobs]) for number in range(jobs)]
        work = partial(_in_process, server_url)
        with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
            loop = asyncio.get_running_loop()
            told = await asyncio.gather(
                *(loop.run_in_executor(pool, work, each) for each in batches)
            )
    order = {str(file): number for number, file in enumerate(files)}
    return sorted((each for some in told for each in some), key=lambda each: order[each.file])


def _in_process(server_url: str, files: Sequence[Path]) -> list[Played]:
    return asyncio.run(play_batch(server_url, _TEMPLATE, files, CURRENT))


async def play_batch(
    server_url: str, template: str, files: Sequence[Path], definition: Definition
) -> list[Played]:
    """Play histories one after the other in a scratch database of their own, made from a migrated one."""
    name = f"replay_{os.getpid()}"
    url = await made_database(server_url, name, template)
    try:
        with tempfile.TemporaryDirectory(prefix="perdure-replay-") as reports:
            async with open_player(url, Path(reports), definition) as player:
                told: list[Played] = []
                for file in files:
                    try:
                        history = History.read(await _content(file))
                        told.append(Played(str(file), await replay(player, history)))
                    except HistoryUnreadable as error:
                        told.append(Played(str(file), None, str(error)))
                return told
    finally:
        async with await connect(server_url) as connection:
            drop = SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name))
            await connection.execute(drop)


async def _content(file: Path) -> bytes:
    try:
        return await asyncio.to_thread(file.read_bytes)
    except OSError as error:
        raise HistoryUnreadable(f"it cannot be read: {error.strerror}") from error


@asynccontextmanager
async def scratch_server() -> AsyncGenerator[str]:
    """Run a PostgreSQL that is gone afterwards, and yield its URL."""
    with tempfile.TemporaryDirectory(prefix="perdure-replay-") as folder:
        # Its server may run as another account, which has to pass.
        await asyncio.to_thread(Path(folder).chmod, 0o711)
        cluster = Cluster(Path(folder), settings=_SETTINGS)
        await cluster.create()
        try:
            yield await cluster.start()
        finally:
            await cluster.stop("immediate")


def of_database(server_url: str, name: str) -> str:
    """Return the URL of another database of the same server."""
    return urlunsplit(urlsplit(server_url)._replace(path=f"/{name}"))


async def made_database(server_url: str, name: str, template: str) -> str:
    """Make a database and return its URL."""
    async with await connect(server_url) as connection:
        create = SQL("CREATE DATABASE {} TEMPLATE {}").format(
            Identifier(name), Identifier(template)
        )
        await connection.execute(create)
    return of_database(server_url, name)
