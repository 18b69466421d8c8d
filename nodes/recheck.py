"""Reads the documents of a run once more, and says which of its quotes still stand in them.

What the run rests on is the bytes that it kept: they stay as they are, and so does its report. What a recheck found is an
operation in the journal; only the status of a source follows it.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any, Literal, Protocol, TypeAlias
from uuid import UUID

from ledger import evidence, journal, leases, sources
from ledger.canonical import Json
from ledger.db import Ledger, Transaction
from ledger.errors import OperationFailed
from ledger.evidence import Evidence
from ledger.journal import Answer
from ledger.requests import Request
from ledger.sources import Source
from nodes.anchoring import WHOLE, Anchor, anchor
from nodes.tools.documents import Unreadable, artifact_of
from nodes.tools.extractors import ExtractorLost, Extractors

#: The kind of operation that a recheck of one source is, and the task that it belongs to: none.
RECHECK = "recheck"
NO_TASK = ""

#: What became of a source; `unchecked` where nothing here can read it again, or not now.
State: TypeAlias = Literal["same", "changed", "unavailable", "forbidden", "unchecked"]


@dataclass(frozen=True, slots=True)
class Reread:
    """A document as it is now, and what to read it as."""

    content: bytes
    media_type: str


class NotReread(OperationFailed):
    """A document is not to be had; `state` is what that says of its source, `unchecked` if it says nothing."""

    def __init__(
        self,
        reason: str,
        state: Literal["unavailable", "forbidden", "unchecked"],
        *,
        transient: bool,
    ) -> None:
        super().__init__(reason, transient=transient)
        self.state: State = state


class Rereader(Protocol):
    """Reads documents of one kind of place again."""

    def serves(self, source: Source) -> bool:
        """Whether the source is of that kind."""
        ...

    async def reread(self, source: Source) -> Reread | None:
        """Return the document as it is now, None for what is known to be as it was; raises NotReread."""
        ...


@dataclass(frozen=True, slots=True)
class Rechecked:
    """What became of one source, and where each of its quotes is now, by evidence id."""

    source: Source
    state: State
    reason: str | None = None
    anchors: dict[str, Anchor] = field(default_factory=dict[str, Anchor])


async def recheck(ledger: Ledger, run_id: UUID, rereaders: Sequence[Rereader]) -> list[Rechecked]:
    """Read the sources of a run again, in their order, and record what was found.

    Raises RunHeld for a run that is being worked, RunCancelled, and LedgerDamaged.
    """
    async with leases.hold(ledger, run_id), Extractors(1) as extractors:
        async with ledger.transaction(run_id) as tx:
            read = await sources.everything(tx, run_id)
            quoted = list((await evidence.everything(tx, run_id)).values())
            before = await journal.operations(tx, run_id)
        number = 1 + max((_number(each.request) for each in before if _is_done(each)), default=0)
        found: list[Rechecked] = []
        for source in read:
            quotes = [each for each in quoted if each.source_id == source.source_id]
            reader = next((each for each in rereaders if each.serves(source)), None)
            if reader is None:
                found.append(Rechecked(source, "unchecked", "nothing here reads it again"))
                continue
            body: Json = {"source_id": source.source_id, "uri": source.uri, "number": number}
            perform = partial(_perform, run_id, source, quotes, reader, extractors)
            recorded = await journal.call(ledger, run_id, Request(NO_TASK, RECHECK, body), perform)
            found.append(_rechecked(source, recorded.body))
        return found


def _is_done(operation: journal.Operation) -> bool:
    return operation.kind == RECHECK and operation.status == "accepted"


def _number(request: Any) -> int:
    return int(request["number"])


async def _perform(
    run_id: UUID,
    source: Source,
    quotes: Sequence[Evidence],
    reader: Rereader,
    extractors: Extractors,
) -> Answer:
    try:
        text = await _text_now(source, await reader.reread(source), extractors)
    except NotReread as error:
        return _answer(run_id, source, error.state, error.reason, {})
    except Unreadable as error:
        # A reader that died says nothing of the document.
        lost = isinstance(error, ExtractorLost)
        return _answer(run_id, source, "unchecked" if lost else "unavailable", error.reason, {})
    if text is None:
        stay = {each.evidence_id: Anchor("same", each.start, each.end, WHOLE) for each in quotes}
        return _answer(run_id, source, "same", None, stay)
    anchors = {each.evidence_id: await asyncio.to_thread(anchor, each, text) for each in quotes}
    return _answer(run_id, source, "changed", "its text is another", anchors)


async def _text_now(source: Source, now: Reread | None, extractors: Extractors) -> str | None:
    """Return the text as it is now, None where it is the one that was read."""
    if now is None or artifact_of(now.content) == source.content_artifact:
        return None
    text = (await extractors.extract(now.content, now.media_type)).text
    return None if artifact_of(text.encode()) == source.text_artifact else text


def _answer(
    run_id: UUID, source: Source, state: State, reason: str | None, anchors: dict[str, Anchor]
) -> Answer:
    body: Json = {
        "state": state,
        "reason": reason,
        "anchors": {name: asdict(each) for name, each in anchors.items()},
    }

    async def keep(tx: Transaction) -> None:
        if state == "same":
            await sources.found_again(tx, run_id, source.source_id)
        elif state != "unchecked":
            await sources.set_status(tx, run_id, source.source_id, state)

    return Answer(body, keep)


def _rechecked(source: Source, body: Any) -> Rechecked:
    anchors = {name: Anchor(**each) for name, each in body["anchors"].items()}
    return Rechecked(source, body["state"], body["reason"], anchors)
