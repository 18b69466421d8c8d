"""Savers for tests: as many workers on one database as a test wants, and a run's thread to store on."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from graph.migrate import LANGGRAPH_SCHEMA
from graph.saver import SealedPostgresSaver
from ledger.db import Ledger, new_pool
from ledger.keys import KeyRing
from nodes.resources import Workflow
from tests.support.ledgers import KEYS

WORKFLOW = Workflow(1, "sha256:topology")


@asynccontextmanager
async def open_saver(
    database_url: str, keys: KeyRing = KEYS, worker: str = "worker", size: int = 4
) -> AsyncGenerator[SealedPostgresSaver]:
    """Open a saver with pools of its own."""
    async with (
        new_pool(database_url, size) as pool,
        new_pool(database_url, size, LANGGRAPH_SCHEMA) as saver_pool,
    ):
        yield SealedPostgresSaver(saver_pool, Ledger(pool, worker, keys=keys), WORKFLOW)
