"""The composition root: opens the database, the saver, who thinks, the tools, once per process, and binds the graph.

Nothing that is opened here enters state or `configurable`.
"""

import logging
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import httpx
from langchain_core.callbacks import BaseCallbackHandler
from langgraph.graph.state import CompiledStateGraph

from graph import models
from graph.draining import Drain
from graph.migrate import LANGGRAPH_SCHEMA, migrate
from graph.opening import open_database, open_pool, this_worker
from graph.saver import SealedPostgresSaver
from graph.seal_keys import seal_keys
from graph.settings import Settings
from graph.tracing import tracing
from graph.web import open_web
from graph.workflow import CURRENT, Definition
from ledger.db import Ledger, Pool
from ledger.faults import NO_FAULTS, Faults
from ledger.sealing import used_keys
from ledger.translation import wrap_errors
from nodes.researchers.known import KnownResearchers
from nodes.resources import Progress, Resources, Silent, Workflow
from nodes.targets.opening import Targets
from nodes.targets.smtp import mail_server
from nodes.tools.toolbox import RunToolbox


@dataclass(frozen=True, slots=True)
class Runtime:
    """What every surface works with; from `open_runtime`."""

    settings: Settings
    resources: Resources
    saver_pool: Pool
    #: What traces the graph; nothing unless LangSmith's variables ask for it.
    callbacks: tuple[BaseCallbackHandler, ...] = ()
    #: What tells the runs that are worked here to stop at their next step; once told, for good.
    control: Drain = field(default_factory=Drain)
    #: The version of the workflow that runs are worked with here.
    definition: Definition = CURRENT

    @property
    def ledger(self) -> Ledger:
        """The ledger of this process."""
        return self.resources.ledger

    def new_saver(self, workflow: Workflow | None = None) -> SealedPostgresSaver:
        """Return a saver for one worker: one saver is one lock, so two workers never share one.

        Its checkpoints are stamped as this version's, or as those of another `workflow` that they are copies of.
        """
        return SealedPostgresSaver(
            self.saver_pool, self.ledger, workflow or self.resources.workflow
        )

    def compiled(self, *, saver: bool = True) -> CompiledStateGraph[Any, Any, Any, Any]:
        """Return the graph, bound to the resources, with a saver of its own unless LangGraph's server brings one."""
        checkpointer = self.new_saver() if saver else None
        graph = self.definition.build(self.resources).compile(
            checkpointer=checkpointer, name="perdure"
        )
        return graph.with_config(callbacks=list(self.callbacks))


@asynccontextmanager
async def open_runtime(
    settings: Settings,
    progress: Progress | None = None,
    faults: Faults = NO_FAULTS,
    definition: Definition = CURRENT,
) -> AsyncGenerator[Runtime]:
    """Open everything and close it again; the embedded database is started when no other is set.

    Raises DatabaseUnavailable, MigrationDrift, SchemaOutdated, EmbeddedPostgresFailed, BadInput.
    """
    # httpx logs every address whole, and that of the search service may hold a key; openai logs every prompt.
    for name in ("httpx", "httpcore", "openai"):
        logging.getLogger(name).setLevel(logging.WARNING)
    async with AsyncExitStack() as stack:
        database_url = await stack.enter_async_context(open_database(settings))
        await migrate(database_url)
        worker, size = this_worker(), settings.pool_size
        pool = await stack.enter_async_context(open_pool(database_url, size, worker))
        saver_pool = await stack.enter_async_context(
            open_pool(database_url, size, worker, LANGGRAPH_SCHEMA)
        )
        with wrap_errors():
            async with pool.connection() as connection:
                keys = seal_keys(settings, await used_keys(connection, settings.tenant))
        ledger = Ledger(
            pool,
            worker,
            settings.tenant,
            keys,
            faults=faults,
            lease_seconds=settings.lease_seconds,
        )
        toolbox = RunToolbox(
            ledger, settings.home / "index", await open_web(settings, stack), tuple(settings.corpus)
        )
        opened = models.endpoints(settings)
        stack.push_async_callback(opened.close)
        resources = Resources(
            ledger=ledger,
            researchers=KnownResearchers(ledger, opened, models.patience(settings)),
            toolbox=toolbox,
            reports=settings.home / "reports",
            targets=_targets(settings, ledger, stack),
            workflow=definition.identity(),
            progress=progress or Silent(),
            policy=settings.policy,
        )
        callbacks = await stack.enter_async_context(tracing(show_text=settings.trace_documents))
        yield Runtime(settings, resources, saver_pool, callbacks, definition=definition)


def _targets(settings: Settings, ledger: Ledger, stack: AsyncExitStack) -> Targets:
    """Return the opener of targets."""

    @cache
    def client() -> httpx.AsyncClient:
        """Open a client that keeps no connection and passes plain http to no proxy; certificates take a while to load."""
        opened = httpx.AsyncClient(
            limits=httpx.Limits(max_keepalive_connections=0), mounts={"http://": None}
        )
        stack.push_async_callback(opened.aclose)
        return opened

    smtp = settings.smtp_url
    return Targets(
        ledger=ledger,
        client=client,
        mail_server=mail_server(smtp.get_secret_value()) if smtp else None,
        sender=settings.mail_from,
        databases={name: url.get_secret_value() for name, url in settings.databases.items()},
        tokens={host: token.get_secret_value() for host, token in settings.webhook_tokens.items()},
        contracts=settings.contracts,
    )
