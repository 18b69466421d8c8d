"""What follows a call that failed: another try and when, a shorter prompt, a longer answer, a correction, or a pause.

Each outcome has its own limit. An endpoint that is away is asked again for minutes; after that the run pauses and says
when it goes on, so that no process has to live while an endpoint is down.
"""

import random
from dataclasses import dataclass, field
from datetime import UTC, datetime

from ledger.errors import LedgerError
from nodes.clock import Clock
from nodes.models.errors import (
    BadRequest,
    ContextOverflow,
    EmptyAnswer,
    EndpointDown,
    KeyRefused,
    Malformed,
    ModelError,
    Overloaded,
    PermissionDenied,
    QuotaExhausted,
    RateLimited,
    StreamCut,
    StreamSilent,
    Truncated,
    UnknownModel,
)

_AWAY = (Overloaded, EndpointDown, StreamCut, StreamSilent, RateLimited)
_FOR_A_PERSON = (QuotaExhausted, PermissionDenied, UnknownModel, BadRequest)
# A second doubles to half an hour; nobody waits longer within one process.
_DOUBLINGS_MAX = 10
#: What of the prompt's material is kept when it did not fit.
SHRINK = 0.7


class RunPostponed(LedgerError):
    """The run stops here for now: it is taken up again after `seconds`, or by a person where those are None.

    `at` is that time by the database's clock, once it is recorded.
    """

    def __init__(self, reason: str, seconds: float | None, at: datetime | None = None) -> None:
        when = at.astimezone(UTC).isoformat(sep=" ", timespec="seconds") if at else None
        super().__init__(f"{reason} (not before {when})" if when else reason)
        self.reason = reason
        self.seconds = seconds


@dataclass(frozen=True, slots=True)
class Patience:
    """How long and how often an endpoint is asked again; seconds."""

    #: For how long in all, before the run pauses.
    busy_seconds: float = 600.0
    first_wait: float = 1.0
    wait_max: float = 60.0
    #: For how long a run pauses where the endpoint does not say it.
    away_seconds: float = 900.0
    #: The same where a limit of tokens per day is met: nobody says when the day of an account begins.
    day_seconds: float = 3600.0
    #: Corrections of an answer, longer answers, shorter prompts, and keys that were just replaced.
    repairs_max: int = 2
    longer_max: int = 2
    shrinks_max: int = 6
    keys_max: int = 1


@dataclass
class Course:
    """How one question has fared so far; `room` is the part of the material that is sent, `longer` how often the room for the answer was doubled."""

    patience: Patience
    clock: Clock
    room: float = 1.0
    longer: int = 0
    #: What to say about the answer before, which was of no use.
    complaint: str | None = None
    _away: int = 0
    _waited: float = 0.0
    _repairs: int = 0
    _shrinks: int = 0
    _keys: int = 0
    _random: random.Random = field(default_factory=random.Random)

    async def after(self, error: ModelError) -> None:
        """Make ready for another try, waiting as long as it needs; raises the error where none helps, or RunPostponed."""
        self.complaint = None
        if isinstance(error, _FOR_A_PERSON):
            raise RunPostponed(
                f"{error.reason}; a person has to act, then `perdure resume RUN` goes on", None
            ) from error
        if isinstance(error, RateLimited) and error.kind == "tpd":
            raise self._postponed(error, error.retry_after or self.patience.day_seconds) from error
        if isinstance(error, _AWAY):
            await self._wait(error)
        elif not self._changed(error):
            raise error

    def _changed(self, error: ModelError) -> bool:
        """Ask otherwise than before, if there is another way."""
        match error:
            case ContextOverflow():
                # The client keeps to a limit that it was told; only what does not fit even then is made less.
                self.room *= 1.0 if self._shrinks == 0 and error.limit else SHRINK
                self._shrinks += 1
                return self._shrinks <= self.patience.shrinks_max
            case Truncated():
                self.longer += 1
                return self.longer <= self.patience.longer_max
            case EmptyAnswer() | Malformed():
                self._repairs, self.complaint = self._repairs + 1, error.reason
                return self._repairs <= self.patience.repairs_max
            case KeyRefused():
                # It may have been replaced a moment ago: the next call resolves it anew.
                self._keys += 1
                return self._keys <= self.patience.keys_max
            case _:
                return False

    async def _wait(self, error: ModelError) -> None:
        backoff = self.patience.first_wait * 2.0 ** min(self._away, _DOUBLINGS_MAX)
        wait = min(backoff, self.patience.wait_max) * self._random.uniform(0.5, 1.0)
        wait = max(wait, error.retry_after or 0.0)
        if self._waited + wait >= self.patience.busy_seconds:
            raise self._postponed(error, max(wait, self.patience.away_seconds)) from error
        self._away, self._waited = self._away + 1, self._waited + wait
        await self.clock.sleep(wait)

    def _postponed(self, error: ModelError, seconds: float) -> RunPostponed:
        return RunPostponed(
            f"{error.reason}; the run goes on later, by `perdure sweep` then, or by `perdure resume RUN` at any time",
            seconds,
        )
