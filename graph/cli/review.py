"""Commands for the person who decides: reviews lists what is asked, review shows one and takes the decision."""

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click
import typer

from graph.cli import shapes
from graph.cli.later import later
from graph.cli.output import put_json, put_table, put_text, say
from graph.cli.session import AsJson, looked, settings
from graph.differences import changed, difference, form_of
from ledger import reviews as ledger_reviews
from ledger import runs, workflow_migrations
from ledger.db import Transaction
from ledger.questions import Decision, Review
from nodes.decisions.kinds import KINDS
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
    reject: Annotated[
        bool,
        typer.Option(
            "--reject",
            help="Cancel the run; of a plan, with --comment: have it planned anew by what that says.",
        ),
    ] = False,
    edit: Annotated[
        str | None,
        typer.Option(
            metavar="[FILE]",
            help="Go on with changes: without FILE in your editor ($VISUAL, $EDITOR); - reads standard input. A .md file is"
            " the text of a report; else JSON. A plan:"
            ' {"tasks": [{"id", "question", "depends_on"}, …]}. A conflict: {"stand": [ID, …]}. Sources, a report or'
            ' sensitive material: {"omit": [ID, …]}.',
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
    choices = {"approve": approve, "reject": reject, "edit": edit, "respond": respond}
    choice = _choice(choices, decided_by, comment)
    if choice is None:
        _show(*looked(lambda tx: _found(tx, review_id)), as_json=as_json)
        return
    decision = Decision.model_validate(
        {"choice": choice, "decided_by": decided_by, "comment": comment, "response": respond}
    )
    if edit is not None:
        decision = decision.model_copy(update={"edit": _edited(review_id, edit)})
    decided = asyncio.run(working.decided(settings(), review_id, decision))
    if as_json:
        put_json(shapes.of_whole_review(decided))
    goes_on = decided.missing or f"`perdure resume {decided.run_id}` goes on"
    say(f"review {decided.review_id}: {decision.choice} by {decision.decided_by}; {goes_on}")


def with_editor(arguments: Sequence[str]) -> list[str]:
    """Give `perdure review … --edit` without a file the empty one, which stands for the editor."""
    given = list(arguments)
    if given[:1] == ["review"] and "--edit" in given:
        after = given.index("--edit") + 1
        named = given[after : after + 1]
        if not named or (named[0].startswith("-") and named[0] != "-"):
            given.insert(after, "")
    return given


def _choice(choices: dict[str, Any], decided_by: str | None, comment: str | None) -> str | None:
    """Return the one choice that the options name, or None; raises BadInput."""
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
    return chosen[0]


def _edited(review_id: str, name: str) -> Any:
    """Return the edit in a file, or what a person makes of the review in their editor; shows what it changes."""
    review = looked(lambda tx: ledger_reviews.find(tx, review_id))
    if not name and review.status != "open":
        # Refused with its reason when it is to be recorded: nobody writes what is thrown away.
        return None
    edit = _read_edit(name) if name else _from_editor(review)
    with suppress(TypeError, KeyError, AttributeError):
        # What is no edit at all is refused with its reason, when it is to be recorded.
        say(difference(review, edit))
    return edit


def _from_editor(review: Review) -> Any:
    is_text = review.kind == "report"
    before = form_of(review)
    if not sys.stdin.isatty() and not {"VISUAL", "EDITOR"} & os.environ.keys():
        raise BadInput(
            "--edit without FILE opens an editor, which needs a terminal: give --edit FILE"
        )
    try:
        after = click.edit(before, extension=".md" if is_text else ".json", require_save=False)
    except click.ClickException as error:
        raise BadInput(f"--edit: {error.message}; set EDITOR, or give a file") from error
    if after is None or after == before:
        raise BadInput("--edit: nothing was changed, and nothing recorded")
    return {"text": after} if is_text else _parsed(after, "the editor")


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
    if name.endswith(".md"):
        try:
            return {"text": content.decode()}
        except UnicodeDecodeError as error:
            raise BadInput(f"--edit {place} is no UTF-8 text: {error}") from error
    return _parsed(content, place)


def _parsed(content: bytes | str, place: str) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise BadInput(
            f"--edit {place} is no JSON ({error}); `perdure review ID` shows the form of an edit"
        ) from error


async def _found(tx: Transaction, review_id: str) -> tuple[Review, Review | None]:
    """Return a review, and the one in whose place a migration asked it."""
    review = await ledger_reviews.find(tx, review_id)
    for migration in await workflow_migrations.newest_first(tx, review.run_id):
        if (name := migration.instead_of(review.review_id)) is not None:
            return review, await ledger_reviews.get(tx, review.run_id, name)
    return review, None


def _show(review: Review, before: Review | None, *, as_json: bool) -> None:
    if as_json:
        put_json(shapes.of_whole_review(review))
        return
    put_text(
        f"review {review.review_id} of the {review.kind} of run {review.run_id}: {review.status}"
    )
    if review.due_at is not None:
        put_text(f"deadline {review.due_at}, then: {review.at_deadline}")
    for vote in review.votes:
        _show_decision(review, f"vote: {vote.choice} by {vote.decided_by}", vote.comment, vote.edit)
    if decision := review.decision:
        said = f"{decision.choice} by {decision.decided_by}"
        _show_decision(review, said, decision.comment, decision.edit)
        if decision.response is not None:
            put_text(f"response: {decision.response}")
    if before is not None:
        put_text(
            f"asked again, because a later version of the workflow shows something else than {before.review_id}:"
        )
        put_text(changed(before, review))
    put_text("\n" + KINDS[review.kind].described(review.shown))
    if review.status == "open":
        if review.missing:
            say(f"\n{review.missing}")
        say(
            f"\ndecide with: perdure review {review.review_id} --as YOU and {shapes.ways_of(review)};"
            " `perdure review --help` has their forms"
        )


def _show_decision(review: Review, said: str, comment: str | None, edit: Any) -> None:
    put_text(said)
    if comment is not None:
        put_text(f"comment: {comment}")
    if edit is not None:
        put_text(difference(review, edit))
