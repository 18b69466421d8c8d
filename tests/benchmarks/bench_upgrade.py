"""How long sleeping runs take to be brought to a later version, by processes that are killed at random.

`python -m tests.benchmarks.bench_upgrade [--runs 2000] [--kills 20] [--resumed 50]`. Prints that each was migrated once, that
a sample goes on to its end, and the time per run.
"""

import argparse
import asyncio
import os
import sys
import tempfile
from pathlib import Path
from time import monotonic

from graph.migrate import migrate
from tests.support.ledgers import SEAL_KEY
from tests.support.postgres import make_cluster, temporary_database
from tests.support.runtimes import runtime_on
from tests.support.upgrades import finished, moments, sleeping, upgraded, wrongly_migrated
from tests.support.variants import LATER

# Processes after the last kill: one that finds a run still held leaves it to the next.
REST = 20


async def measured(url: str, folder: Path, chosen: argparse.Namespace) -> int:
    """Make the runs, upgrade them, look at each; returns the exit code."""
    await migrate(url)
    began = monotonic()
    asleep = await sleeping(url, folder, chosen.runs)
    print(f"{chosen.runs} sleeping runs made in {monotonic() - began:.0f} s", flush=True)
    began = monotonic()
    most = 2 * chosen.runs // (chosen.kills + 2)
    killed, processes = await upgraded(url, folder / "home", moments(chosen.kills, most), rest=REST)
    seconds = monotonic() - began
    print(
        f"upgraded in {seconds:.0f} s by {processes} processes, {killed} of them killed:"
        f" {1000 * seconds / chosen.runs:.0f} ms per run, the starts of the processes among it",
        flush=True,
    )
    async with runtime_on(url, folder / "home", definition=LATER) as runtime:
        wrong = await wrongly_migrated(runtime, asleep)
        print(f"migrated once: {chosen.runs - wrong.total()}; otherwise: {dict(wrong)}", flush=True)
        step = max(1, chosen.runs // max(1, chosen.resumed))
        ended = [await finished(runtime, each) for each in asleep[::step][: chosen.resumed]]
    print(f"resumed to their end: {ended.count('completed')} of {len(ended)}")
    return int(bool(wrong) or set(ended) != {"completed"})


async def main(chosen: argparse.Namespace) -> int:
    """Measure on a server of its own."""
    os.environ["PERDURE_SEAL_KEY"] = SEAL_KEY
    with tempfile.TemporaryDirectory(prefix="perdure-upgrade-") as name:
        folder = Path(name)
        (folder / "postgres").mkdir()
        cluster = make_cluster(folder / "postgres")
        await cluster.create()
        server = await cluster.start()
        try:
            with temporary_database(server) as url:
                return await measured(url, folder, chosen)
        finally:
            await cluster.stop("immediate")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--resumed", type=int, default=50)
    sys.exit(asyncio.run(main(parser.parse_args())))
