"""Shows on standard error how far a run is: a live display on a terminal, plain lines elsewhere.

Telling never stops the work: it neither waits nor fails.
"""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from uuid import UUID

from rich.console import Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn
from rich.table import Table
from rich.text import Text
from typing_extensions import override

from graph.cli.output import console_of, one_line, say

# A log of a long ingest stays readable: a line for every tenth of it.
INGEST_STEPS = 10
# Enough to look alive over a slow line.
REFRESHES_PER_SECOND = 8


class Lines:
    """Tells in plain lines, without any control character; a Progress of nodes/resources.py.

    `begun` is the run that it was told of, None before there is one.
    """

    def __init__(self) -> None:
        self.begun: UUID | None = None
        self._step = -1

    def ingesting(self, done: int, total: int, uri: str) -> None:
        """Say it at every tenth of the documents."""
        step = INGEST_STEPS * done // max(total, 1)
        if step > self._step:
            self._step = step
            self.line(f"documents: {done} of {total}")

    def phase(self, run_id: UUID, phase: str, detail: str) -> None:
        """Say it; the first time, name the run."""
        if self.begun is None:
            self.begun = run_id
            self.line(f"run {run_id} (when it is interrupted, `perdure resume {run_id}` goes on)")
        if phase != "begin":
            self.line(f"{phase}: {detail}")

    def task(self, run_id: UUID, task_id: str, status: str, detail: str) -> None:
        """Say it."""
        self.line(f"  {task_id} {status}: {detail}")

    def line(self, text: str) -> None:
        """Write one line."""
        say(one_line(text))


class Display(Lines):
    """Tells on a terminal: the documents as a bar, one line per task that changes in its place, phases above."""

    def __init__(self) -> None:
        super().__init__()
        console = console_of(sys.stderr)
        self._bar = Progress(
            TextColumn("documents"), BarColumn(), MofNCompleteColumn(), console=console
        )
        self._reading: TaskID | None = None
        self._tasks: dict[str, tuple[str, str]] = {}
        self.live = Live(
            console=console, get_renderable=self._picture, refresh_per_second=REFRESHES_PER_SECOND
        )

    @override
    def ingesting(self, done: int, total: int, uri: str) -> None:
        if self._reading is None:
            self._reading = self._bar.add_task("", total=total)
        self._bar.update(self._reading, completed=done)

    @override
    def task(self, run_id: UUID, task_id: str, status: str, detail: str) -> None:
        self._tasks[task_id] = (status, detail)

    @override
    def line(self, text: str) -> None:
        self.live.console.print(Text(one_line(text)))

    def _picture(self) -> Group:
        lines = Table.grid(padding=(0, 1))
        for column in range(3):
            lines.add_column(no_wrap=True, overflow="ellipsis", ratio=1 if column == 2 else None)  # noqa: PLR2004
        # A copy: the display is drawn by a thread of its own.
        for task_id, (status, detail) in list(self._tasks.items()):
            lines.add_row(*(Text(one_line(part)) for part in (f"  {task_id}", status, detail)))
        return Group(self._bar, lines) if self._reading is not None else Group(lines)


@contextmanager
def watch() -> Generator[Lines]:
    """Yield what shows a run's progress while it is worked."""
    if not sys.stderr.isatty():
        yield Lines()
        return
    display = Display()
    with display.live:
        yield display
