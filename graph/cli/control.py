"""Commands that take a run in hand: explain, retry, fork."""

import asyncio
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graph.cli.later import later
from graph.cli.output import put_json, put_text, say
from graph.cli.progress import watch
from graph.cli.run import resumable, tell
from graph.cli.session import AsJson, RunName, looked_at_run, settings
from graph.explaining import explained, migrations, origin, retried
from ledger import integrity
from ledger.db import Transaction
from ledger.runs import Run

if TYPE_CHECKING:
    from graph.cli import working
else:
    working = later("graph.cli.working")

app = typer.Typer()
PANEL = "Take a run in hand"


class ForkEffects(StrEnum):
    """What `perdure fork --effects` takes."""

    FORBID = "forbid"
    REUSE = "reuse"
    REISSUE = "reissue"


class Rule(StrEnum):
    """Whose findings stand after a retry."""

    FIRST = "first"
    LATEST = "latest"
    REVIEW = "review"


@app.command(rich_help_panel=PANEL)
def explain(run: RunName, *, as_json: AsJson = False) -> None:
    """Say of each recovery what was loaded, rejected, reused, repeated, and why the run went on as it did."""
    told = looked_at_run(run, _explained)
    if as_json:
        put_json(told["recoveries"])
        return
    put_text(f"run {told['run_id']}: {told['status']} ({told['phase']})")
    if told["reason"]:
        put_text(f"why: {told['reason']}")
    for each in told["damage"]:
        put_text(f"damaged: {each}")
    if told["origin"]:
        fork = told["origin"]
        put_text(f"forked from run {fork['origin_run']} at checkpoint {fork['origin_checkpoint']}")
    for each in told["retries"]:
        put_text(_retry(each))
    for each in told["migrations"]:
        put_text(_migration(each))
    if not told["recoveries"]:
        put_text("it was never recovered: so far no worker has taken it up from another")
    for number, each in zip(range(len(told["recoveries"]), 0, -1), told["recoveries"], strict=True):
        _tell_recovery(number, each)


async def _explained(tx: Transaction, of: Run) -> dict[str, Any]:
    recoveries = await explained(tx, of.run_id)
    return {
        "run_id": str(of.run_id),
        "status": of.status,
        "phase": of.phase,
        "reason": of.reason,
        "damage": [str(each) for each in await integrity.foreign_changes(tx, of.run_id)],
        "origin": await origin(tx, of.run_id),
        "retries": await retried(tx, of.run_id),
        "migrations": await migrations(tx, of.run_id),
        "recoveries": [{**each, "at": each["at"].isoformat()} for each in recoveries],
    }


def _retry(each: dict[str, Any]) -> str:
    stands = f"; stands: {each['settled']}" if each["settled"] else "; not ended yet"
    return f"task {each['task_id']} was researched anew (rule {each['rule']}) at {each['requested_at']}{stands}"


def _migration(each: dict[str, Any]) -> str:
    steps, asked = each["changes"]["steps"], each["changes"]["reviews"]
    again = "".join(f"; review {old} is asked again as {new}" for old, new in asked.items())
    return (
        f"migrated from workflow version {each['from_version']} to {each['to_version']} at {each['at']}: it went on with"
        f" {', '.join(steps['after'])} where it stood before {', '.join(steps['before'])}{again}"
    )


def _tell_recovery(number: int, each: dict[str, Any]) -> None:
    put_text(f"\nrecovery {number} at {each['at']} by {each['worker']}: {each['outcome']}")
    lines: dict[str, list[str]] = {
        "loaded": [_loaded(each)],
        "rejected": [f"{one['checkpoint_id']}: {one['reason']}" for one in each["rejected"]],
        "run again": each["reruns"],
        "damaged": each["damage"],
        "reused": [f"{len(each['reused'])} answers that were at hand; no call was made for them"],
        "repeated": [f"{name}: nobody knew how its call had ended" for name in each["repeated"]],
        "reconciled": [
            f"{one['key']}: its answer had come and was not used; no call was made, now {one['outcome']}"
            for one in each["reconciled"]
        ],
        "sent back": [f"task {task}: its retry had not begun" for task in each["retries"]],
        "asked": [
            f"{one['name']}: {'ok' if one['ok'] else 'MISSING'}, {one['detail']}"
            for one in each["asked"]
        ],
        "next": [", ".join(each["next"]) or "nothing"],
        "because": [each["why"]],
    }
    for name, told in lines.items():
        for line in told:
            put_text(f"  {name:<11} {line}")


def _loaded(each: dict[str, Any]) -> str:
    if each["loaded_checkpoint"] is None:
        return "no checkpoint"
    return f"checkpoint {each['loaded_checkpoint']} ({each['boundary']})"


@app.command(rich_help_panel=PANEL)
def retry(
    run: RunName,
    *,
    task: Annotated[str, typer.Option(metavar="ID", help="The task to research anew: t1, t2, …")],
    accept: Annotated[
        Rule,
        typer.Option(
            help="Whose findings stand: of the first attempt, of the latest, or as a person decides."
        ),
    ] = Rule.LATEST,
    as_json: AsJson = False,
) -> None:
    """Research one branch of an unfinished run anew, then work the run on. Nothing that was found is removed.

    Its calls are made again; all other branches stay as they are. A finished run is forked first. Exit codes as of
    `perdure run`.
    """
    loaded = settings()
    with watch() as watched, resumable(watched, run):
        worked = asyncio.run(working.retried(loaded, watched, run, task, accept.value))
    tell(worked, as_json=as_json)


@app.command(rich_help_panel=PANEL)
def fork(
    run: RunName,
    *,
    at: Annotated[
        str,
        typer.Option(
            metavar="CHECKPOINT", help="A checkpoint of `perdure history`, or its beginning."
        ),
    ],
    effects: Annotated[
        ForkEffects,
        typer.Option(
            help="What becomes of this run's publications in the new one: none, those that were made count, made once more."
        ),
    ] = ForkEffects.FORBID,
    as_json: AsJson = False,
) -> None:
    """Begin a new run where this one was at a checkpoint, with the ledger as it stood then. This one stays as it is."""
    forked = asyncio.run(working.forked(settings(), run, at, effects.value))
    if as_json:
        put_json({"run_id": str(forked.run_id), "status": forked.status, "phase": forked.phase})
    else:
        put_text(str(forked.run_id))
    say(f"run {forked.run_id} begins at that checkpoint; `perdure resume {forked.run_id}` works it")
