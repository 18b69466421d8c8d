"""Deliberate faults in our own code, each applied within one process that works: what the campaign must notice."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def seeded(name: str | None) -> Iterator[None]:
    """Break the product in the way of this name; None leaves it whole."""
    assert name is None
    yield
