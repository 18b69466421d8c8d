"""Leaves the texts out of a history: of people, documents and answers there is left how long they were.

What stays is named here, not what goes: names of steps, kinds, statuses, ids made from digests, times and counts.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, cast

from graph.histories import History, Kept
from ledger.recordings import Change

#: Members whose values are words of ours.
_OURS: Final = frozenset(
    {
        "act", "boundary", "channel", "contract_kind", "decision", "fingerprint", "gate", "kind", "mode", "name", "outcome",
        "phase", "run_id", "source", "status", "step", "task_id", "verdict",
    }
)  # fmt: skip
_DERIVED: Final = re.compile(
    r"(sha256:|[a-z]+[-_:])?[0-9a-f]{16,64}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
)
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d[T ][0-9:.+-]+Z?")
#: LangGraph's versions of channels.
_VERSION: Final = re.compile(r"[0-9]+\.[0-9.e-]+")
_VEIL: Final = "x"


def veiled(history: History) -> History:
    """Return a history without its texts; only the shape of such a one can be replayed."""
    return History(
        {**history.header, "text": False},
        [_change(each) for each in history.changes],
        {},
        [_kept(each) for each in history.checkpoints],
    )


def _change(change: Change) -> Change:
    row = None if change.row is None else cast("dict[str, Any]", _veil(change.row, ""))
    return replace(change, row=row)


def _kept(kept: Kept) -> Kept:
    checkpoint = dict(kept.checkpoint)
    checkpoint["channel_values"] = _veil(checkpoint["channel_values"], "")
    writes = [[task, channel, _veil(value, channel)] for task, channel, value in kept.writes]
    return replace(kept, checkpoint=checkpoint, writes=writes, record=_veil(kept.record, ""))


def _veil(value: Any, name: str) -> Any:
    match value:
        case str():
            return value if name in _OURS or _is_ours(value) else _VEIL * len(value)
        case {"$send": [node, arg]}:
            return {"$send": [node, _veil(arg, "")]}
        case dict():
            items = cast("Mapping[str, Any]", value)
            return {key: _veil(each, key) for key, each in items.items()}
        case list():
            # The name of a list says nothing of the texts in it.
            return [_veil(each, "") for each in cast("Sequence[Any]", value)]
        case _:
            return value


def _is_ours(text: str) -> bool:
    return any(form.fullmatch(text) for form in (_DERIVED, _TIME, _VERSION))
