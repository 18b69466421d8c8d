"""Commands for whoever changes the workflow: record writes a run's history, replay plays histories with the code at hand."""

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graph.cli.exits import Code
from graph.cli.later import later
from graph.cli.output import put_json, put_text, say
from graph.cli.session import AsJson, RunName, settings

if TYPE_CHECKING:
    from graph import recording, runs, runtime, scaffolding, veiling
    from graph.replaying import all as replaying
else:
    scaffolding = later("graph.scaffolding")
    recording, veiling = later("graph.recording"), later("graph.veiling")
    runs, runtime = later("graph.runs"), later("graph.runtime")
    replaying = later("graph.replaying.all")

app = typer.Typer()
PANEL = "Change the workflow"


@app.command(rich_help_panel=PANEL)
def record(
    run: RunName,
    *,
    to: Annotated[Path, typer.Option("--to", metavar="FILE", help="Where the history is written.")],
    without_text: Annotated[
        bool,
        typer.Option("--without-text", help="Leave out what people wrote and what was read."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write a run's history into one file, for `perdure replay`: checkpoints, journal, decisions, effects."""

    async def work() -> dict[str, object]:
        async with runtime.open_runtime(settings()) as opened:
            found = await runs.find_run(opened, run)
            history = await recording.record(opened, found.run_id)
        history = veiling.veiled(history) if without_text else history
        content = history.packed()
        to.write_bytes(content)
        return {
            "run_id": str(history.run_id),
            "file": str(to),
            "bytes": len(content),
            "checkpoints": len(history.checkpoints),
            "text": history.header["text"],
        }

    told = asyncio.run(work())
    if as_json:
        put_json(told)
    else:
        put_text(f"{told['file']}: {told['checkpoints']} checkpoints of run {told['run_id']}")


@app.command(rich_help_panel=PANEL)
def replay(
    histories: Annotated[
        list[Path], typer.Argument(metavar="FILE|FOLDER…", help="Histories, or folders of them.")
    ],
    *,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", min=1, help="Processes at work; unset, as many as processors."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Play histories with the code at hand from every checkpoint, calling nobody, and say where it first differs."""
    settings()
    files = replaying.files_of(histories)
    played = replaying.play_files(files, jobs or os.cpu_count() or 1)
    if as_json:
        put_json([each.as_json() for each in played])
    else:
        for each in played:
            put_text(_told(each))
    different = sum(not each.ok for each in played)
    say(f"{len(played)} histories, {different} of them differ")
    if different:
        raise SystemExit(Code.FAILED)


@app.command("new-version", rich_help_panel=PANEL)
def new_version(
    *,
    force: Annotated[
        bool, typer.Option("--force", help="Although nodes, edges and channels are as released.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Begin a new version of the workflow in a checkout: its number, an upcast to fill in, the test that proves it."""
    root = scaffolding.checkout()
    written = [str(path.relative_to(root)) for path in scaffolding.new_version(root, force=force)]
    if as_json:
        put_json(written)
    else:
        for path in written:
            put_text(path)


def _told(played: "replaying.Played") -> str:
    if played.verdict is None:
        return f"{played.file}: {played.unreadable}"
    note = f" ({played.verdict.note})" if played.verdict.note else ""
    different = played.verdict.divergence
    if different is None:
        same = "the same from" if played.verdict.mode == "full" else "of the same shape at"
        return f"{played.file}: {same} all {played.verdict.checkpoints} checkpoints{note}"
    return f"{played.file}: {different.kind} differs at checkpoint {different.checkpoint_id}: {different.why}{note}"
