"""Step `publish`: writes the report where the user finds it, and finishes the run.

The only step with outside effects. The file is named by the run and written whole or not at all, so that writing it again
after a crash changes nothing; the run is finished by its row, after that.
"""

import asyncio
import os
from pathlib import Path
from tempfile import NamedTemporaryFile
from uuid import UUID

from langgraph.runtime import Runtime

from ledger import artifacts, runs
from ledger.faults import FaultPoint
from nodes.options import RunOptions
from nodes.resources import Resources, run_id_of
from nodes.state import ResearchState, Update


async def publish(
    resources: Resources, state: ResearchState, runtime: Runtime[RunOptions]
) -> Update:
    """Write the report's file and record that the run is completed."""
    run_id = run_id_of(runtime)
    report = state.get("products", {})["report"]
    async with resources.ledger.transaction(run_id) as tx:
        content = await artifacts.get(tx, report)
    path = report_path(resources.reports, run_id)
    await asyncio.to_thread(write_whole, path, content)
    resources.ledger.faults.reach(FaultPoint.BEFORE_COMPLETION)
    async with resources.ledger.transaction(run_id) as tx:
        if (await runs.get(tx, run_id)).status not in runs.FINISHED:
            await runs.set_status(tx, run_id, "running")
            await runs.complete(tx, run_id, report)
    resources.ledger.faults.reach(FaultPoint.AFTER_COMPLETION)
    resources.progress.phase(run_id, "done", f"report saved: {path}")
    return {"step": {"name": "publish", "report": report, "file": path.name}}


def report_path(folder: Path, run_id: UUID) -> Path:
    """Return where a run's report is written."""
    return folder / f"{run_id}.md"


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that a reader, and a crash, find the old one or the new one and never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    Path(file.name).replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
