"""Commands that work a run: run and resume. They tell its id as soon as it exists, and how to go on when they stop."""

import asyncio
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias
from uuid import UUID

import typer
from pydantic import ValidationError

from graph.cli import shapes
from graph.cli.exits import Code, Interrupted, code_of
from graph.cli.later import later
from graph.cli.output import put_json, put_markdown, say
from graph.cli.progress import Lines, watch
from graph.cli.session import AsJson, RunName, settings
from ledger.ids import new_run_id
from ledger.questions import Review
from nodes.options import (
    BRANCHES_MAX,
    QUESTION_CHARACTERS_MAX,
    BadInput,
    RunOptions,
    checked_question,
)

if TYPE_CHECKING:
    from graph.cli import working
else:
    working = later("graph.cli.working")

app = typer.Typer()
PANEL = "Work"

# UTF-8 takes at most four bytes for a character; one more shows that there was more.
_STDIN_BYTES_MAX = 4 * (QUESTION_CHARACTERS_MAX + 1)

_DEFAULTS = RunOptions()

Publish: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="TARGET",
        help="Where the report goes: file:PATH, https://…, mailto:NAME@HOST, postgres:TABLE; may be given more than once.",
    ),
]
BudgetOption: TypeAlias = Annotated[
    str,
    typer.Option(
        metavar="LIMITS",
        help="What the run may ask of a language model, for example tokens=500000,usd=5,calls=200,minutes=90.",
    ),
]
BranchBudget: TypeAlias = Annotated[
    str, typer.Option(metavar="LIMITS", help="The same for each branch.")
]
Notify: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="TARGET",
        help="Who is told when a person is needed or the run is done; the same forms.",
    ),
]
TwoPersons: TypeAlias = Annotated[
    str,
    typer.Option(
        metavar="KINDS",
        help="Reviews that two different people have to decide alike, separated by commas; added to those that are set.",
    ),
]
ReviewDeadline: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="TIME", help="How long a review waits: 90m, 12h, 3d, 2w; unset: for ever."
    ),
]
AtDeadline: TypeAlias = Annotated[
    str,
    typer.Option(
        metavar="ACT", help="What happens to a review then: stay (it waits on), reject or go-on."
    ),
]


@app.command(rich_help_panel=PANEL)
def run(
    question: Annotated[
        str, typer.Argument(metavar="QUESTION", help="What to find out; - reads standard input.")
    ],
    *,
    corpus: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH",
            help="A file or folder to research, or pydoc:topics; may be given more than once.",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Who thinks; unset: PERDURE_MODEL, else extractive."),
    ] = None,
    review: Annotated[
        str,
        typer.Option(
            help="When to stop for a person: none, auto, or out of plan,sources,conflict,report,effect."
        ),
    ] = _DEFAULTS.review,
    two_persons: TwoPersons = "",
    review_deadline: ReviewDeadline = None,
    at_deadline: AtDeadline = _DEFAULTS.at_deadline,
    branches: Annotated[
        int, typer.Option(min=1, max=BRANCHES_MAX, help="Tasks researched at the same time.")
    ] = _DEFAULTS.branches,
    budget: BudgetOption = "",
    branch_budget: BranchBudget = "",
    publish: Publish = None,
    notify: Notify = None,
    run_id: Annotated[
        UUID | None, typer.Option(metavar="UUID", help="The id of the new run; unset: a new one.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Start a run and work it until its report is written or a person has to decide.

    For example: perdure run "How are rows locked?" --corpus /usr/share/doc/postgresql-doc-15

    Exit codes: 0 done, 1 failed or cancelled, 2 usage, 3 paused for a review, 4 blocked until a person acts,
    5 another worker holds the run, 130 interrupted.
    """
    asked = checked_question(_read_question() if question == "-" else question)
    loaded = settings()
    options = _options(
        corpus=corpus or (),
        model=model or loaded.model,
        review=review,
        two_persons=[kind.strip() for kind in two_persons.split(",") if kind.strip()],
        review_deadline=review_deadline,
        at_deadline=at_deadline,
        branches=branches,
        budget=budget,
        branch_budget=branch_budget,
        publish=publish or (),
        notify=notify or (),
    )
    name = run_id or new_run_id()
    with watch() as watched, resumable(watched, None):
        worked = asyncio.run(working.start(loaded, watched, asked, options, name))
    tell(worked, as_json=as_json)


@app.command(rich_help_panel=PANEL)
def resume(
    run: RunName,
    *,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Who thinks from now on; unset: who did. What was accepted stays."
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option("--as", metavar="WHO", help="Who wants the other model, for the audit log."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Go on with a run that was interrupted, killed, paused for a review or failed.

    No finished call is made again. A finished run is only shown. Exit codes as of `perdure run`.
    """
    if by is not None and model is None:
        raise BadInput("--as says who wants another model: add --model NAME")
    loaded = settings()
    with watch() as watched, resumable(watched, run):
        worked = asyncio.run(working.resume(loaded, watched, run, model, by))
    tell(worked, as_json=as_json)


def _read_question() -> str:
    # Bytes that are no UTF-8 become what the check of the question names with its place.
    return sys.stdin.buffer.read(_STDIN_BYTES_MAX).decode("utf-8", "surrogateescape")


def _options(**given: Any) -> RunOptions:
    try:
        return RunOptions.model_validate(given)
    except ValidationError as error:
        told = "; ".join(
            f"--{str(problem['loc'][0]).replace('_', '-')}: {problem['msg'].removeprefix('Value error, ')}"
            for problem in error.errors(include_input=False)
        )
        raise BadInput(told) from None


@contextmanager
def resumable(watched: Lines, name: str | None) -> Generator[None]:
    """Say which run goes on after Ctrl-C: the one that was begun, else the one that was named."""
    try:
        yield
    except KeyboardInterrupt:
        # What is open was closed; a key that is held down must not end the process before it has said how to go on.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        raise Interrupted(str(watched.begun) if watched.begun else name) from None


def tell(worked: "working.Worked", *, as_json: bool) -> None:
    """Write what came of it and end with its code; raises typer.Exit."""
    standing = worked.outcome.run
    if as_json:
        path = worked.outcome.report_path
        put_json(
            {
                "run_id": str(standing.run_id),
                "status": standing.status,
                "phase": standing.phase,
                "report_path": str(path) if path else None,
                "reviews": [shapes.of_review(review) for review in worked.outcome.reviews],
            }
        )
    elif worked.report is not None:
        put_markdown(worked.report)
        say(f"\nrun {standing.run_id} is done; the report is in {worked.outcome.report_path}")
        say(f"`perdure show {standing.run_id}` has its plan and findings")
    for review in worked.outcome.reviews:
        _tell_review(review)
    code = code_of(standing.status)
    if code is Code.FAILED:
        say(f"run {standing.run_id} is {standing.status}" + _because(standing.reason))
    raise typer.Exit(code)


def _because(reason: str | None) -> str:
    return f": {reason}" if reason else ""


def _tell_review(review: Review) -> None:
    name = review.review_id
    until = f" until {review.due_at:%Y-%m-%d %H:%M:%S %Z}" if review.due_at else ""
    say(
        f"\nrun {review.run_id} waits for a review ({review.kind}){until}:\n"
        f"  perdure review {name}            shows what is to be decided\n"
        f"  perdure review {name} --as YOU   with {shapes.ways_of(review)}\n"
        f"  perdure resume {review.run_id}   goes on"
    )
