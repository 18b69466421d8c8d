"""SQL as text: named statements from queries/*.sql, each with the number of rows that it returns.

A statement begins with `-- name: GetRun :one`. `:one` returns exactly one row, `:maybe` one or none, `:many` any
number, `:none` none. Values are passed by name only; nothing is ever formatted into a statement.
"""

import re
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import LiteralString, cast

_COMMENT = re.compile(r"^--.*$", re.MULTILINE)
# FOR UPDATE and DO UPDATE count too: whoever locks a row is about to write.
_WRITES = re.compile(r"\b(INSERT INTO|UPDATE|DELETE FROM|pg_advisory_xact_lock)\b")
_LEASES = re.compile(r"\bledger\.leases\b")
_HEADER = re.compile(r"^-- name: (\w+) :(one|maybe|many|none)$", re.MULTILINE)


@dataclass(frozen=True)
class Statement:
    """One named statement; `rows` is one, maybe, many or none."""

    name: str
    rows: str
    text: LiteralString

    @cached_property
    def writes(self) -> bool:
        """Whether it changes or locks anything."""
        return bool(_WRITES.search(_COMMENT.sub("", self.text)))

    @cached_property
    def on_lease(self) -> bool:
        """Whether it is about a lease, which is locked before the head of its run."""
        return bool(_LEASES.search(_COMMENT.sub("", self.text)))


def load(noun: str) -> dict[str, Statement]:
    """Return the statements of queries/<noun>.sql by name."""
    source = files("ledger").joinpath("queries", f"{noun}.sql").read_text(encoding="utf-8")
    parts = _HEADER.split(source)[1:]
    # The text comes from a file of this package, never from a caller: that is what LiteralString asks for.
    return {
        name: Statement(name, rows, cast("LiteralString", text.strip()))
        for name, rows, text in zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    }
