"""Runs that think with a scripted model, worked to their end however their endpoint fails; and what must be true of them."""

import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import UUID

from graph.cli.shapes import usage_of
from graph.runs import resume_run, start_run
from graph.runtime import Runtime
from ledger import artifacts, citations, journal, runs, tasks
from ledger.db import Ledger
from ledger.errors import CredentialRefused
from ledger.journal import Operation
from nodes.models.courses import RunPostponed
from nodes.options import RunOptions
from nodes.publish import report_path
from nodes.report import address
from nodes.researchers.known import KnownResearchers
from tests.support.moonshot.server import KEY, MoonshotServer
from tests.support.runtimes import QUESTION, runtime_on

MODEL = "kimi-k3"
# More pauses than any one fault causes.
_PAUSES_MAX = 8


@dataclass
class Hurried:
    """A clock on which waiting takes no time, and which remembers how long it was."""

    waits: list[float] = field(default_factory=list[float])

    def now(self) -> float:
        """Return what has been waited."""
        return sum(self.waits)

    async def sleep(self, seconds: float) -> None:
        """Go on at once."""
        self.waits.append(seconds)


@asynccontextmanager
async def thinking_runtime(
    database_url: str, home: Path, server: MoonshotServer, **settings: Any
) -> AsyncGenerator[tuple[Runtime, Hurried]]:
    """Open a runtime whose runs think with the scripted model, and the clock that it waits by."""
    reference = f"file:{_kept(home / 'model.key')}"
    given = {"model": MODEL, "model_base_url": server.url, "model_key": reference, **settings}
    async with runtime_on(database_url, home, **given) as runtime:
        clock = Hurried()
        yield hurried(runtime, clock), clock


def _kept(file: Path) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(KEY)
    return file


def hurried(runtime: Runtime, clock: Hurried) -> Runtime:
    """Return the runtime with another clock for its models."""
    known = runtime.resources.researchers
    assert isinstance(known, KnownResearchers)
    resources = replace(runtime.resources, researchers=replace(known, clock=clock))
    return replace(runtime, resources=resources)


def asking(corpus: Path, **options: Any) -> RunOptions:
    """Return what a run that thinks with the model is started with."""
    return RunOptions.model_validate(
        {"corpus": (str(corpus),), "review": "none", "model": MODEL, **options}
    )


async def worked_to_its_end(
    runtime: Runtime, options: RunOptions, run_id: UUID, question: str = QUESTION
) -> tuple[runs.Run, list[str]]:
    """Start a run, and go on with it whenever it pauses, as a person or a sweep does; returns why it paused."""
    pauses: list[str] = []
    begun = False
    while len(pauses) < _PAUSES_MAX:
        try:
            if begun:
                return (await resume_run(runtime, run_id)).run, pauses
            begun = True
            return (await start_run(runtime, question, options, run_id)).run, pauses
        except (RunPostponed, CredentialRefused) as error:
            pauses.append(str(error))
    raise AssertionError(f"run {run_id} did not end: {pauses}")


async def model_calls(ledger: Ledger, run_id: UUID) -> list[Operation]:
    """Return what a run asked of its model."""
    async with ledger.transaction() as tx:
        return [each for each in await journal.operations(tx, run_id) if each.kind == "model"]


async def used(ledger: Ledger, run_id: UUID) -> dict[str, Any]:
    """Return what `perdure show` says that a run used."""
    async with ledger.transaction() as tx:
        return usage_of(await journal.operations(tx, run_id))


async def fabricated(ledger: Ledger, run: runs.Run, reports: Path) -> list[str]:
    """Return what is wrong with the citations of a report, by the exported text and the stored bytes alone."""
    text = report_path(reports, run.run_id).read_text(encoding="utf-8")
    body, _, listed = text.partition("## Citations")
    numbers = {int(number) for number in re.findall(r"(?<!\\)\[(\d+)\]", body)}
    wrong: list[str] = []
    async with ledger.transaction() as tx:
        assert run.report_artifact is not None
        cited = {
            each.number: each
            for each in await citations.of_report(tx, run.run_id, run.report_artifact)
        }
        if numbers != set(cited):
            wrong.append(f"the text cites {sorted(numbers)}, the ledger has {sorted(cited)}")
        for number, each in cited.items():
            whole = await artifacts.get_text(tx, each.text_artifact)
            # Read to be compared with its digest.
            await artifacts.get(tx, each.content_artifact)
            if whole[each.start : each.end] != each.exact:
                wrong.append(f"citation {number} is not what stands at its place")
            if address(each.source_uri) not in listed:
                wrong.append(f"citation {number} names another source")
    return wrong


async def statuses(ledger: Ledger, run_id: UUID) -> set[str]:
    """Return how the tasks of a run ended."""
    async with ledger.transaction() as tx:
        return {task.status for task in await tasks.everything(tx, run_id)}
