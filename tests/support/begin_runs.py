"""Begins many runs at once in one process; started by a test in the environment of some version, and killed by it.

Arguments: how many, a corpus. Uses only what every released version has.
"""

import asyncio
import sys

from graph.runs import start_run
from graph.runtime import open_runtime
from graph.settings import load_settings
from nodes.options import RunOptions


async def begin(number: int, corpus: str) -> None:
    """Begin so many runs and work them."""
    options = RunOptions(corpus=(corpus,), review="none")
    async with open_runtime(load_settings()) as runtime:
        asked = [f"What does the harbour master do at gate {gate}?" for gate in range(number)]
        await asyncio.gather(*(start_run(runtime, question, options) for question in asked))


asyncio.run(begin(int(sys.argv[1]), sys.argv[2]))
