"""What several commands share: their options, the settings, the ledger for one look."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Annotated, TypeAlias, TypeVar

import typer

from graph.opening import open_ledger
from graph.settings import Settings, load_settings
from ledger import runs
from ledger.db import Ledger, Transaction, readable

T = TypeVar("T")

AsJson: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print one JSON value on standard output.")
]
RunName: TypeAlias = Annotated[
    str, typer.Argument(metavar="RUN", help="A run id, or the beginning of one.")
]

# These repeat in their warnings what our errors say, or warn of what users cannot change.
_CHATTY = ("psycopg", "asyncio", "langgraph", "langchain_core", "langsmith", "py.warnings", "pypdf")


def settings() -> Settings:
    """Return the settings and let logging follow them; raises SettingsInvalid."""
    loaded = load_settings()
    logging.basicConfig(level=loaded.log_level, format="%(levelname)s %(name)s: %(message)s")
    for handler in logging.getLogger().handlers:
        # Some libraries set their own loggers' levels when they are imported.
        handler.setLevel(loaded.log_level)
    logging.captureWarnings(capture=True)
    if loaded.log_level == "WARNING":
        for name in _CHATTY:
            logging.getLogger(name).setLevel(logging.ERROR)
    return loaded


def looked(look: Callable[[Transaction], Awaitable[T]]) -> T:
    """Return what one transaction sees; nothing is worked."""

    async def work() -> T:
        async with open_ledger(settings()) as ledger, ledger.transaction(one_moment=True) as tx:
            return await look(tx)

    return asyncio.run(work())


def looked_at_run(name: str, look: Callable[[Transaction, runs.Run], Awaitable[T]]) -> T:
    """Return what one transaction sees of the run that a person means by its id or the beginning of it."""

    async def of_run(tx: Transaction) -> T:
        run = await runs.find(tx, name)
        with readable(run.run_id, "a row of it"):
            return await look(tx, run)

    return looked(of_run)


def changed(change: Callable[[Ledger], Awaitable[T]]) -> T:
    """Return what a change of the ledger gives."""

    async def work() -> T:
        async with open_ledger(settings()) as ledger:
            return await change(ledger)

    return asyncio.run(work())
