"""Deliberate faults in our own code: what the campaign must notice, or its silence would mean nothing.

Each is applied within the processes that work, for as long as one works, and names the few cases that should notice it:
a scenario, an action, and which boundaries by a pattern, because their numbers move as the product grows.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch
from uuid import UUID

from graph import build, runs
from graph.saver import SealedPostgresSaver
from ledger import checkpoint_seals, findings, journal, reviews
from ledger import db as ledger_db
from ledger import runs as ledger_runs
from ledger.ids import new_run_id
from ledger.questions import Decision, Review
from ledger.requests import Request
from nodes import decide, publish
from tests.faults.seeded_consequences import CONSEQUENCES
from tests.faults.seeding import Bug, replaced, rewritten

_ARGUMENTS = r"\((?:[^()]|\([^()]*\))*\)"
_CHECK_FENCE = rf"ledger\.check_fence{_ARGUMENTS}"

_entry = runs._entry


async def _trusting(runtime: Any, run: Any, state: Any) -> Any:
    """Take LangGraph's empty `next` for the end of the run."""
    return runs._WAITS if state.values and not state.next else await _entry(runtime, run, state)


async def _acting_first(
    ledger: Any, run_id: UUID, request: Any, receive: Any, understand: Any
) -> Any:
    """Call before it is recorded that one will."""
    received = await receive()
    begun = await journal._begun(ledger, run_id, request)
    if isinstance(begun, journal.Recorded):
        return begun
    return await journal._ended(ledger, begun, lambda: understand(received))


_read = decide._read


async def _woken(tx: Any, run_id: UUID, asked: Any) -> list[Review]:
    """Take being woken for an approval."""
    approval = Decision(choice="approve", decided_by="nobody")
    found = await _read(tx, run_id, asked)
    return [review.model_copy(update={"decision": approval}) for review in found]


@contextmanager
def _report_last() -> Iterator[None]:
    """Write the report when the run is completed already."""
    published = publish.publish

    async def late(resources: Any, state: Any, runtime: Any) -> Any:
        kept: list[tuple[Any, bytes]] = []
        with patch.object(publish, "write_whole", lambda *what: kept.append(what)):
            update = await published(resources, state, runtime)
        async with resources.ledger.transaction() as tx:
            await tx.connection.execute("UPDATE ledger.runs SET phase = phase WHERE false")
        write_whole(*kept[0])
        return update

    write_whole = publish.write_whole
    with patch.object(build, "publish", late):
        yield


async def _nothing(*_: Any, **__: Any) -> None:
    """Leave out what was to be done."""


def _random_id(prefix: str, *_: Any) -> str:
    return f"{prefix}-{new_run_id()}"


def _forged(keys: Any, *_: Any) -> tuple[str, str]:
    """Put any seal on a pending write."""
    return keys.key_id, "0" * 64


_checkpoint_sealed = SealedPostgresSaver._sealed


def _unsealed(self: Any, row: Any, *args: Any) -> Any:
    """Put any seal on a checkpoint."""
    known = _checkpoint_sealed(self, row, *args)
    row["seal"] = "0" * 64
    return known


async def _no_seals(*_: Any) -> dict[UUID, Any]:
    """Commit rows without sealing them."""
    return {}


_key = Request.key


def _same_key(self: Any, run_id: UUID) -> str:
    """Take what a retry asks for what was asked before."""
    return _key(replace(self, retry=0), run_id)


BUGS: dict[str, Bug] = {
    **CONSEQUENCES,
    "no fence": Bug(rewritten(_CHECK_FENCE, "NULL"), "straight", "freeze", "attempts"),
    "no fence in the saver": Bug(
        rewritten(r"%\(held\)s::bigint", "NULL::bigint"),
        "straight",
        "freeze",
        r"store_writes #(5|6|7)$",
    ),
    "no fence in the ledger": Bug(
        rewritten(rf"(set_config.*){_CHECK_FENCE}", r"\1NULL"),
        "straight",
        "freeze",
        "ledger artifacts|ledger evidence",
    ),
    "the fence is not raised": Bug(
        rewritten(r"(newest_fence\(.*?\)\)) \+ 1", r"\1"), "straight", "freeze", "attempts"
    ),
    "an empty next is the end": Bug(
        replaced(runs, "_entry", _trusting),
        "straight",
        "kill_before",
        # Not #2: the first writes are stored beside the first checkpoint, and either may come first.
        r"store_checkpoint #(3|4|11|12)$",
    ),
    "a call is made before it is recorded": Bug(
        replaced(journal, "fetch", _acting_first), "straight", "kill_after", "http"
    ),
    "an answer that was received is asked for again": Bug(
        rewritten(r"outcome = 'started' AND received_artifact IS NOT NULL", "false"),
        "straight",
        "kill_before",
        r"attempts\+.*operations",
    ),
    "an accepted answer is asked for again": Bug(
        rewritten(r"earlier\.number = operation\.accepted_attempt", "false"),
        "straight",
        "kill_after",
        r"artifacts\+attempts\S*operations",
    ),
    "being woken is an approval": Bug(replaced(decide, "_read", _woken), "reject"),
    "the report is written after completion": Bug(
        _report_last, "straight", "kill_after", r"audit_log\S*\+runs\S* #2"
    ),
    "completion is not recorded": Bug(
        replaced(ledger_runs, "complete", _nothing), "straight", "kill_before", "http pages"
    ),
    "findings have ids by chance": Bug(
        replaced(findings, "derived_id", _random_id),
        "straight",
        "kill_after",
        "findings",
    ),
    "reviews have ids by chance": Bug(
        replaced(reviews, "derived_id", _random_id), "review", "kill_after", "reviews"
    ),
    "pending writes are not sealed": Bug(
        replaced(checkpoint_seals, "sign_write", _forged), "straight", "kill_before", "http pages"
    ),
    "checkpoints are not sealed": Bug(
        replaced(SealedPostgresSaver, "_sealed", _unsealed), "straight", "kill_before", "http pages"
    ),
    "rows are not sealed": Bug(
        replaced(ledger_db, "seal", _no_seals), "straight", "kill_before", "http pages"
    ),
    "a dead worker's lease never ends": Bug(
        rewritten(r"expires_at <= clock_timestamp\(\)\s+OR NOT ledger\.owner\w+\([^)]*\)", "false"),
        "straight",
        "kill_before",
        "http pages",
    ),
    "a branch that is researched anew is given its old answers": Bug(
        replaced(Request, "key", _same_key), "retry"
    ),
    "a cancelled run is worked on": Bug(
        rewritten(rf"ledger\.check_not_cancelled{_ARGUMENTS}", "NULL"), "cancel"
    ),
}


@contextmanager
def seeded(name: str | None) -> Iterator[None]:
    """Break the product in the way of this name; None leaves it whole."""
    with ExitStack() as stack:
        if name is not None:
            stack.enter_context(BUGS[name].apply())
        yield
