"""What a run and each of its checkpoints bear of the workflow that worked them: its version and its topology's digest."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, NamedTuple


class Stamp(NamedTuple):
    """A version of the workflow, and the fingerprint of its topology."""

    version: int
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Taken:
    """Which runs are looked for: those whose stamp is one of these (None: any), or, with `others`, all the rest."""

    stamps: Collection[Stamp] | None = None
    others: bool = False

    @property
    def columns(self) -> dict[str, Any]:
        """What statements take."""
        return {**columns(self.stamps), "taken": not self.others}


def columns(stamps: Collection[Stamp] | None) -> dict[str, Any]:
    """Return stamps as the two arrays that statements take, `versions` and `fingerprints`; None: of any run."""
    if stamps is None:
        return {"versions": None, "fingerprints": None}
    ordered = sorted(stamps)
    return {
        "versions": [each.version for each in ordered],
        "fingerprints": [each.fingerprint for each in ordered],
    }
