"""The embedded PostgreSQL of a home: started by the first process that needs it, stopped by the last that leaves.

Two locks of the kernel, which a killed process cannot leave behind, say who does what. `starting` is held by the one
process that may create, repair or start the server. `users` is shared by all processes that use it; whoever gets it
for itself alone on leaving was the last. A server that a killed process left running serves the next one.
"""

import asyncio
import fcntl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO

from graph.cluster import Cluster, EmbeddedPostgresFailed
from graph.server_account import ServerAccountMissing

# Locks are polled, so that Ctrl-C ends the wait; a start takes a tenth of a second.
LOCK_POLL_SECONDS = 0.02


@asynccontextmanager
async def embedded_postgres(home: Path) -> AsyncGenerator[str]:
    """Yield the URL of the PostgreSQL under `home`, created and started when it is not running.

    Raises EmbeddedPostgresFailed when `home` cannot be written or the server does not start.
    """
    cluster = _cluster(home)
    with _open(cluster.directory / "users") as users:
        await _lock(users, fcntl.LOCK_SH)
        try:
            yield await _running(cluster)
        finally:
            await _stop_if_last(cluster, users)


async def stop_embedded(home: Path) -> bool:
    """Stop a server that a killed process left running under `home`; False where somebody uses it."""
    directory = _directory(home)
    if not directory.exists():
        return True
    with _open(directory / "users") as users:
        return await _stop_if_last(Cluster(directory), users)


async def _stop_if_last(cluster: Cluster, users: IO[bytes]) -> bool:
    """Stop the server when the lock can be had alone: then nobody uses it, and nobody starts it meanwhile."""
    last = _try_lock(users, fcntl.LOCK_EX)
    if last:
        await cluster.stop()
    return last


async def _running(cluster: Cluster) -> str:
    if (url := cluster.url()) and await cluster.answers():
        return url
    with _open(cluster.directory / "starting") as starting:
        await _lock(starting, fcntl.LOCK_EX)
        if (url := cluster.url()) and await cluster.answers():
            return url
        try:
            await cluster.create()
            return await cluster.start()
        except TimeoutError:
            raise EmbeddedPostgresFailed(
                f"The PostgreSQL in {cluster.directory} does not answer; it may still be recovering from a crash. Try again in a minute."
            ) from None
        except ServerAccountMissing as error:
            raise EmbeddedPostgresFailed(str(error)) from error
        except OSError as error:
            raise _unusable(cluster.directory, error) from error


def _directory(home: Path) -> Path:
    return home.expanduser().absolute() / "postgres"


def _cluster(home: Path) -> Cluster:
    directory = _directory(home)
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unusable(directory, error) from error
    return Cluster(directory)


def _open(path: Path) -> IO[bytes]:
    try:
        return path.open("ab")
    except OSError as error:
        raise _unusable(path, error) from error


def _unusable(path: Path, error: OSError) -> EmbeddedPostgresFailed:
    return EmbeddedPostgresFailed(
        f"The embedded PostgreSQL cannot use {path}: {error.strerror or error}. Set PERDURE_HOME to a folder that "
        f"you can write and that has room, or PERDURE_DATABASE_URL to a PostgreSQL of your own."
    )


def _try_lock(file: IO[bytes], kind: int) -> bool:
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


async def _lock(file: IO[bytes], kind: int) -> None:
    while not _try_lock(file, kind):  # noqa: ASYNC110 - the other side is another process
        await asyncio.sleep(LOCK_POLL_SECONDS)
