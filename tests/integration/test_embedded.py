"""The embedded PostgreSQL: made once, shared, stopped by the last, and back after every kind of death."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import psycopg
import pytest

from graph.cluster import SOCKET_PATH_BYTES_MAX, Cluster, EmbeddedPostgresFailed
from graph.embedded import embedded_postgres, stop_embedded

# Uses the server once and, told to, keeps it until its standard input ends.
CLIENT = """
import asyncio, sys
from pathlib import Path
import psycopg
from graph.embedded import embedded_postgres

async def main():
    async with embedded_postgres(Path(sys.argv[1])) as url:
        async with await psycopg.AsyncConnection.connect(url) as connection:
            cursor = await connection.execute("SELECT pg_postmaster_start_time()::text")
            print(*await cursor.fetchone(), flush=True)
        sys.stdin.read()

asyncio.run(main())
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One home for the tests that leave it whole, since making a database takes a second."""
    return tmp_path_factory.mktemp("shared")


@asynccontextmanager
async def client(home: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", CLIENT, str(home), stdin=pipe, stdout=pipe, stderr=pipe
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate(b"")


async def first_line(process: asyncio.subprocess.Process) -> str:
    assert process.stdout is not None
    return (await process.stdout.readline()).decode()


def postmaster(home: Path) -> int | None:
    """The process id of a running server."""
    file = home / "postgres" / "data" / "postmaster.pid"
    return int(file.read_text().splitlines()[0]) if file.exists() else None


async def ask(url: str, question: str) -> object:
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        cursor = await connection.execute(question.encode())
        row = await cursor.fetchone() if cursor.description else None
        return row[0] if row else None


async def test_eight_processes_at_once_on_an_empty_home_share_one_server(tmp_path: Path) -> None:
    """All eight see the same start of the server; it runs until the last has left; nobody says a word on stderr."""

    async def use() -> tuple[str, int | None, bytes]:
        async with client(tmp_path) as process:
            output, noise = await process.communicate(b"")
            return output.decode(), process.returncode, noise

    async with client(tmp_path) as holder:
        starts = await asyncio.gather(first_line(holder), *(use() for _ in range(7)))
        assert {code for _, code, _ in starts[1:]} == {0}
        assert {noise for _, _, noise in starts[1:]} == {b""}
        assert {start for start, _, _ in starts[1:]} == {starts[0]}
        assert postmaster(tmp_path) is not None
        _, noise = await holder.communicate(b"")
        assert (holder.returncode, noise) == (0, b"")
    assert postmaster(tmp_path) is None


async def test_a_killed_process_leaves_the_server_to_the_next_which_stops_it(
    home: Path,
) -> None:
    async with client(home) as process:
        await first_line(process)
        process.kill()
        await process.wait()
    left = postmaster(home)
    assert left is not None
    async with embedded_postgres(home):
        assert postmaster(home) == left
        assert not await stop_embedded(home), "somebody uses it"
    assert postmaster(home) is None
    assert await stop_embedded(home)


async def test_a_killed_server_comes_back_with_what_was_committed(home: Path) -> None:
    """Durable: on, and recovered from the log, while the first user still holds the old address."""
    async with embedded_postgres(home) as url:
        assert await ask(url, "SHOW fsync") == "on"
        assert await ask(url, "SHOW synchronous_commit") == "on"
        await ask(url, "CREATE TABLE kept AS SELECT 42 AS answer")
        killed = postmaster(home)
        assert killed is not None
        os.kill(killed, signal.SIGKILL)
        async with embedded_postgres(home) as again:
            assert again == url
            assert postmaster(home) != killed
            assert await ask(again, "SELECT answer FROM kept") == 42
        assert await ask(url, "SELECT answer FROM kept") == 42, "the first user still has it"


async def test_a_stale_process_file_that_names_a_stranger_is_no_hindrance(
    home: Path, tmp_path: Path
) -> None:
    """After a restart of the machine, or in a container, the old number is soon somebody else's."""
    async with embedded_postgres(home) as url:
        sockets = Cluster(home / "postgres").data
    async with client(tmp_path / "elsewhere") as stranger:
        lines = [stranger.pid, sockets, 1, 5432, sockets, "", "1 1", "ready"]
        (sockets / "postmaster.pid").write_text("".join(f"{line}\n" for line in lines))
        async with embedded_postgres(home) as again:
            assert again == url
            assert await ask(again, "SELECT 1") == 1
        assert stranger.returncode is None, "the stranger was left alone"
        await stranger.communicate(b"")


async def test_a_creation_that_was_cut_short_is_done_again(tmp_path: Path) -> None:
    half = tmp_path / "postgres" / "data.new-half"
    half.mkdir(parents=True)
    (half / "PG_VERSION").write_text("18\n")
    async with embedded_postgres(tmp_path) as url:
        assert await ask(url, "SHOW server_encoding") == "UTF8"
    assert not half.exists()


async def test_a_server_whose_socket_was_swept_away_is_replaced(home: Path) -> None:
    async with embedded_postgres(home) as url:
        (home / "postgres" / "data" / ".s.PGSQL.5432").unlink()
        async with embedded_postgres(home) as again:
            assert again == url
            assert await ask(again, "SELECT 1") == 1


@pytest.mark.parametrize(
    "name", ["a long path " * 12, 'comma, and $HOME `id` "quoted" it\'s ünïcode']
)
async def test_a_home_on_any_path_works(name: str, tmp_path: Path) -> None:
    home = tmp_path / name
    async with embedded_postgres(home) as url:
        assert await ask(url, "SELECT 1") == 1
    assert len(os.fsencode(tmp_path / ("a long path " * 12))) > SOCKET_PATH_BYTES_MAX


async def test_nobody_else_can_reach_the_server(home: Path) -> None:
    async with embedded_postgres(home) as url:
        assert await ask(url, "SHOW listen_addresses") == ""
        assert (home / "postgres" / "data").stat().st_mode & 0o077 == 0


async def test_a_home_that_cannot_be_written_is_explained(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(
        EmbeddedPostgresFailed, match=r"Not a directory.*PERDURE_HOME.*PERDURE_DATABASE_URL"
    ):
        async with embedded_postgres(tmp_path / "file"):
            pass


async def test_a_damaged_database_is_explained_by_its_log(tmp_path: Path) -> None:
    async with embedded_postgres(tmp_path):
        pass
    (tmp_path / "postgres" / "data" / "global" / "pg_control").write_bytes(b"damaged")
    with pytest.raises(EmbeddedPostgresFailed, match=r"(?s)pg_control.*PERDURE_DATABASE_URL"):
        async with embedded_postgres(tmp_path):
            pass
    assert not await Cluster(tmp_path / "postgres").answers()
