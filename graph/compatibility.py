"""May this code go on with a run? Decided from what the run bears alone, without looking at anything else.

A newer version comes first: nothing that this code knows says anything about it. A version number counts as much as a
topology, because a version may change what a step means and leave every edge as it was.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import TypeAlias

from graph.topologies import Described, differences
from graph.workflow import Definition
from ledger.stamps import Stamp


@dataclass(frozen=True, slots=True)
class Same:
    """It was begun by this very workflow."""


@dataclass(frozen=True, slots=True)
class Compatible:
    """It was begun by another one, and somebody proved that the change is harmless: `reason` says how."""

    reason: str


@dataclass(frozen=True, slots=True)
class Migratable:
    """Upcasts lead from its version here; `steps` are the versions that it becomes on the way, this one last."""

    steps: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Newer:
    """It is of a version that this code does not know."""

    version: int


@dataclass(frozen=True, slots=True)
class Unknown:
    """Going on could skip a step or repeat one; `differences` name every place where the workflows differ, in words."""

    differences: tuple[str, ...]


Verdict: TypeAlias = Same | Compatible | Migratable | Newer | Unknown


def judge(stamp: Stamp, definition: Definition, was: Described | None = None) -> Verdict:
    """Return what this workflow may do with a run of another; `was` is the other's topology, where it is known.

    Without `was` the verdict is the same, only that an unknown topology's differences may be named less exactly.
    """
    if stamp.version > definition.version:
        return Newer(stamp.version)
    if stamp == definition.stamp:
        return Same()
    if (reason := definition.compatible.get(stamp.fingerprint)) is not None:
        return Compatible(reason)
    steps = tuple(range(stamp.version + 1, definition.version + 1))
    if steps and _is_released(stamp, definition) and not _missing(stamp, definition):
        return Migratable(steps)
    return Unknown(_told(stamp, definition, was or definition.topologies.get(stamp.fingerprint)))


def supported(
    definition: Definition, *, migrating: bool, versions: Collection[int] = ()
) -> frozenset[Stamp]:
    """Return the stamps of the runs that a worker takes; `versions`, unless empty, are all that it is there for.

    Those that it would have to migrate only where it may (`migrating`).
    """
    names = {definition.stamp.fingerprint, *definition.compatible}
    names |= {name for each in definition.released.values() for name in each}
    known = {Stamp(version, name) for version in range(1, definition.version + 1) for name in names}
    takes = (Same, Compatible, Migratable) if migrating else (Same, Compatible)
    return frozenset(
        stamp
        for stamp in known
        if isinstance(judge(stamp, definition), takes)
        and (not versions or stamp.version in versions)
    )


def _is_released(stamp: Stamp, definition: Definition) -> bool:
    return stamp.fingerprint in definition.released.get(stamp.version, ())


def _missing(stamp: Stamp, definition: Definition) -> list[int]:
    """Return the versions on the way here that no upcast leads on from."""
    return [
        version
        for version in range(stamp.version, definition.version)
        if version not in definition.upcasts
    ]


def _told(stamp: Stamp, definition: Definition, was: Described | None) -> tuple[str, ...]:
    if was is None:
        return (f"nobody here knows the topology {stamp.fingerprint}",)
    if told := differences(was, definition.described()):
        return tuple(told)
    if missing := _missing(stamp, definition):
        return tuple(f"no upcast leads on from version {version}" for version in missing)
    return (f"version {stamp.version} was never released with the topology {stamp.fingerprint}",)
