"""Outside calls of a step: through the journal, tried again where trying again may help, and never lost in silence.

A call that failed for good is an outcome: the branch goes on without it, and the report says what could not be read.
"""

from collections.abc import Callable
from typing import TypeVar
from uuid import UUID

from tenacity import AsyncRetrying, RetryCallState, stop_after_attempt, wait_exponential_jitter

from ledger import journal
from ledger.errors import CredentialRefused, OperationFailed
from ledger.journal import Answer, Received, Recorded
from ledger.requests import Request
from nodes.resources import Local, Outside, Resources

T = TypeVar("T")

# Three tries a second or two apart outlast a dropped connection and a server's restart; longer outages are for
# `perdure resume`.
ATTEMPTS_MAX = 3
WAIT_SECONDS_MAX = 4.0


def _worth_another(state: RetryCallState) -> bool:
    error = state.outcome.exception() if state.outcome else None
    return isinstance(error, OperationFailed) and error.transient


async def call(
    resources: Resources,
    run_id: UUID,
    request: Request,
    outside: Outside[T],
    answer: Callable[[T], Answer],
) -> Recorded | str:
    """Return the recorded result, or why there is none, in words for the report."""
    tries = AsyncRetrying(
        retry=_worth_another,
        stop=stop_after_attempt(ATTEMPTS_MAX),
        wait=wait_exponential_jitter(multiplier=0.2, max=WAIT_SECONDS_MAX),
        reraise=True,
    )
    try:
        return await tries(_once, resources, run_id, request, outside, answer)
    except CredentialRefused:
        # Every further call would end so: the run waits for a valid key, and nothing is counted as not to be had.
        raise
    except OperationFailed as failure:
        return f"{request.kind}: {failure.reason}"


async def _once(
    resources: Resources,
    run_id: UUID,
    request: Request,
    outside: Outside[T],
    answer: Callable[[T], Answer],
) -> Recorded:
    if isinstance(outside, Local):
        local = outside

        async def perform() -> Answer:
            return answer(await local.perform())

        return await journal.call(resources.ledger, run_id, request, perform)
    remote = outside

    async def understand(received: Received) -> Answer:
        return answer(await remote.understand(received))

    return await journal.fetch(resources.ledger, run_id, request, remote.receive, understand)
