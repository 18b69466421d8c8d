"""Requests for pages, one hop after the other: each redirect is a new address, with all that is asked of one."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from types import MappingProxyType

import httpx

from nodes.tools.documents import DOCUMENT_BYTES_MAX
from nodes.tools.fetch.bodies import ACCEPTED_ENCODINGS, body_of
from nodes.tools.fetch.egress import EgressPolicy
from nodes.tools.fetch.outcomes import CONTENT, FetchFailed, place_of

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
#: By what name robots.txt speaks to us.
AGENT = "perdure"
_HEADERS = {
    "accept": "text/html, application/xhtml+xml, application/pdf, text/plain, text/markdown;q=0.9, */*;q=0.1",
    "accept-encoding": ACCEPTED_ENCODINGS,
    "user-agent": f"{AGENT}/{version('perdure')}",
}
_NO_HEADERS: Mapping[str, str] = MappingProxyType({})

OnHop = Callable[[httpx.URL], Awaitable[None]]
OnResponse = Callable[[httpx.Response], None]


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a page may cost."""

    #: For everything, redirects, robots.txt and the body with them: long enough for a slow page, short against the
    #: patience of a person who watches.
    seconds: float = 30.0
    redirects: int = 5
    #: As they travel, and as they unpack.
    body_bytes: int = DOCUMENT_BYTES_MAX


@dataclass(frozen=True, slots=True)
class Got:
    """What an address answered in the end; the body only with a status that carries content."""

    url: httpx.URL
    redirects: tuple[str, ...]
    status: int
    headers: httpx.Headers
    body: bytes


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is looked at on the way: each address before it is asked, and each answer before its body is read."""

    on_hop: OnHop
    on_response: OnResponse
    body_bytes: int
    cut: bool = False
    #: Headers for one address only: what tells its edition would mean nothing to another.
    conditional: Mapping[str, Mapping[str, str]] = field(
        default_factory=lambda: MappingProxyType({})
    )


@dataclass(frozen=True, slots=True)
class Requester:
    """Sends requests under a policy; keeps no cookies, knows no passwords."""

    transport: httpx.AsyncBaseTransport
    policy: EgressPolicy
    limits: Limits = field(default_factory=Limits)

    async def get(self, url: httpx.URL, wanted: Wanted) -> Got:
        """Return what an address answers, having followed where it sends us; raises FetchFailed."""
        seen: list[str] = []
        while True:
            self.policy.check_url(url)
            await wanted.on_hop(url)
            headers = wanted.conditional.get(str(url), _NO_HEADERS)
            async with self._asked(url, headers) as response:
                following = _following(url, response)
                if following is None:
                    return await _got(url, tuple(seen), response, wanted)
            seen.append(str(url))
            if str(following) in seen:
                raise FetchFailed(place_of(url), "unavailable", "redirects in a circle")
            if len(seen) > self.limits.redirects:
                raise FetchFailed(
                    place_of(url), "unavailable", f"more than {self.limits.redirects} redirects"
                )
            url = following

    @asynccontextmanager
    async def _asked(
        self, url: httpx.URL, headers: Mapping[str, str]
    ) -> AsyncGenerator[httpx.Response]:
        timeout = httpx.Timeout(self.limits.seconds).as_dict()
        request = httpx.Request(
            "GET", url, headers={**_HEADERS, **headers}, extensions={"timeout": timeout}
        )
        try:
            response = await self.transport.handle_async_request(request)
            response.request = request
            try:
                yield response
            finally:
                await response.aclose()
        except httpx.HTTPError as error:
            why = type(error).__name__
            raise FetchFailed(place_of(url), "unavailable", why, transient=True) from error


async def _got(
    url: httpx.URL, redirects: tuple[str, ...], response: httpx.Response, wanted: Wanted
) -> Got:
    wanted.on_response(response)
    body = b""
    if response.status_code in CONTENT:
        body = await body_of(response, wanted.body_bytes, cut=wanted.cut)
    return Got(url, redirects, response.status_code, response.headers, body)


def _following(url: httpx.URL, response: httpx.Response) -> httpx.URL | None:
    """Return where a redirect leads; None for any other answer."""
    if response.status_code not in _REDIRECTS or "location" not in response.headers:
        return None
    try:
        return url.join(response.headers["location"]).copy_with(fragment=None)
    except httpx.InvalidURL as error:
        raise FetchFailed(
            place_of(url), "unavailable", "redirects to what is no address"
        ) from error
