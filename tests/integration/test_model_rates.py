"""Branches that ask at once keep together to what an endpoint may be asked within a minute; the clock moves only by waiting."""

from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from graph.runs import start_run
from ledger.journal import Received
from nodes.models.answers import usage_in
from nodes.models.base import Ask, Model
from nodes.models.endpoints import Endpoints
from nodes.models.rates import Taken
from nodes.researchers.known import KnownResearchers
from tests.support.mind import sensible
from tests.support.model_runs import Hurried, asking, thinking_runtime, used
from tests.support.moonshot.faults import Fault, FaultKind
from tests.support.moonshot.server import MoonshotServer, moonshot_server
from tests.support.runtimes import QUESTION, write_corpus

MINUTE = 60


class Watched:
    """A model whose calls are watched: when they leave, by the clock of the run, and the tokens that the endpoint counted."""

    def __init__(self, model: Model, clock: Hurried, taken: list[Taken]) -> None:
        self._model, self._clock, self._taken = model, clock, taken

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    async def receive(self, ask: Ask) -> Received:
        call = Taken(self._clock.now(), 0)
        self._taken.append(call)
        received = await self._model.receive(ask)
        call.cost(usage_in(received))
        return received


def most(taken: list[Taken], cost: Callable[[Taken], int] = lambda _: 1) -> int:
    """Return the most that any 60 seconds hold, both ends included."""
    return max(
        sum(cost(each) for each in taken if first.at <= each.at <= first.at + MINUTE)
        for first in taken
    )


def watching(known: KnownResearchers, taken: list[Taken]) -> KnownResearchers:
    """Return who thinks, with their models watched."""
    opened, clock = known.endpoints, known.clock
    assert isinstance(clock, Hurried)

    def new(name: str) -> Any:
        return Watched(opened.new(name), clock, taken)

    return replace(known, endpoints=Endpoints(new, opened.places, opened.limits))


async def worked(
    database_url: str, folder: Path, server: MoonshotServer, **settings: Any
) -> tuple[list[Taken], Hurried, dict[str, Any]]:
    """Work a run whose branches ask at once; returns its calls, the clock, and what its journal says that it used."""
    taken: list[Taken] = []
    async with thinking_runtime(database_url, folder / "home", server, **settings) as (
        opened,
        clock,
    ):
        assert isinstance(opened.resources.researchers, KnownResearchers)
        known = watching(opened.resources.researchers, taken)
        async with AsyncExitStack() as stack:
            stack.push_async_callback(known.endpoints.close)
            runtime = replace(opened, resources=replace(opened.resources, researchers=known))
            given = asking(write_corpus(folder / "garden"))
            ended = await start_run(runtime, QUESTION, given)
        assert ended.run.status == "completed"
        return taken, clock, await used(opened.ledger, ended.run.run_id)


async def test_no_minute_has_more_calls_than_are_set(database_url: str, tmp_path: Path) -> None:
    with moonshot_server(sensible) as server:
        taken, clock, spent = await worked(database_url, tmp_path, server, model_rpm=5)
    assert len(taken) == len(server.calls) == spent["calls"] > 5
    assert most(taken) == 5
    # They were let go as soon as they might.
    assert clock.now() < (len(taken) / 5 + 1) * (MINUTE + 2)


async def test_no_minute_has_more_tokens_than_are_set(database_url: str, tmp_path: Path) -> None:
    with moonshot_server(sensible) as server:
        taken, clock, _ = await worked(database_url, tmp_path, server, model_tpm=12_000)
    assert 1_000 < most(taken, lambda each: each.tokens) <= 12_000
    assert clock.now() > MINUTE


async def test_calls_that_fail_and_are_made_again_count_too(
    database_url: str, tmp_path: Path
) -> None:
    with moonshot_server(sensible, [Fault(FaultKind.OVERLOADED)] * 3) as server:
        taken, _, _ = await worked(database_url, tmp_path, server, model_rpm=2)
    assert len(taken) == len(server.calls)
    assert most(taken) == 2


async def test_without_limits_branches_ask_at_once(database_url: str, tmp_path: Path) -> None:
    with moonshot_server(sensible) as server:
        taken, clock, _ = await worked(database_url, tmp_path, server)
    assert clock.waits == []
    assert most(taken) == len(server.calls)
