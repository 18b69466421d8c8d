"""Commands about what a run does outside: effects lists it, effects settle takes a person's word for what happened."""

import asyncio
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup
from typing_extensions import override

from graph.cli import shapes
from graph.cli.later import later
from graph.cli.output import put_json, put_table, say
from graph.cli.session import AsJson, RunName, looked_at_run, settings
from ledger import effects as ledger_effects
from ledger.db import Transaction
from ledger.runs import Run
from nodes.options import BadInput

if TYPE_CHECKING:
    from graph.cli import working
else:
    working = later("graph.cli.working")

app = typer.Typer()
PANEL = "Decide"


class _RunOrSettle(TyperGroup):
    """`perdure effects RUN` lists; `perdure effects settle KEY` settles: the first word decides."""

    @override
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in {*self.commands, *ctx.help_option_names}:
            args.insert(0, "list")
        return super().parse_args(ctx, args)


family = typer.Typer(cls=_RunOrSettle, no_args_is_help=True)
app.add_typer(
    family,
    name="effects",
    rich_help_panel=PANEL,
    help="List what a run does outside (perdure effects RUN), or settle one of it (perdure effects settle KEY).",
)


@family.command("list", hidden=True)
def list_effects(run: RunName, *, as_json: AsJson = False) -> None:
    """List what a run does outside, in the order in which it was decided, and how each stands."""

    async def look(tx: Transaction, found: Run) -> list[dict[str, Any]]:
        return [shapes.of_effect(each) for each in await ledger_effects.of_run(tx, found.run_id)]

    found = looked_at_run(run, look)
    if as_json:
        put_json(found)
        return
    columns = ("key", "mode", "kind", "target", "status", "external_id", "calls", "reason")
    rows = [{**effect, "calls": len(effect["attempts"])} for effect in found]
    put_table(columns, [[row[name] for name in columns] for row in rows])


@family.command("settle")
def settle(
    key: Annotated[
        str, typer.Argument(metavar="KEY", help="The key of an effect, or its beginning.")
    ],
    *,
    happened: Annotated[
        str | None,
        typer.Option(metavar="EXTERNAL_ID", help="It was carried out; the target's name for it."),
    ] = None,
    did_not_happen: Annotated[
        bool, typer.Option("--did-not-happen", help="It was not carried out, and is not to be.")
    ] = False,
    again: Annotated[
        bool, typer.Option("--again", help="With --did-not-happen: send it once more.")
    ] = False,
    settled_by: Annotated[str | None, typer.Option("--as", metavar="WHO", help="Who says so.")] = (
        None
    ),
    why: Annotated[
        str | None, typer.Option(metavar="W", help="How that is known, for the record.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say what became of an effect that is in doubt or was refused. `perdure resume RUN` then goes on.

    For example: perdure effects settle eff_3f2a --did-not-happen --again --as maria --why "not in the sent folder"
    """
    if (happened is None) != did_not_happen:
        raise BadInput("say either --happened EXTERNAL_ID or --did-not-happen")
    if happened is not None and not happened.strip():
        raise BadInput("--happened needs the target's name for it: a message id, a number, a path")
    if again and not did_not_happen:
        raise BadInput("--again belongs to --did-not-happen: what happened is not sent again")
    if not (settled_by or "").strip() or not (why or "").strip():
        raise BadInput("a settlement says who and why: add --as NAME and --why TEXT")
    said = ledger_effects.Settlement(settled_by=str(settled_by), why=str(why))
    settled = asyncio.run(working.settled(settings(), key, happened, said, again=again))
    if as_json:
        put_json(shapes.of_effect(settled))
    say(f"effect {settled.key} is {settled.status}; `perdure resume {settled.run_id}` goes on")
