"""How runs look in a notebook: HTML in which everything from outside is text and nothing else."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any
from uuid import UUID

from markdown_it import MarkdownIt

from graph.runtime import Runtime
from ledger import journal, sources
from ledger.questions import Review
from ledger.runs import Run

# Without "html", markup in a document's text is shown and not obeyed; links to scripts are refused by default.
_MARKDOWN = MarkdownIt("commonmark", {"html": False})


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of values under names."""

    names: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    def _repr_html_(self) -> str:
        lines = [_row("th", self.names), *(_row("td", row) for row in self.rows)]
        return f"<table>{''.join(lines)}</table>"


def run_html(run: Run, report: Path | None, reviews: Sequence[Review]) -> str:
    """Return where a run stands: what it waits for, or its report."""
    parts = [
        f"<p>Run <code>{run.run_id}</code>: <b>{run.status}</b> {escape(run.reason or '')}</p>"
    ]
    parts += [
        f"<p>Waits for review <code>{escape(review.review_id)}</code> of its {review.kind}</p>"
        for review in reviews
    ]
    if report is not None:
        parts.append(
            report_html(report.read_text())
            if report.exists()
            else f"<p>Report: {escape(str(report))}</p>"
        )
    return "".join(parts)


def report_html(markdown: str) -> str:
    """Return a report as HTML."""
    return str(_MARKDOWN.render(markdown))


async def sources_table(runtime: Runtime, run_id: UUID) -> Table:
    """Return what a run read."""
    async with runtime.ledger.transaction() as tx:
        read = await sources.everything(tx, run_id)
    rows = tuple((source.title, source.uri, source.status, source.source_id) for source in read)
    return Table(("title", "uri", "status", "source"), rows)


async def journal_table(runtime: Runtime, run_id: UUID) -> Table:
    """Return the outside calls of a run: each is made once, however often the run was resumed."""
    async with runtime.ledger.transaction() as tx:
        called = await journal.operations(tx, run_id)
    rows = tuple(
        (operation.task_id, operation.kind, operation.status, len(operation.attempts))
        for operation in called
    )
    return Table(("task", "call", "status", "attempts"), rows)


def _row(cell: str, values: Iterable[Any]) -> str:
    return "<tr>" + "".join(f"<{cell}>{escape(str(value))}</{cell}>" for value in values) + "</tr>"
