"""Whatever happens to an effect, in whatever order, it is carried out at most once, and the ledger never says what is not so.

Hypothesis plays sends with every outcome, deaths of workers at every point, workers that stand still and wake, takeovers,
time that passes, and people who say what became of it; on the real ledger, beside a model of the outside that counts.
`make properties` plays a thousand such lives.
"""

import asyncio
import os
from contextlib import AsyncExitStack

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.properties.effect_machine import LEASE, DiesWhenTold, EffectMachine, Stage
from tests.support.ledgers import open_ledger

WHOLE = bool(os.environ.get("PERDURE_TEST_WHOLE"))
EXAMPLES, STEPS = (1_000, 16) if WHOLE else (30, 14)


@pytest.mark.slow
def test_no_life_of_an_effect_ends_in_two_of_it_or_in_a_record_that_is_not_so(
    database_url: str,
) -> None:
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        faults = DiesWhenTold()
        opened = open_ledger(database_url, faults=faults, lease_seconds=LEASE)
        ledger = runner.run(stack.enter_async_context(opened))

        class Staged(EffectMachine):
            stage = Stage(runner, ledger, faults)

        try:
            run_state_machine_as_test(
                Staged,
                settings=settings(
                    max_examples=EXAMPLES,
                    stateful_step_count=STEPS,
                    deadline=None,
                    derandomize=not WHOLE,
                    database=None,
                    suppress_health_check=list(HealthCheck),
                ),
            )
        finally:
            runner.run(stack.aclose())
