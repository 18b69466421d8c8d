"""Which workers are here, which runs they take, and which runs none of them does; told without the graph."""

from collections.abc import Mapping
from typing import Final
from uuid import UUID

from graph.versions import RELEASED, WORKFLOW_VERSION
from ledger import workflows
from ledger.db import Transaction
from ledger.stamps import Stamp
from ledger.verification import Check

#: What this installation takes, whatever else it may migrate; of a version that is not released, workers say what they take.
HERE: Final = frozenset(
    Stamp(WORKFLOW_VERSION, each) for each in RELEASED.get(WORKFLOW_VERSION, frozenset())
)

# A line; `perdure doctor --json` is for more.
TOLD_MAX = 5


async def check_workers(tx: Transaction) -> Check:
    """Say which versions of the workflow the workers support, and which unfinished runs nobody does."""
    connected = [each for each in await workflows.workers(tx) if each.connected]
    versions = sorted({version for each in connected for version in each.versions})
    told = f"{len(connected)} connected" + (
        f", for runs of {_listed(versions)}" if versions else ""
    )
    here = f"; this installation has version {WORKFLOW_VERSION}"
    if not (alone := await workflows.unsupported(tx, HERE)):
        return Check("workers", ok=True, detail=told + here)
    return Check("workers", ok=False, detail=f"{told}{here}; {unsupported(alone)}")


def unsupported(alone: Mapping[UUID, Stamp]) -> str:
    """Say of each version which of its runs no worker supports."""
    versions = sorted({stamp.version for stamp in alone.values()})
    return "; ".join(_of_version(version, alone) for version in versions)


def _of_version(version: int, alone: Mapping[UUID, Stamp]) -> str:
    ids = [str(run_id) for run_id, stamp in alone.items() if stamp.version == version]
    more = f" and {len(ids) - TOLD_MAX} more" if len(ids) > TOLD_MAX else ""
    return (
        f"no worker of the last {workflows.REMEMBERED_DAYS} days supports {len(ids)} runs of workflow version"
        f" {version}: {', '.join(ids[:TOLD_MAX])}{more}"
    )


def _listed(versions: list[int]) -> str:
    return f"version {', '.join(map(str, versions))}"
