"""Step `publish`: writes the report where the user finds it, and finishes the run.

The only step with outside effects, each recorded by `intend` before. The file in our own folder is named by the run and
written whole or not at all, so that writing it again after a crash changes nothing; the run is finished by its row, after
all of them.
"""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any
from uuid import UUID

from langgraph.runtime import Runtime
from langgraph.types import Command

from ledger import artifacts, runs
from ledger.canonical import Json
from ledger.effects import Effect
from ledger.errors import EffectsUnsettled
from ledger.faults import FaultPoint
from nodes.asking import Gate, Question, ask, node_of, passed_by
from nodes.consequences import publications, targets_of
from nodes.decisions.effect import to_settle
from nodes.effects import Carrier
from nodes.notices import intend_notices, of_completion
from nodes.options import RunOptions
from nodes.resources import Resources, run_id_of
from nodes.state import ResearchState, Update


async def publish(
    resources: Resources, state: ResearchState, runtime: Runtime[RunOptions]
) -> Command[Any]:
    """Write the report's file, carry out the publications, and record that the run is completed.

    What was refused, or what only a person can tell, is asked, and the run is blocked until it is decided. Raises
    EffectsUnsettled where a target did not answer: the run is blocked, and goes on from here when it is resumed.
    """
    run_id = run_id_of(runtime)
    async with resources.ledger.transaction(run_id) as tx:
        waits = await passed_by(tx, run_id, "publish")
    if waits:
        step: Json = {"name": "publish", "waits": waits["gate"]}
        to = [node_of(each) for each in waits["reviews"]]
        return Command(goto=to, update={**waits, "step": step})
    report = state.get("products", {})["report"]
    async with resources.ledger.transaction(run_id) as tx:
        content = await artifacts.get(tx, report)
        decided = await publications(tx, run_id, report)
        options = RunOptions.model_validate((await runs.get(tx, run_id)).options)
    wanted = {each.address for each in targets_of(resources.targets, options.publish)}
    if wanted - {effect.target for effect in decided}:
        # A fork that begins between the two steps: nothing is done that was not recorded first.
        return Command(goto="intend")
    path = report_path(resources.reports, run_id)
    await asyncio.to_thread(write_whole, path, content)
    carried = await _carried_out(resources, run_id, decided)
    if unsettled := [effect for effect in carried if not effect.is_settled]:
        return await _left(resources, run_id, options, unsettled, state.get("decided", 0))
    settled = {effect.key: effect.status for effect in carried}
    resources.ledger.faults.reach(FaultPoint.BEFORE_COMPLETION)
    async with resources.ledger.transaction(run_id) as tx:
        run = await runs.get(tx, run_id)
        told = await intend_notices(tx, resources.targets, run, "done", of_completion(run))
        if run.status not in runs.FINISHED:
            await runs.set_status(tx, run_id, "running")
            await runs.complete(tx, run_id, report)
    resources.ledger.faults.reach(FaultPoint.AFTER_COMPLETION)
    resources.progress.phase(run_id, "done", f"report saved: {path}")
    step = {"name": "publish", "report": report, "file": path.name}
    return Command(goto="__end__", update={"effects": settled | told, "step": step})


async def _carried_out(
    resources: Resources, run_id: UUID, decided: Sequence[Effect]
) -> list[Effect]:
    """Carry out what is not settled yet, all of it before anything that is left over stops the run."""
    carrier = Carrier(resources.ledger, run_id, resources.patience)
    carried: list[Effect] = []
    for effect in decided:
        if not effect.is_settled and effect.status not in _FOR_A_PERSON:
            resources.progress.phase(run_id, "publish", f"{effect.target}: begun")
            target = resources.targets.open(effect.target)
            effect = await carrier.carry_out(effect, target)  # noqa: PLW2901  # the same, later
        why = f" ({effect.reason})" if effect.reason else ""
        resources.progress.phase(run_id, "publish", f"{effect.target}: {effect.status}{why}")
        carried.append(effect)
    return carried


_FOR_A_PERSON = frozenset({"failed", "awaiting_person"})


async def _left(
    resources: Resources,
    run_id: UUID,
    options: RunOptions,
    unsettled: Sequence[Effect],
    decided_before: int,
) -> Command[Any]:
    """Ask a person what became of the effects that only a person can tell; for the others the run is blocked.

    Raises EffectsUnsettled where there are only others.
    """
    told = EffectsUnsettled(run_id, [(each.key, each.status, each.reason) for each in unsettled])
    questions = [
        Question("effect", to_settle(each), waits=True)
        for each in unsettled
        if each.status in _FOR_A_PERSON
    ]
    if not questions:
        raise told
    gate = Gate("publish", run_id, options, decided_before, resources.targets)
    async with resources.ledger.transaction(run_id) as tx:
        asked = await ask(tx, gate, questions)
        await runs.set_status(tx, run_id, "blocked", str(told))
    step: Json = {"name": "publish", "unsettled": {each.key: each.status for each in unsettled}}
    update: Update = {**asked, "step": step}
    return Command(goto=[node_of(each) for each in asked["reviews"]], update=update)


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
