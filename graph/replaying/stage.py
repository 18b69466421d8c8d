"""The place where histories are played: a scratch database, the graph at hand, a saver in memory, nobody outside.

One superstep at a time: the rows as they stood at a checkpoint, the checkpoint, one step of the graph, and what came of it.
"""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast
from uuid import UUID

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import Checkpoint, CheckpointMetadata
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.state import CompiledStateGraph, StateGraph
from langgraph.types import Command, StateSnapshot

from graph.histories import plain, restored
from graph.opening import connect, open_pool
from graph.replaying.comparing import ChannelTypes, channel_types
from graph.replaying.moment import Diverged, Moment
from graph.replaying.stand_ins import RecordedModel, RecordedTargets, RecordedToolbox, Stage
from graph.saver_rows import PlainSerializer
from graph.threads import run_config
from graph.workflow import Definition
from ledger import artifacts, recordings
from ledger.db import Connection, Ledger
from ledger.recordings import Content
from nodes.effects import Patience
from nodes.models.endpoints import Endpoints
from nodes.options import RunOptions
from nodes.researchers.known import KnownResearchers
from nodes.resources import Resources
from nodes.review import review_id_of

TENANT = "default"
# Branches of one step work beside each other, each with a connection now and then.
POOL_SIZE = 6


@dataclass(frozen=True, slots=True)
class Position:
    """Where a run stands: channels, pending sends among them, and the nodes that come next."""

    values: Mapping[str, Any]
    next: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Player:
    """Plays steps of one history after the other with one definition of the workflow."""

    definition: Definition
    ledger: Ledger
    scratch: Connection
    stage: Stage
    saver: InMemorySaver
    wired: StateGraph[Any, Any, Any, Any]
    graph: CompiledStateGraph[Any, Any, Any, Any]
    types: ChannelTypes
    #: The same for the nodes that are graphs of their own, by their names.
    inside: "Mapping[str, Player]" = field(default_factory=dict[str, "Player"])

    def within(self, ns: str) -> "Player":
        """Return who plays the checkpoints of a namespace of LangGraph's; raises Diverged where no such node is left."""
        node = ns.partition(":")[0]
        if ns and node not in self.inside:
            raise Diverged("next", f"{node} is no graph within this workflow")
        return self.inside[node] if ns else self

    async def begin(self, run_id: UUID, contents: Mapping[str, Content]) -> None:
        """Make ready for a history."""
        self.stage.artifacts = contents
        self.ledger.held.clear()
        self.ledger.held[run_id] = recordings.FENCE
        kept = {name: (each.content, each.media_type) for name, each in contents.items()}
        async with self.ledger.transaction() as tx:
            await artifacts.put_many(tx, kept)

    async def at(self, run_id: UUID, moment: Moment, checkpoint: dict[str, Any]) -> Position:
        """Put a run to where it stood at a checkpoint, and return what the graph at hand makes of it."""
        async with self.ledger.transaction() as tx:
            rows = {
                name: recordings.stored(tx, row, TENANT) for name, row in moment.found().items()
            }
        await recordings.put(self.scratch, TENANT, run_id, rows)
        self.stage.moment = moment
        return await self.look(run_id, checkpoint)

    async def look(self, run_id: UUID, checkpoint: dict[str, Any]) -> Position:
        """Return what the graph at hand makes of a checkpoint, whatever the rows."""
        self.saver.storage.clear()
        self.saver.writes.clear()
        self.saver.blobs.clear()
        loaded = cast("Checkpoint", restored(checkpoint))
        name: RunnableConfig = {"configurable": {"thread_id": str(run_id), "checkpoint_ns": ""}}
        self.saver.put(name, loaded, _METADATA, loaded["channel_versions"])
        return await self._position(name)

    async def step(self, run_id: UUID, answers: Mapping[str, Any]) -> Position | None:
        """Let the graph make one step, and return where the run stands then; None where it waits for a person.

        `answers` are what woke recorded reviews, by interrupt. Raises Diverged, and whatever a node does.
        """
        config = self._config(run_id)
        before = await self.graph.aget_state(config)
        await self._invoke(None, config)
        state = await self.graph.aget_state(config)
        if _head(state) == _head(before) and state.interrupts:
            woken = self._woken(state, answers)
            if woken is None:
                return None
            await self._invoke(Command(resume=woken), config)
        return await self._position(config)

    def _woken(self, state: StateSnapshot, answers: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return what wakes the reviews that a step asks; None where one was never answered. Raises Diverged."""
        moment, woken = self.stage.moment, dict[str, Any]()
        for asked in state.interrupts:
            review_id = review_id_of(asked.value)
            if not moment.has_review(review_id):
                raise Diverged("review", f"it asks a person what nobody was asked: {review_id}")
            row = moment.after["reviews", review_id]
            if asked.id in answers:
                woken[asked.id] = answers[asked.id]
            elif row["status"] == "decided":
                woken[asked.id] = review_id
        return woken if len(woken) == len(state.interrupts) else None

    async def _invoke(self, entry: Any, config: RunnableConfig) -> None:
        options = RunOptions.model_validate(self.stage.moment.run["body"]["options"])
        await self.graph.ainvoke(
            entry, config, context=options, durability="sync", interrupt_after="*"
        )

    async def _position(self, config: RunnableConfig) -> Position:
        state = await self.graph.aget_state(config)
        found = self.saver.get_tuple(config)
        assert found is not None, "it was put there"
        return Position(plain(found.checkpoint["channel_values"]), tuple(sorted(state.next)))

    def _config(self, run_id: UUID) -> RunnableConfig:
        return run_config(
            run_id, RunOptions.model_validate(self.stage.moment.run["body"]["options"])
        )


_METADATA: CheckpointMetadata = {"source": "loop", "step": 0, "parents": {}}


def _head(state: StateSnapshot) -> str | None:
    found: str | None = state.config.get("configurable", {}).get("checkpoint_id")
    return found


@asynccontextmanager
async def open_player(
    database_url: str, reports: Path, definition: Definition
) -> AsyncGenerator[Player]:
    """Open a stage on a migrated scratch database, which holds nothing that anybody needs."""
    async with (
        open_pool(database_url, POOL_SIZE, "replay") as pool,
        await connect(database_url) as scratch,
    ):
        await recordings.beside_triggers(scratch)
        ledger, stage = Ledger(pool, "replay", TENANT), Stage()
        resources = Resources(
            ledger=ledger,
            researchers=KnownResearchers(
                ledger, Endpoints(lambda name: RecordedModel(stage, name), 1)
            ),
            toolbox=RecordedToolbox(stage),
            reports=reports,
            workflow=definition.identity(),
            targets=RecordedTargets(stage, ledger),
            # Nobody outside needs time.
            patience=Patience(calls_max=1, first_wait=0.0, wait_max=0.0),
        )
        saver = InMemorySaver(serde=PlainSerializer())
        wired = definition.build(resources)
        graph = wired.compile(checkpointer=saver)
        types = channel_types(wired)
        alone = Player(definition, ledger, scratch, stage, saver, wired, graph, types)
        yield replace(alone, inside=_inside(alone))


def _inside(player: Player) -> dict[str, Player]:
    """Return who plays the steps within the nodes that are graphs of their own."""
    graphs = {
        name: cast("Any", spec.runnable).builder
        for name, spec in player.wired.nodes.items()
        if hasattr(spec.runnable, "builder")
    }
    return {
        name: replace(
            player,
            wired=inner,
            graph=inner.compile(checkpointer=player.saver),
            types=channel_types(inner),
        )
        for name, inner in graphs.items()
    }
