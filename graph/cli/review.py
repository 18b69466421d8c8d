"""Commands for the person who decides: reviews lists what is asked, review shows one and takes the decision."""

import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graph.cli import shapes
from graph.cli.later import later
from graph.cli.output import put_json, put_table, put_text, say
from graph.cli.session import AsJson, looked, settings
from ledger import reviews as ledger_reviews
from ledger import runs
from ledger.db import Transaction
from ledger.questions import Decision, Review
from nodes.options import BadInput

if TYPE_CHECKING:
    from graph.cli import working
else:
    working = later("graph.cli.working")

app = typer.Typer()
PANEL = "Decide"

# An edited plan of the longest run takes a hundredth of this.
EDIT_BYTES_MAX = 1_000_000


@app.command("reviews", rich_help_panel=PANEL)
def list_reviews(
    run: Annotated[
        str | None, typer.Argument(metavar="[RUN]", help="Of this run only.", show_default=False)
    ] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """List the reviews that were asked for, newest first; `open` ones wait for a person."""

    async def look(tx: Transaction) -> list[Review]:
        found = await runs.find(tx, run) if run is not None else None
        return await ledger_reviews.newest_first(tx, found.run_id if found else None)

    found = [shapes.of_review(review) for review in looked(look)]
    if as_json:
        put_json(found)
    else:
        columns = ("review_id", "kind", "status", "decision", "decided_by", "asked_at", "run_id")
        put_table(columns, [[review[name] for name in columns] for review in found])


@app.command("review", rich_help_panel=PANEL)
def review_one(
    review_id: Annotated[
        str, typer.Argument(metavar="ID", help="A review id, or the beginning of one.")
    ],
    *,
    approve: Annotated[bool, typer.Option("--approve", help="Go on as shown.")] = False,
    reject: Annotated[bool, typer.Option("--reject", help="Cancel the run.")] = False,
    edit: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help='Go on with changes, as JSON; - reads standard input. A plan: {"tasks": [{"id", "question",'
            ' "depends_on"}, …]}. Sources or a report: {"omit": [ID, …]}.',
        ),
    ] = None,
    respond: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Say what to research besides.")
    ] = None,
    decided_by: Annotated[
        str | None, typer.Option("--as", metavar="WHO", help="Who decides; needed for a decision.")
    ] = None,
    comment: Annotated[str | None, typer.Option(metavar="C", help="Why, for the record.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show a review, or decide it with one of --approve, --reject, --edit and --respond.

    For example: perdure review rev_3f2a --approve --as maria
    """
    decision = _decision(
        {"approve": approve, "reject": reject, "edit": edit, "respond": respond},
        decided_by,
        comment,
    )
    if decision is None:
        _show(looked(lambda tx: ledger_reviews.find(tx, review_id)), as_json=as_json)
        return
    decided = asyncio.run(working.decided(settings(), review_id, decision))
    if as_json:
        put_json(shapes.of_review(decided))
    say(
        f"review {decided.review_id}: {decision.choice} by {decision.decided_by};"
        f" `perdure resume {decided.run_id}` goes on"
    )


def _decision(
    choices: dict[str, Any], decided_by: str | None, comment: str | None
) -> Decision | None:
    """Read the options as a decision, or as none; raises BadInput."""
    chosen = [name for name, given in choices.items() if given not in (None, False)]
    if not chosen:
        if decided_by is not None or comment is not None:
            raise BadInput(
                "--as and --comment belong to a decision: add --approve, --reject, --edit or --respond"
            )
        return None
    if len(chosen) > 1:
        raise BadInput(
            f"a review takes one decision, not {' and '.join(f'--{name}' for name in chosen)}"
        )
    if not (decided_by or "").strip():
        raise BadInput("a decision says who decided: add --as NAME")
    edit = None if choices["edit"] is None else _read_edit(choices["edit"])
    return Decision.model_validate(
        {
            "choice": chosen[0],
            "decided_by": decided_by,
            "comment": comment,
            "edit": edit,
            "response": choices["respond"],
        }
    )


def _read_edit(name: str) -> Any:
    place = "standard input" if name == "-" else name
    try:
        if name == "-":
            content = sys.stdin.buffer.read(EDIT_BYTES_MAX + 1)
        else:
            with Path(name).open("rb") as file:
                content = file.read(EDIT_BYTES_MAX + 1)
    except (OSError, ValueError) as error:
        raise BadInput(f"--edit {place}: {getattr(error, 'strerror', None) or error}") from error
    if len(content) > EDIT_BYTES_MAX:
        raise BadInput(f"--edit {place}: more than {EDIT_BYTES_MAX:,} bytes")
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise BadInput(
            f"--edit {place} is no JSON ({error}); `perdure review ID` shows the form of an edit"
        ) from error


def _show(review: Review, *, as_json: bool) -> None:
    if as_json:
        put_json(shapes.of_review(review))
        return
    put_text(
        f"review {review.review_id} of the {review.kind} of run {review.run_id}: {review.status}"
    )
    if review.decision:
        put_text(f"{review.decision.choice} by {review.decision.decided_by}")
    for name, shown in review.shown.items():
        put_text(f"\n{name}:")
        for each in shown if isinstance(shown, list) else [shown]:  # pyright: ignore[reportUnknownVariableType]
            put_text(_item(each))
    if review.status == "open":
        say(f"\ndecide with: perdure review {review.review_id} --approve --as YOU")
        say(
            "or with --reject, --edit FILE, --respond TEXT; `perdure review --help` has their forms"
        )


def _item(item: Any) -> str:
    if not isinstance(item, dict):
        return str(item)
    return "  " + "; ".join(f"{name}: {value}" for name, value in item.items())  # pyright: ignore[reportUnknownVariableType]
