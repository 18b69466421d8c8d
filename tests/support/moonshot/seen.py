"""What reached the server and what became of it: the oracle, which knows what a client only believes."""

import hashlib
import json
from collections import Counter
from dataclasses import dataclass, replace
from threading import Lock

from tests.support.moonshot.answers import Answer
from tests.support.moonshot.chat import ChatRequest
from tests.support.moonshot.faults import FaultKind

CHAT = "/v1/chat/completions"


@dataclass(frozen=True)
class Outcome:
    """What was answered, known before the first byte of it leaves.

    `status` is None where nothing comes. `billed_tokens` are those of an answer that was meant to arrive whole: failed
    requests are not billed (forum.moonshot.ai/t/569), and a stream that breaks off counts as failed.
    """

    status: int | None
    error_type: str | None = None
    fault: FaultKind | None = None
    answer: Answer | None = None
    billed_tokens: int = 0


@dataclass
class Seen:
    """One request. `call` numbers the chat completions from 0; `duplicate_of` is the call that came twice by itself.

    `key` is the bearer token that came, which `headers` leaves out. `trace_id` went back as X-Trace-Id. `left` says that
    the client went while the server was silent.
    """

    method: str
    path: str
    headers: dict[str, str]
    key: str | None
    raw: bytes
    trace_id: str
    call: int | None = None
    duplicate_of: int | None = None
    outcome: Outcome | None = None
    left: bool = False

    @property
    def chat(self) -> ChatRequest:
        """The request as a chat completion; raises ValueError if it is not JSON."""
        return ChatRequest(json.loads(self.raw))

    @property
    def digest(self) -> str:
        """The SHA-256 of the body as it came: the same for a call that is repeated."""
        return hashlib.sha256(self.raw).hexdigest()


class Log:
    """Every request in order of arrival; what is read is a copy, so that any thread may."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._requests: list[Seen] = []
        self._calls = 0
        self._at_once = 0
        self._most_at_once = 0

    @property
    def requests(self) -> list[Seen]:
        """Every request that came."""
        with self._lock:
            return list(self._requests)

    @property
    def calls(self) -> list[Seen]:
        """The chat completions among them, duplicates too."""
        return [one for one in self.requests if one.call is not None]

    @property
    def repeats(self) -> Counter[str]:
        """How often each body of a chat completion came, by its digest."""
        return Counter(one.digest for one in self.calls)

    def answered(self) -> list[ChatRequest]:
        """The chat completions that were answered whole: what a cache can have."""
        return [one.chat for one in self.calls if one.outcome and one.outcome.billed_tokens]

    @property
    def billed_tokens(self) -> int:
        """What all calls cost, in tokens."""
        return sum(one.outcome.billed_tokens for one in self.requests if one.outcome)

    @property
    def at_once(self) -> int:
        """How many chat completions are at work."""
        with self._lock:
            return self._at_once

    @property
    def most_at_once(self) -> int:
        """How many chat completions were at work at once, at most."""
        with self._lock:
            return self._most_at_once

    def add(self, seen: Seen) -> None:
        """Take down a request that has come, and number it if it is a chat completion."""
        with self._lock:
            self._requests.append(seen)
            if (seen.method, seen.path) == ("POST", CHAT):
                seen.call, self._calls = self._calls, self._calls + 1
                self._at_once += 1
                self._most_at_once = max(self._most_at_once, self._at_once)

    def add_duplicate(self, seen: Seen) -> None:
        """Take down the repetition of a call: no call of a client's, so that the schedule's numbers stay."""
        with self._lock:
            self._requests.append(replace(seen, duplicate_of=seen.call))

    def end(self, seen: Seen) -> None:
        """Say that a request is at work no more."""
        with self._lock:
            self._at_once -= seen.call is not None
