"""Asks robots.txt before a page is read (RFC 9309), once a day for each host of a process, under the same rules.

No file (any 4xx, section 2.3.1.3) allows all. A file that cannot be had (5xx, no answer, section 2.3.1.4) allows
nothing now; it is asked for again with the next page.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import httpx
from protego import Protego

from nodes.tools.fetch.outcomes import CONTENT, TRANSIENT, FetchFailed, place_of
from nodes.tools.fetch.requests import AGENT, Requester, Wanted

# RFC 9309, section 2.5: a crawler must read 500 KiB, and need not read more.
ROBOTS_BYTES_MAX = 512 * 1024
# RFC 9309, section 2.4: no copy should be used for longer.
KEPT_SECONDS = 24 * 60 * 60.0
# A run reads pages of a few dozen hosts; beyond this the oldest is forgotten.
HOSTS_MAX = 1_000
_CLIENT_ERRORS = range(400, 500)


@dataclass(frozen=True, slots=True)
class _Kept:
    until: float
    #: None allows all.
    rules: Protego | None


@dataclass(frozen=True, slots=True)
class Robots:
    """The files of the hosts that this process has asked."""

    requester: Requester
    #: Seconds on a clock that never goes back.
    now: Callable[[], float] = time.monotonic
    _kept: dict[str, _Kept] = field(default_factory=dict[str, _Kept])
    _asking: dict[str, asyncio.Lock] = field(default_factory=dict[str, asyncio.Lock])

    async def check(self, url: httpx.URL) -> None:
        """Raise FetchFailed for a page that its host asks programs not to read."""
        address = url.copy_with(raw_path=b"/robots.txt", fragment=None)
        rules = await self._rules(address)
        if rules is not None and not rules.can_fetch(str(url), AGENT):
            raise FetchFailed(place_of(url), "forbidden", "robots.txt asks programs not to read it")

    async def _rules(self, address: httpx.URL) -> Protego | None:
        name = str(address)
        async with self._asking.setdefault(name, asyncio.Lock()):
            kept = self._kept.get(name)
            if kept is None or kept.until <= self.now():
                kept = _Kept(self.now() + KEPT_SECONDS, await self._asked(address))
                self._keep(name, kept)
        return kept.rules

    def _keep(self, name: str, kept: _Kept) -> None:
        self._kept.pop(name, None)
        self._kept[name] = kept
        if len(self._kept) > HOSTS_MAX:
            oldest = next(iter(self._kept))
            del self._kept[oldest]
            self._asking.pop(oldest, None)

    async def _asked(self, address: httpx.URL) -> Protego | None:
        wanted = Wanted(_any_hop, _any_response, ROBOTS_BYTES_MAX, cut=True)
        got = await self.requester.get(address, wanted)
        if got.status in CONTENT:
            return Protego.parse(got.body.decode("utf-8", "ignore"))
        if got.status in _CLIENT_ERRORS and got.status not in TRANSIENT:
            return None
        raise FetchFailed(place_of(address), "unavailable", f"HTTP {got.status}", transient=True)


async def _any_hop(url: httpx.URL) -> None:
    """Ask wherever the file was moved."""


def _any_response(response: httpx.Response) -> None:
    """Take any answer: its status says what it means."""
