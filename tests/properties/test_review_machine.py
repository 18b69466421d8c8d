"""Whatever is asked, said and cancelled, in whatever order, a review has at most one decision, and exactly the one that was said.

Hypothesis plays questions that are asked again and changed, people who answer well, late, twice, at once and under several
spellings, deadlines that pass, cancellations and deaths; on the real ledger, beside a model. `make properties` plays a
thousand such lives.
"""

import asyncio
import os
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.properties.review_machine import ReviewMachine
from tests.properties.reviewing import Stage
from tests.support.runtimes import runtime_on

WHOLE = bool(os.environ.get("PERDURE_TEST_WHOLE"))
EXAMPLES, STEPS = (1_000, 30) if WHOLE else (30, 30)


@pytest.mark.slow
def test_no_life_of_reviews_ends_in_two_decisions_or_in_one_that_nobody_said(
    database_url: str, tmp_path: Path
) -> None:
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        runtime = runner.run(stack.enter_async_context(runtime_on(database_url, tmp_path)))

        class Staged(ReviewMachine):
            stage = Stage(runner, runtime)

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
