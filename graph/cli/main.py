"""The command `perdure`: puts the families of commands together and ends with their exit codes."""

import signal
import sys
from collections.abc import Sequence
from importlib.metadata import version as version_of
from types import FrameType
from typing import Annotated

import typer

from graph.cli import control, effects, histories, look, operate, review, run, upgrade
from graph.cli.exits import translated
from graph.cli.output import prepare_streams, put_text
from nodes.options import BadInput

app = typer.Typer(
    help="Research a question over documents, with exact citations; killed at any moment, it goes on where it was.",
    epilog='Begin with: perdure run "What does assert do?" --corpus pydoc:topics',
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for family in (run, look, review, effects, control, operate, upgrade, histories):
    app.add_typer(family.app)


@app.callback(invoke_without_command=True)
def perdure(
    context: typer.Context,
    *,
    version: Annotated[bool, typer.Option("--version", help="Print the version and end.")] = False,
) -> None:
    """Print the version, or the help where no command is given."""
    if version:
        put_text(f"perdure {version_of('perdure')}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        put_text(context.get_help())
        raise typer.Exit


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command that the arguments (unset: the process's) name; raises SystemExit with its code."""
    prepare_streams()
    signal.signal(signal.SIGTERM, _as_interrupt)
    with translated():
        given = _checked(sys.argv[1:] if arguments is None else arguments)
        app(args=review.with_editor(given))


def _checked(arguments: Sequence[str]) -> Sequence[str]:
    """Raise BadInput for bytes that are no UTF-8: Python passes them on as halves of surrogate pairs (PEP 383)."""
    for argument in arguments:
        for position, character in enumerate(argument):
            if "\ud800" <= character <= "\udfff":
                raise BadInput(
                    f"{argument[:80]!r} has bytes that are no valid text at position {position}; type it anew, as UTF-8"
                    " (a file or folder of that name has to be renamed)"
                )
    return arguments


def _as_interrupt(_number: int, _frame: FrameType | None) -> None:
    """End as Ctrl-C does: asyncio cancels what runs, and what is open is closed.

    A command that works a run lets its running step end first: see graph/cli/working.py.
    """
    signal.raise_signal(signal.SIGINT)
