"""Where the command line writes: results to standard output, everything else to standard error.

Questions, documents and addresses come from anywhere. Before they reach a terminal every control character in them is
replaced, so that none can move the cursor, change a title or reorder a line; and none of their text is read as markup.
"""

import json
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from contextlib import suppress
from io import TextIOWrapper
from typing import Any, cast

from rich import box
from rich.console import Console
from rich.markdown import Markdown
from rich.table import Table
from rich.text import Text

# A pipe has no width; this holds a row of every table without breaking an id.
PIPE_WIDTH_CHARACTERS = 160

# What reorders a line: a right-to-left text needs none of these, a forged one does (Unicode TR 36).
_REORDERING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def clean(text: str) -> str:
    """Return text that a terminal shows and does not obey; lines and tabs stay."""
    return "".join(character if _is_harmless(character) else _REPLACEMENT for character in text)


def one_line(text: str) -> str:
    """Return the same on one line."""
    return clean(" ".join(text.split()))


def _is_harmless(character: str) -> bool:
    if character in "\n\t":
        return True
    # Cc: controls, with escape and the eight-bit ones; Cs: halves of surrogate pairs, which no stream can encode.
    return character not in _REORDERING and unicodedata.category(character) not in {"Cc", "Cs"}


def prepare_streams() -> None:
    """Never fail for a character that the streams' encoding lacks."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def say(message: str) -> None:
    """Write a message to standard error; where nobody reads it any more, nothing is lost."""
    with suppress(BrokenPipeError):
        print(clean(message), file=sys.stderr, flush=True)  # noqa: T201  # this is what a command line is for


def put_json(value: Any) -> None:
    """Write exactly one JSON value to standard output, in ASCII."""
    print(json.dumps(value, indent=2 if sys.stdout.isatty() else None), flush=True)  # noqa: T201


def put_text(text: str) -> None:
    """Write text to standard output."""
    print(clean(text).rstrip("\n"), flush=True)  # noqa: T201


def put_markdown(markdown: str) -> None:
    """Write Markdown to standard output: laid out on a terminal, as it is where it is piped."""
    if sys.stdout.isatty():
        # No hyperlinks: they hide an address from outside behind a text from outside.
        console_of(sys.stdout).print(Markdown(clean(markdown), hyperlinks=False))
    else:
        put_text(markdown)


def put_bytes(content: bytes) -> None:
    """Write bytes to standard output as they are."""
    sys.stdout.flush()
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()


def put_table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, ids: int = 1) -> None:
    """Write a table to standard output; the first `ids` columns are never broken, so that they can be copied."""
    rows = list(rows)
    if not rows:
        put_text("none")
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for position, column in enumerate(columns):
        table.add_column(column, no_wrap=position < ids, overflow="fold")
    for row in rows:
        table.add_row(*(Text(one_line(_shown(cell))) for cell in row))
    console_of(sys.stdout).print(table)


def console_of(stream: Any) -> Console:
    """Return a console that takes text as text; NO_COLOR and TERM are honoured by rich."""
    width = None if stream.isatty() else PIPE_WIDTH_CHARACTERS
    return Console(
        file=stream, width=width, markup=False, emoji=False, highlight=False, soft_wrap=False
    )


def _shown(cell: Any) -> str:
    match cell:
        case None:
            return "–"
        case bool():
            return "yes" if cell else "no"
        case list() | tuple():
            return ", ".join(map(str, cast("Sequence[object]", cell))) or "–"
        case dict():
            return ", ".join(
                f"{value} {name}" for name, value in cast("dict[str, object]", cell).items()
            )
        case _:
            return str(cell)
