"""What takes the consequences of a run: webhooks that keep their promises, each to its own extent, and count.

keyed: the same key with the same payload is the same effect, with another payload it is refused; a look-up tells.
mute: the same, and it cannot be asked. queryable: it ignores keys, and can be asked. opaque: neither.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Literal, TypeAlias

Hook: TypeAlias = Literal["keyed", "mute", "queryable", "opaque"]
#: Those that take a request for what it was before, whenever it comes.
HONOURING: frozenset[Hook] = frozenset({"keyed", "mute"})
#: Those that can be asked what became of a key.
ANSWERING: frozenset[Hook] = frozenset({"keyed", "queryable"})

#: Returns how many attempts to send are recorded for a key by now, and whether what decided it is stored.
Recorded: TypeAlias = Callable[[str], Awaitable[tuple[int, bool]]]
Answer: TypeAlias = tuple[HTTPStatus, str, bytes]


@dataclass
class Taken:
    """What one run gave away: by idempotency key, of a mail by its Message-ID."""

    #: How often something was carried out.
    carried: Counter[str] = field(default_factory=Counter[str])
    #: How often it was asked for and processed, whatever came of it.
    processed: Counter[str] = field(default_factory=Counter[str])
    #: How often it was sent here, processed or not.
    arrived: Counter[str] = field(default_factory=Counter[str])
    #: What was sent under each key: digests of whole payloads.
    payloads: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    problems: list[str] = field(default_factory=list[str])
    #: What a look-up answers: the digest that the sender gave.
    _digests: dict[str, str] = field(default_factory=dict[str, str])

    async def arrive(self, key: str, payload: bytes, recorded: Recorded) -> None:
        """Count what comes in, and see that its attempt was recorded before."""
        self.arrived[key] += 1
        self.payloads.setdefault(key, set()).add(hashlib.sha256(payload).hexdigest())
        attempts, is_decided = await recorded(key)
        if not is_decided:
            self.problems.append(f"{key} was sent before what decides it was stored")
        if self.arrived[key] > attempts:
            self.problems.append(
                f"{key} was sent {self.arrived[key]} times when {attempts} attempts were recorded"
            )

    def post(self, hook: Hook, key: str, payload: bytes, *, failing: bool) -> Answer:
        """Take a request, unless the hook is out of order."""
        self.processed[key] += 1
        if failing:
            return HTTPStatus.SERVICE_UNAVAILABLE, "text/plain", b"out of order"
        if len(self.payloads[key]) > 1 and hook in HONOURING:
            return HTTPStatus.UNPROCESSABLE_ENTITY, "text/plain", b"another payload"
        if hook not in HONOURING or not self.carried[key]:
            self.carried[key] += 1
        self._digests[key] = json.loads(payload)["request_digest"]
        return self._receipt(key)

    def look_up(self, hook: Hook, key: str) -> Answer:
        """Say what became of a key."""
        if hook not in ANSWERING:
            return HTTPStatus.METHOD_NOT_ALLOWED, "text/plain", b"no look-up"
        if not self.carried[key]:
            return HTTPStatus.NOT_FOUND, "text/plain", b"unknown"
        return self._receipt(key)

    def _receipt(self, key: str) -> Answer:
        receipt = {"id": f"receipt-{key}", "request_digest": self._digests[key]}
        return HTTPStatus.OK, "application/json", json.dumps(receipt).encode()
