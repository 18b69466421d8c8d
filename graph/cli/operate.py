"""Commands for whoever operates it: cancel, adopt, sweep, doctor, migrate, graph."""

import asyncio
import json
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from graph import checkpoints
from graph.cli.exits import Code, Interrupted
from graph.cli.later import later
from graph.cli.look import tell
from graph.cli.output import put_json, put_table, put_text, say
from graph.cli.progress import watch as watched
from graph.cli.session import AsJson, RunName, changed, settings
from ledger import integrity, runs
from ledger.db import Ledger, Transaction
from nodes.options import BadInput

if TYPE_CHECKING:
    from graph import doctor as checks
    from graph.cli import working
    from graph.sweeping import Swept
else:
    checks = later("graph.doctor")
    working = later("graph.cli.working")

app = typer.Typer()
PANEL = "Operate"

_SWEPT = ("run_id", "owner", "became", "reason")


@app.command(rich_help_panel=PANEL)
def cancel(run: RunName, *, as_json: AsJson = False) -> None:
    """Stop a run for good. What it found stays; a worker that has it writes nothing more."""

    async def change(ledger: Ledger) -> runs.Run:
        async with ledger.transaction() as tx:
            found = await runs.find(tx, run)
            if found.status in runs.FINISHED:
                raise BadInput(f"run {found.run_id} is {found.status}: there is nothing to cancel")
            await runs.cancel(tx, found.run_id)
            return await runs.get(tx, found.run_id)

    cancelled = changed(change)
    if as_json:
        put_json({"run_id": str(cancelled.run_id), "status": cancelled.status})
    say(
        f"run {cancelled.run_id} is cancelled; `perdure show {cancelled.run_id}` has what was found"
    )


@app.command(rich_help_panel=PANEL)
def adopt(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run id, or the id of a thread.")],
    *,
    who: Annotated[str, typer.Option("--as", metavar="WHO", help="Who trusts the checkpoints.")],
    as_json: AsJson = False,
) -> None:
    """Seal the rows and checkpoints of a run that LangGraph's plain saver or an earlier version wrote, as they are.

    Nobody can tell whether they were changed; the audit log says who trusted them. What was sealed once is never adopted.
    """

    async def change(ledger: Ledger) -> tuple[UUID, int, int]:
        async with ledger.transaction(actor=who) as tx:
            run_id = await _thread(tx, run)
            # Checkpoints first: once its rows are recorded, a run is one that was sealed.
            adopted = await checkpoints.adopt(tx, run_id)
            older = await integrity.is_older(tx, run_id)
            return run_id, await integrity.adopt_rows(tx, run_id) if older else 0, adopted

    run_id, rows, adopted = changed(change)
    if as_json:
        put_json({"run_id": str(run_id), "rows": rows, "adopted": adopted})
    elif rows or adopted:
        put_text(f"adopted {rows} rows and {adopted} checkpoints of {run_id}")
    else:
        put_text(f"{run_id} has nothing that was never sealed: there is nothing to adopt")


async def _thread(tx: Transaction, name: str) -> UUID:
    """Return the id of a thread that may be no run of ours yet; raises NotFound, Ambiguous."""
    try:
        return UUID(name)
    except ValueError:
        return (await runs.find(tx, name)).run_id


@app.command(rich_help_panel=PANEL)
def sweep(
    *,
    keep_on: Annotated[
        bool, typer.Option("--watch", help="Go on for ever, as soon as a worker is dead.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Take up the runs whose workers died, and work each to its end or its next pause.

    A run that was stopped on purpose (Ctrl-C, SIGTERM, cancel) or has failed is left alone, and so is one of another
    workflow. With --watch --json there is one line of JSON for each run.
    """
    loaded = settings()
    with watched() as progress, _interruptible():
        if keep_on:
            asyncio.run(working.watch(loaded, progress, _put_line if as_json else _put_swept))
            found, drained = [], True
        else:
            found = asyncio.run(working.sweep(loaded, progress))
            drained = any(swept.became == "drained" for swept in found)
    if as_json and not keep_on:
        put_json([swept.shown for swept in found])
    elif not keep_on:
        put_table(_SWEPT, [list(swept.shown.values()) for swept in found])
    if drained:
        raise typer.Exit(Code.INTERRUPTED)


@contextmanager
def _interruptible() -> Generator[None]:
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted("RUN") from None


def _put_line(swept: "Swept") -> None:
    put_text(json.dumps(swept.shown))


def _put_swept(swept: "Swept") -> None:
    why = f": {swept.reason}" if swept.reason else ""
    put_text(f"run {swept.run_id} of {swept.owner}, which died: {swept.became}{why}")


@app.command(rich_help_panel=PANEL)
def doctor(*, as_json: AsJson = False) -> None:
    """Check what a run needs: settings, database, folders, search service, model.

    Where a language model is set its endpoint is asked, which costs three short answers.

    Exit code 0 when all is well and 1 when anything is not.
    """
    tell(asyncio.run(checks.examine()), as_json=as_json)


@app.command(rich_help_panel=PANEL)
def migrate(*, as_json: AsJson = False) -> None:
    """Bring the database up to date. Every command that works a run does so by itself, too."""
    applied = asyncio.run(working.migrated(settings()))
    if as_json:
        put_json({"applied": applied})
        return
    for name in applied:
        put_text(f"applied {name}")
    if not applied:
        put_text("the database is up to date; nothing was applied")


@app.command(rich_help_panel=PANEL)
def graph(*, as_json: AsJson = False) -> None:
    """Print the graph as a Mermaid chart; needs no database."""
    if as_json:
        put_json({"mermaid": working.mermaid()})
    else:
        put_text(working.mermaid())
