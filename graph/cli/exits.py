"""The one place that turns what happened into an exit code and a message.

| 0 | done | 1 | failed or cancelled | 2 | usage: what was asked cannot be | 3 | paused for a review |
| 4 | blocked until a person acts | 5 | another worker holds the run | 130 | interrupted, state saved |

An error that is not listed here is a defect and ends with its traceback.
"""

import errno
from collections.abc import Generator
from contextlib import contextmanager
from enum import IntEnum
from typing import assert_never

from graph.cli.output import say
from graph.cluster import EmbeddedPostgresFailed
from graph.errors import (
    CannotMigrate,
    ModelChangeRefused,
    RetryRefused,
    RunBlocked,
    RunLeft,
    RunWaits,
    SettlementRefused,
    StateInvalid,
    UnknownWorkflow,
)
from graph.settings import SettingsInvalid
from ledger.errors import (
    Ambiguous,
    CheckpointDamaged,
    CheckpointUnsealed,
    CredentialRefused,
    EffectClosed,
    EffectKeyTaken,
    EffectsUnsettled,
    LeaseLost,
    LedgerDamaged,
    LedgerError,
    NotFound,
    NotText,
    RecordTooNew,
    ReviewClosed,
    RunDrained,
    RunExists,
    RunHeld,
    SealKeyMissing,
    TakeoverBlocked,
)
from ledger.payloads import UnknownKey
from ledger.runs import Status
from nodes.models.courses import RunPostponed
from nodes.options import BadInput


class Code(IntEnum):
    """The exit codes, a contract."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    PAUSED = 3
    BLOCKED = 4
    HELD = 5
    INTERRUPTED = 130


class Interrupted(Exception):
    """Somebody stopped the command; `run` names the run that it worked, None before there was one."""

    def __init__(self, run: str | None) -> None:
        super().__init__(
            f"interrupted; what was done is saved: `perdure resume {run}` goes on"
            if run
            else "interrupted; nothing was begun"
        )


# The first that fits.
_BY_ERROR: tuple[tuple[type[Exception], Code], ...] = (
    (Interrupted, Code.INTERRUPTED),
    (RunDrained, Code.INTERRUPTED),
    (RunHeld, Code.HELD),
    (LeaseLost, Code.HELD),
    (TakeoverBlocked, Code.HELD),
    *(
        (kind, Code.BLOCKED)
        for kind in (
            UnknownWorkflow,
            CannotMigrate,
            RunLeft,
            StateInvalid,
            RunBlocked,
            RunWaits,
            RunPostponed,
            CredentialRefused,
            EffectsUnsettled,
            EffectKeyTaken,
        )
    ),
    (SealKeyMissing, Code.BLOCKED),
    (UnknownKey, Code.BLOCKED),
    (LedgerDamaged, Code.BLOCKED),
    (CheckpointDamaged, Code.BLOCKED),
    (CheckpointUnsealed, Code.BLOCKED),
    (RecordTooNew, Code.BLOCKED),
    *(
        (kind, Code.USAGE)
        for kind in (
            BadInput,
            SettingsInvalid,
            NotFound,
            Ambiguous,
            RunExists,
            ReviewClosed,
            EffectClosed,
            SettlementRefused,
            NotText,
            RetryRefused,
            ModelChangeRefused,
        )
    ),
    (LedgerError, Code.FAILED),
    (EmbeddedPostgresFailed, Code.FAILED),
    (OSError, Code.FAILED),
)


def code_of(status: Status) -> Code:
    """Return the exit code for where a run stands after it was worked."""
    match status:
        case "completed":
            return Code.DONE
        case "paused":
            return Code.PAUSED
        case "blocked":
            return Code.BLOCKED
        case "running" | "failed" | "cancelled":
            return Code.FAILED
        case _:
            assert_never(status)


@contextmanager
def translated() -> Generator[None]:
    """End the process with the message and the code of a known error; raises SystemExit."""
    try:
        yield
    except tuple(kind for kind, _ in _BY_ERROR) as error:
        code = next(code for kind, code in _BY_ERROR if isinstance(error, kind))
        say(f"perdure: {_of_system(error) if isinstance(error, OSError) else error}")
        raise SystemExit(code) from None


def _of_system(error: OSError) -> str:
    place = f" ({error.filename})" if error.filename else ""
    what = f"{error.strerror or error}{place}"
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT:
            advice = "free some space, or set PERDURE_HOME to a folder that has some"
        case errno.EACCES | errno.EPERM | errno.EROFS:
            advice = "set PERDURE_HOME to a folder that you can write"
        case _:
            advice = "`perdure doctor` looks into what this installation needs"
    return f"{what}: {advice}. A run that was begun is saved: `perdure runs` lists it, `perdure resume RUN` goes on"
