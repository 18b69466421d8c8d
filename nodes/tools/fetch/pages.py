"""Fetches a page, or says in which of the states it is; and asks again later whether it is still what it was."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import httpx

from ledger.canonical import digest
from ledger.journal import Received
from ledger.sources import NewSource
from nodes.tools.addresses import NoAddress, canonical_address
from nodes.tools.documents import (
    SNIFFED_BYTES,
    UNINFORMATIVE,
    Unreadable,
    essence_of,
    extractor_of,
    media_type_of,
)
from nodes.tools.fetch.outcomes import CONTENT, FetchFailed, State, place_of, refusal
from nodes.tools.fetch.requests import Got, Requester, Wanted
from nodes.tools.fetch.robots import Robots

# What later tells a page's edition; no other header is kept, they may name the reader.
_KEPT_HEADERS = ("content-type", "date", "etag", "last-modified")
_NOT_MODIFIED = 304
#: By which headers a request names the edition that we have (RFC 9110, section 13.1).
_CONDITIONS = {"etag": "if-none-match", "last-modified": "if-modified-since"}


@dataclass(frozen=True, slots=True)
class Unchanged:
    """The page is what it was."""


@dataclass(frozen=True, slots=True)
class Changed:
    """The page has another edition now."""

    received: Received


@dataclass(frozen=True, slots=True)
class Gone:
    """The page is not to be had now; `transient` says whether it may be another time."""

    state: State
    reason: str
    transient: bool


Rechecked: TypeAlias = Unchanged | Changed | Gone


@dataclass(frozen=True, slots=True)
class Pages:
    """The pages of the open web."""

    requester: Requester
    robots: Robots

    async def fetch(self, uri: str) -> Received:
        """Return a page as it came, with where it was found; raises FetchFailed."""
        return _received(await self._got(uri, {}))

    async def recheck(self, source: NewSource) -> Rechecked:
        """Say whether a source that was read from the web is still what it was; nothing is recorded.

        A server that knows the edition that we have sends no page; otherwise the bytes are compared.
        """
        headers = {
            _CONDITIONS[name]: value
            for name, value in source.metadata.items()
            if name in _CONDITIONS
        }
        try:
            got = await self._got(source.uri, {source.canonical_uri: headers})
        except FetchFailed as failure:
            return Gone(failure.state, failure.reason, failure.transient)
        if got.status == _NOT_MODIFIED or digest(got.body) == source.content_artifact:
            return Unchanged()
        return Changed(_received(got))

    async def _got(self, uri: str, conditional: Mapping[str, Mapping[str, str]]) -> Got:
        limits = self.requester.limits
        wanted = Wanted(
            self.robots.check, _check_response, limits.body_bytes, conditional=conditional
        )
        try:
            url = httpx.URL(canonical_address(uri))
        except NoAddress as error:
            raise FetchFailed("an address", "unavailable", "it is no URL of a page") from error
        try:
            async with asyncio.timeout(limits.seconds):
                return await self.requester.get(url, wanted)
        except TimeoutError as error:
            why = f"not read within {limits.seconds:g} s"
            raise FetchFailed(place_of(url), "unavailable", why, transient=True) from error


def _check_response(response: httpx.Response) -> None:
    """Raise FetchFailed for an answer whose body is no content, before it is read."""
    place = place_of(response.request.url)
    conditional = any(name in response.request.headers for name in _CONDITIONS.values())
    if response.status_code == _NOT_MODIFIED and conditional:
        return
    if response.status_code not in CONTENT:
        raise refusal(place, response.status_code)
    declared = response.headers.get("content-type", "")
    essence = essence_of(declared)
    if essence in UNINFORMATIVE:
        return
    try:
        extractor_of(declared)
    except Unreadable as error:
        raise FetchFailed(place, "unsupported", error.reason) from error


def _received(got: Got) -> Received:
    detail = {
        "url": str(got.url),
        "redirects": list(got.redirects),
        "status": got.status,
        "headers": {name: got.headers[name] for name in _KEPT_HEADERS if name in got.headers},
    }
    head, declared = got.body[:SNIFFED_BYTES], got.headers.get("content-type")
    return Received(got.body, media_type_of(got.url.path, head, declared), detail)
