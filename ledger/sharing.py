"""Answers that the branches of a run share: who asks what another has asked takes that answer and makes no call.

Which requests are the same is said by their form, a digest, which stands with the attempts under them. One process works
a run, so a lock within it is enough for two that ask at the same time: one calls, the other waits for the answer. The
lock lasts for one call; when that fails, whoever waited makes a call of its own.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from uuid import UUID

from psycopg.rows import DictRow

from ledger.canonical import Json
from ledger.db import Ledger, Transaction
from ledger.requests import Request
from ledger.sql import load

_ELSEWHERE = load("journal")["AnswerElsewhere"]

# What the settings of an attempt call these: they are in its row, where statements read them.
_FORM, REUSED = "form", "reused"


@asynccontextmanager
async def alone(ledger: Ledger, run_id: UUID, request: Request) -> AsyncGenerator[None]:
    """Let nobody else in this process ask the same for the run meanwhile; what has no form is asked at any time."""
    form = request.form(run_id)
    if form is None:
        yield
        return
    # It is gone from the ledger when nobody holds it or waits for it any more.
    lock = ledger.asking.setdefault((run_id, form), asyncio.Lock())
    async with lock:
        yield


def settings(run_id: UUID, request: Request, reused: str | None) -> dict[str, Json]:
    """Return what is recorded with an attempt; `reused` is the operation whose answer it takes."""
    said = {_FORM: request.form(run_id), REUSED: reused}
    return dict(request.settings) | {name: each for name, each in said.items() if each is not None}


async def elsewhere(tx: Transaction, run_id: UUID, request: Request) -> DictRow | None:
    """Return what another operation of the run holds in answer to the same, None where this one has its own.

    A row without `result_artifact` is an answer that a worker received and died over. A retry takes nobody's answer.
    """
    form = request.form(run_id)
    if form is None or request.retry:
        return None
    own = request.operation_id(run_id)
    return await tx.maybe(_ELSEWHERE, run_id=run_id, operation_id=own, form=form)
