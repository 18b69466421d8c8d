"""How a fault is put into our own code: a name that means something else, or a statement that is rewritten."""

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias
from unittest.mock import patch

import psycopg

Apply: TypeAlias = Callable[[], AbstractContextManager[Any]]


@dataclass(frozen=True)
class Bug:
    """A fault, and where it shows: the first boundaries of the scenario that `where` is found in, or no harm at all."""

    apply: Apply
    scenario: str
    action: str | None = None
    where: str = ""
    cases_max: int = 4


def rewritten(pattern: str, replacement: str) -> Apply:
    """Return a fault in every SQL statement in which the pattern is found."""
    found = re.compile(pattern, re.DOTALL)

    @contextmanager
    def apply() -> Iterator[None]:
        execute = psycopg.AsyncCursor.execute

        async def rewriting(self: Any, query: Any, *args: Any, **kwargs: Any) -> Any:
            if isinstance(query, str):
                query = found.sub(replacement, query)
            return await execute(self, query, *args, **kwargs)

        with patch.object(psycopg.AsyncCursor, "execute", rewriting):
            yield

    return apply


def replaced(owner: Any, name: str, value: Any) -> Apply:
    """Return the fault that a name of our code means something else."""
    return lambda: patch.object(owner, name, value)
