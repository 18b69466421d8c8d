"""The command that brings sleeping runs to this version of the workflow."""

import asyncio
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graph.cli.exits import Code
from graph.cli.later import later
from graph.cli.output import put_json, put_table, say
from graph.cli.session import AsJson, settings
from nodes.options import BadInput

if TYPE_CHECKING:
    from graph.cli import working
    from graph.upgrading import Upgraded
else:
    working = later("graph.cli.working")

app = typer.Typer()

# Lines of progress: one for so many runs.
TOLD_EVERY = 100


@app.command(rich_help_panel="Operate")
def upgrade(
    run: Annotated[
        str | None, typer.Argument(metavar="[RUN]", help="A run id, or the beginning of one.")
    ] = None,
    *,
    every: Annotated[bool, typer.Option("--all", help="All unfinished runs.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Say what would become of each, and write nothing.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Bring sleeping runs to this version of the workflow; they are not worked on.

    A run that a worker has is left, and named. What is done is done: killed, it goes on with the rest when it is called
    again. Exit code 0 when all are of this version, 4 when one cannot be brought over, 5 when one is held.
    """
    if (run is None) != every:
        raise BadInput("name one run, or all with --all")
    found = asyncio.run(working.upgraded(settings(), run, _tell, check=check))
    if as_json:
        put_json([_shape(each) for each in found])
    else:
        columns = ("run_id", "became", "from_version", "to_version", "why")
        put_table(columns, [[_shape(each)[name] for name in columns] for each in found])
    raise typer.Exit(_code(found))


def _shape(each: "Upgraded") -> dict[str, Any]:
    return {**asdict(each), "run_id": str(each.run_id)}


def _tell(done: int, total: int) -> None:
    if done % TOLD_EVERY == 0 or done == total:
        say(f"{done} of {total} runs")


def _code(found: "list[Upgraded]") -> Code:
    became = {each.became for each in found}
    if "refused" in became:
        return Code.BLOCKED
    return Code.HELD if "held" in became else Code.DONE
