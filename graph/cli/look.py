"""Commands that look at what is recorded: runs, show, sources, journal, history, artifact, verify. They work nothing."""

import asyncio
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graph import supporting
from graph.cli import shapes
from graph.cli.exits import Code
from graph.cli.later import later
from graph.cli.output import put_bytes, put_json, put_markdown, put_table, put_text, say
from graph.cli.session import AsJson, RunName, looked, looked_at_run, settings
from ledger import (
    artifacts,
    citations,
    findings,
    journal,
    records,
    sources,
    tasks,
    verification,
    workers,
    workflows,
)
from ledger import runs as ledger_runs
from ledger.db import Transaction
from ledger.runs import Run
from nodes.tools.manifest import Manifest

if TYPE_CHECKING:
    from graph import rechecking
else:
    rechecking = later("graph.rechecking")

app = typer.Typer()
PANEL = "Look at what is recorded"

# `sha256:` and 48 bits: enough for `perdure artifact` to find it, and it fits into a line.
DIGEST_CHARACTERS = 19


@app.command(rich_help_panel=PANEL)
def runs(*, as_json: AsJson = False) -> None:
    """List the runs, newest first, and whether somebody works them.

    working: a living worker has it; orphaned: its worker died, `perdure sweep` takes it up; drained: its worker was told
    to end (SIGTERM); interrupted: somebody stopped it (Ctrl-C); none: nobody works it.
    """

    async def look(tx: Transaction) -> tuple[list[dict[str, Any]], str]:
        workers_of = await workers.of_runs(tx)
        every = await ledger_runs.newest_first(tx)
        alone = supporting.unsupported(await workflows.unsupported(tx, supporting.HERE))
        return [shapes.of_run(run, workers_of.get(run.run_id, "none")) for run in every], alone

    found, alone = looked(look)
    if as_json:
        put_json(found)
    else:
        columns = ("run_id", "status", "worker", "phase", "created_at", "question")
        put_table(columns, [[run[column] for column in columns] for run in found])
    if alone:
        say(alone)


@app.command(rich_help_panel=PANEL)
def show(run: RunName, *, as_json: AsJson = False) -> None:
    """Show a run: its plan, findings, report, citations, and the documents that could not be read."""
    shown, alone = looked_at_run(run, _shown_with_its_workers)
    if alone:
        say(alone)
    if as_json:
        put_json(shown)
        return
    put_text(f"run {shown['run_id']}: {shown['status']} ({shown['phase']})")
    if shown["reason"]:
        put_text(f"why: {shown['reason']}")
    put_text(f"question: {shown['question']}\n")
    task_columns = ("id", "status", "attempts", "depends_on", "question", "reason")
    put_table(
        ("task", *task_columns[1:]),
        [[task[name] for name in task_columns] for task in shown["tasks"]],
    )
    columns = ("finding_id", "task_id", "kind", "verdict", "claim")
    put_table(columns, [[each[name] for name in columns] for each in shown["findings"]])
    if shown["usage"]["calls"]:
        put_text(shapes.usage_line(shown["usage"]))
    if shown["skipped"]:
        put_text("not read:")
        for skipped in shown["skipped"]:
            put_text(f"  {skipped['uri']}: {skipped['reason']}")
        put_text("")
    put_markdown(shown["report_markdown"] or "There is no report yet.")


async def _shown_with_its_workers(tx: Transaction, run: Run) -> tuple[dict[str, Any], str]:
    alone = await workflows.unsupported(tx, supporting.HERE)
    its = {run_id: stamp for run_id, stamp in alone.items() if run_id == run.run_id}
    return await _shown(tx, run), supporting.unsupported(its)


async def _shown(tx: Transaction, run: Run) -> dict[str, Any]:
    report = run.report_artifact
    cited = await citations.of_report(tx, run.run_id, report) if report else []
    return {
        "run_id": str(run.run_id),
        "question": run.question,
        "status": run.status,
        "phase": run.phase,
        "reason": run.reason,
        "tasks": [shapes.of_task(task) for task in await tasks.everything(tx, run.run_id)],
        "findings": [
            shapes.of_finding(finding) for finding in await findings.standing(tx, run.run_id)
        ],
        "report_markdown": await artifacts.get_text(tx, report) if report else None,
        "usage": shapes.usage_of(await journal.operations(tx, run.run_id)),
        "citations": [shapes.of_citation(citation) for citation in cited],
        "skipped": await _skipped(tx, run),
    }


async def _skipped(tx: Transaction, run: Run) -> list[dict[str, str]]:
    if run.corpus_artifact is None:
        return []
    manifest = Manifest.from_json(await artifacts.get(tx, run.corpus_artifact))
    return [asdict(skipped) for skipped in manifest.skipped]


@app.command("sources", rich_help_panel=PANEL)
def list_sources(
    run: RunName,
    *,
    recheck: Annotated[
        bool,
        typer.Option(
            "--recheck",
            help="Read them again: what is changed or gone, and which quotes still stand.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List the documents that a run read, with the digests of their bytes and of their text.

    With --recheck they are read again as they are now. The bytes that the run kept, and its report, stay as they are.
    """
    if recheck:
        _tell_rechecked(asyncio.run(rechecking.rechecked(settings(), run)), as_json=as_json)
        return

    async def look(tx: Transaction, of: Run) -> list[dict[str, Any]]:
        return [shapes.of_source(source) for source in await sources.everything(tx, of.run_id)]

    found = looked_at_run(run, look)
    if as_json:
        put_json(found)
    else:
        columns = ("source_id", "status", "title", "uri")
        rows = [
            [*(source[name] for name in columns), source["text_artifact"][:DIGEST_CHARACTERS]]
            for source in found
        ]
        put_table((*columns, "text_artifact"), rows)


def _tell_rechecked(found: list[dict[str, Any]], *, as_json: bool) -> None:
    if as_json:
        put_json(found)
        return
    columns = ("source_id", "state", "uri", "reason")
    put_table(columns, [[each[name] for name in columns] for each in found])
    of_quote = ("number", "state", "similarity", "exact")
    rows = [[quote[name] for name in of_quote] for each in found for quote in each["citations"]]
    put_table(("citation", *of_quote[1:]), sorted(rows))


@app.command("journal", rich_help_panel=PANEL)
def list_journal(run: RunName, *, as_json: AsJson = False) -> None:
    """List the outside calls of a run and every attempt at them."""

    async def look(tx: Transaction, of: Run) -> list[dict[str, Any]]:
        return [
            shapes.of_operation(operation) for operation in await journal.operations(tx, of.run_id)
        ]

    found = looked_at_run(run, look)
    if as_json:
        put_json(found)
        return
    attempts = ("number", "outcome", "accepted", "reused", "started_at", "worker", "reason")
    rows = [
        [each["operation_id"], each["task_id"], each["kind"], *(attempt[name] for name in attempts)]
        for each in found
        for attempt in each["attempts"]
    ]
    put_table(("operation_id", "task", "kind", "attempt", *attempts[1:]), rows)


@app.command(rich_help_panel=PANEL)
def history(run: RunName, *, as_json: AsJson = False) -> None:
    """List the checkpoints of a run, newest first, and whether their seals hold.

    A seal is valid, broken, missing, rejected, or unknown where the key that made it is not set here. A run can be forked
    from its own checkpoints, not from those of its branches, whose seal is valid.
    """

    async def look(tx: Transaction, of: Run) -> list[dict[str, Any]]:
        return [shapes.of_record(record) for record in await records.verified(tx, of.run_id)]

    found = looked_at_run(run, look)
    if as_json:
        put_json(found)
    else:
        told = ("checkpoint_id", "seal", "can_fork", "boundary", "phase", "tasks")
        columns = (*told, "workflow_version", "created_at")
        put_table(columns, [[record[name] for name in columns] for record in found])


@app.command(rich_help_panel=PANEL)
def artifact(
    digest: Annotated[
        str,
        typer.Argument(
            metavar="DIGEST", help="sha256:… or its hex digits, or the beginning of them."
        ),
    ],
    *,
    as_json: Annotated[
        bool, typer.Option("--json", help="Describe it instead: id, media type, size.")
    ] = False,
) -> None:
    """Write the exact bytes of an artifact to standard output.

    For example: perdure artifact sha256:9f86d08 > page.html
    """

    async def look(tx: Transaction) -> tuple[artifacts.Description, bytes]:
        found = await artifacts.find(tx, digest)
        return found, b"" if as_json else await artifacts.get(tx, found.artifact_id)

    described, content = looked(look)
    if as_json:
        put_json(asdict(described))
    else:
        put_bytes(content)


@app.command(rich_help_panel=PANEL)
def verify(run: RunName, *, as_json: AsJson = False) -> None:
    """Check a run's rows against their seals, and its digests, quotes, citations, journal, checkpoints and audit log.

    Exit code 0 when all is well and 1 when anything is not.
    """

    async def look(tx: Transaction) -> tuple[verification.Check, ...]:
        # The row of a run may be what is damaged.
        return await verification.verify(tx, await ledger_runs.find_id(tx, run))

    tell(looked(look), as_json=as_json)


def tell(checks: tuple[verification.Check, ...], *, as_json: bool) -> None:
    """Write checks and end with 1 if one of them failed; raises typer.Exit."""
    ok = all(check.ok for check in checks)
    if as_json:
        put_json({"ok": ok, "checks": [asdict(check) for check in checks]})
    else:
        put_table(
            ("check", "", "detail"),
            [[check.name, "ok" if check.ok else "FAILED", check.detail] for check in checks],
        )
    raise typer.Exit(Code.DONE if ok else Code.FAILED)
