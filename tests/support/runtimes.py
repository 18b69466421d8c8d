"""The whole product on a test's database, and a small corpus for it to research."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from graph.runs import Outcome, decide, resume_run
from graph.runtime import Runtime, open_runtime
from graph.settings import Settings
from graph.workflow import CURRENT, Definition
from ledger.faults import NO_FAULTS, Faults
from ledger.questions import Decision
from nodes.options import RunOptions

GARDEN = {
    "beans.md": "# Beans\n\nRunner beans climb a pole that is two metres high. They are sown in May, after the last"
    " frost. A bean plant fixes nitrogen from the air with the help of bacteria in its roots.\n",
    "compost.md": "# Compost\n\nA compost heap reaches 60 degrees in its core. It is turned every three weeks so that"
    " air reaches the middle. Cooked food attracts rats and does not belong on the heap.\n",
    "pond.md": "# Pond\n\nA garden pond needs a depth of 80 centimetres so that fish survive the winter. Water lilies"
    " shade the pond and keep algae down. The pump is switched off in November.\n",
}
QUESTION = "When are runner beans sown, how many degrees does a compost heap reach, and what depth does a garden pond need?"


SECONDS_MAX = 60


def write_corpus(folder: Path, documents: dict[str, str] = GARDEN) -> Path:
    """Write documents into a folder and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in documents.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def options(corpus: Path, review: str = "none") -> RunOptions:
    """Return what a run over this corpus is started with."""
    return RunOptions(corpus=(str(corpus),), review=review)


async def decided(runtime: Runtime, paused: Outcome, **decision: object) -> Outcome:
    """Decide the one review that a run waits for, as Ada, and go on with the run."""
    (review,) = paused.reviews
    await decide(
        runtime, review.review_id, Decision.model_validate({"decided_by": "ada", **decision})
    )
    # A decision that is applied over and over would go on until LangGraph stops it at its 2,000th step.
    async with asyncio.timeout(SECONDS_MAX):
        return await resume_run(runtime, paused.run.run_id)


@asynccontextmanager
async def runtime_on(
    database_url: str,
    home: Path,
    faults: Faults = NO_FAULTS,
    definition: Definition = CURRENT,
    **settings: Any,
) -> AsyncGenerator[Runtime]:
    """Open a runtime on a database with a home of its own."""
    chosen = Settings(database_url=SecretStr(database_url), home=home, pool_size=4, **settings)
    async with open_runtime(chosen, faults=faults, definition=definition) as runtime:
        yield runtime
