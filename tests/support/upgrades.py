"""Many sleeping runs, and processes that bring them to a later version of the workflow and are killed over it.

`python -m tests.support.upgrades HOME` upgrades all runs of the database that PERDURE_DATABASE_URL names, and writes a line
for each.
"""

import asyncio
import os
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from random import Random
from uuid import UUID

from graph.forking import fork_run
from graph.runs import decide, resume_run, start_run
from graph.runtime import Runtime
from graph.upgrading import count, upgrade_all
from ledger import records, workflow_migrations
from ledger.questions import Decision
from tests.support.runtimes import QUESTION, options, runtime_on, write_corpus
from tests.support.variants import LATER

#: Whoever is killed leaves a run that is held for so long.
LEASE_SECONDS = 1


async def sleeping(database_url: str, folder: Path, number: int) -> list[UUID]:
    """Return so many runs that wait for the review of their plan: one, and forks of it."""
    corpus = write_corpus(folder / "garden")
    async with runtime_on(database_url, folder / "home") as runtime:
        first = (await start_run(runtime, QUESTION, options(corpus, "plan"))).run.run_id
        async with runtime.ledger.transaction() as tx:
            found = await records.newest_first(tx, first)
        at = next(each.checkpoint_id for each in found if each.boundary == "before_review")
        forks = [(await fork_run(runtime, first, at)).run_id for _ in range(number - 1)]
    return [first, *forks]


async def upgraded(
    database_url: str, home: Path, kills: Sequence[int], *, rest: int
) -> tuple[int, int]:
    """Upgrade all runs by processes of which some are killed; returns how many were killed, and processes in all.

    `kills` say after how many lines each is killed, at whatever it is at then; `rest` is how many more there may be.
    """
    killed = 0
    for number in range(len(kills) + rest):
        environment = {**os.environ, "PERDURE_DATABASE_URL": database_url}
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.support.upgrades", str(home)),
            env=environment,
            stdout=asyncio.subprocess.PIPE,
        )
        assert process.stdout is not None
        lines = 0
        until = kills[number] if number < len(kills) else None
        while line := await process.stdout.readline():
            lines += line.startswith(b"upgraded")
            if lines == until:
                process.kill()
                killed += 1
                break
        if await process.wait() == 0 and number >= len(kills) - 1:
            return killed, number + 1
    raise AssertionError("runs are left")


async def wrongly_migrated(runtime: Runtime, run_ids: Sequence[UUID]) -> Counter[int]:
    """Return how often runs were migrated, but for those that were once."""
    found: Counter[int] = Counter()
    for run_id in run_ids:
        async with runtime.ledger.transaction() as tx:
            found[len(await workflow_migrations.newest_first(tx, run_id))] += 1
    del found[1]
    return found


async def finished(runtime: Runtime, run_id: UUID) -> str:
    """Decide what a run waits for and work it to its end; returns its status."""
    (asked,) = (await resume_run(runtime, run_id)).reviews
    await decide(runtime, asked.review_id, Decision(choice="approve", decided_by="ada"))
    return (await resume_run(runtime, run_id)).run.status


def moments(number: int, most: int, seed: int = 6) -> list[int]:
    """Return after how many runs each of so many processes is killed."""
    chosen = Random(seed)  # the same at every time
    return [chosen.randint(1, most) for _ in range(number)]


async def main(home: Path) -> int:
    """Upgrade everything; returns 1 where runs are left that others hold."""
    url = os.environ["PERDURE_DATABASE_URL"]
    async with runtime_on(url, home, definition=LATER, lease_seconds=LEASE_SECONDS) as runtime:
        async with aclosing(upgrade_all(runtime)) as found:
            async for each in found:
                print(each.became, each.run_id, flush=True)
        return int(await count(runtime) > 0)


if __name__ == "__main__":
    sys.exit(asyncio.run(main(Path(sys.argv[1]))))
