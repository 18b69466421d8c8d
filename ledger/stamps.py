"""What a run and each of its checkpoints bear of the workflow that worked them: its version and its topology's digest."""

from collections.abc import Collection
from typing import Any, NamedTuple


class Stamp(NamedTuple):
    """A version of the workflow, and the fingerprint of its topology."""

    version: int
    fingerprint: str


def columns(stamps: Collection[Stamp]) -> dict[str, Any]:
    """Return stamps as the two arrays that statements take, `versions` and `fingerprints`."""
    ordered = sorted(stamps)
    return {
        "versions": [each.version for each in ordered],
        "fingerprints": [each.fingerprint for each in ordered],
    }
