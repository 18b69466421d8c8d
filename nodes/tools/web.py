"""A web search as a tool: any search service that answers as SearXNG does, and the pages that it points to.

SearXNG's interface: GET <address>?q=…&format=json answers {"results": [{"url", "title", "content"}, …]}
(docs.searxng.org, Search API). Pages are fetched over HTTP and kept, bytes and text.
"""

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import httpx

from ledger.canonical import Json, digest
from ledger.documents import NewExtraction
from ledger.errors import CredentialRefused, OperationFailed
from ledger.journal import Received
from ledger.sources import NewSource
from nodes.material import Hit, SearchResult
from nodes.resources import Reading, Remote
from nodes.tools.addresses import NoAddress, canonical_address
from nodes.tools.documents import (
    DOCUMENT_BYTES_MAX,
    SNIFFED_BYTES,
    Extracted,
    Unreadable,
    media_type_of,
)
from nodes.tools.extractors import ExtractorLost, Extractors

# Long enough for a slow page, short against the patience of a person who watches.
TIMEOUT_SECONDS = 30.0
REDIRECTS_MAX = 5
# What later tells a page's edition; no other header is kept, they may name the reader.
_KEPT_HEADERS = ("content-type", "date", "etag", "last-modified")
# What asks for credentials, or for others (RFC 9110, 15.5.2, 15.5.4 and 15.5.8).
_REFUSED = frozenset({401, 403, 407})
# A person waits for a resume to begin.
CHECK_SECONDS = 5.0
# The setting that holds what a service is asked with.
SETTING = "PERDURE_SEARCH_URL"
_TRANSIENT = frozenset({408, 425, 429, 500, 502, 503, 504})


class HttpRefused(OperationFailed):
    """A server answered with an error."""

    def __init__(self, place: str, status: int) -> None:
        super().__init__(f"{place}: HTTP {status}", transient=status in _TRANSIENT)
        self.place = place
        self.status = status


@dataclass(frozen=True, slots=True)
class WebSearch:
    """Searches by a service and reads the pages of its hits."""

    address: str
    client: httpx.AsyncClient
    extractors: Extractors
    name: str = "web"

    @property
    def identity(self) -> Mapping[str, Json]:
        """The service, by the digest of its place: a key in its address may be replaced in the middle of a run."""
        place = str(httpx.URL(self.address).copy_with(userinfo=b"", query=None, fragment=None))
        return {"name": self.name, "service": digest(place.encode())}

    async def check_credentials(self) -> str:
        """Say whether the service knows us; raises CredentialRefused.

        One that cannot be reached now is no reason to wait: its calls are tried again by themselves.
        """
        try:
            response = await self.client.head(
                self.address, params={"format": "json"}, timeout=CHECK_SECONDS
            )
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            return (
                f"the web search does not answer now ({type(error).__name__}); its calls will tell"
            )
        if response.status_code in _REFUSED:
            raise CredentialRefused(_place(response.request), response.status_code, SETTING)
        return "the web search knows us"

    def search(self, query: str, limit: int) -> Remote[SearchResult]:
        """Return the call that asks the service."""

        async def understand(received: Received) -> SearchResult:
            return _results(received.content, limit)

        return Remote(partial(self._ask, query), understand)

    def read(self, uri: str) -> Remote[Reading]:
        """Return the call that fetches a page and extracts its text."""
        return Remote(partial(self._get, uri, {}), partial(self._extracted, uri))

    async def _ask(self, query: str) -> Received:
        try:
            received = await self._get(self.address, {"q": query, "format": "json"})
        except HttpRefused as error:
            if error.status in _REFUSED:
                raise CredentialRefused(error.place, error.status, SETTING) from error
            raise
        # The service's address may hold a key, and no result needs to know it.
        return replace(received, detail={})

    async def _extracted(self, uri: str, received: Received) -> Reading:
        try:
            extracted = await self.extractors.extract(received.content, received.media_type)
        except Unreadable as error:
            # A reader that died says nothing of the page.
            lost = isinstance(error, ExtractorLost)
            reason = f"{uri} cannot be read: {error.reason}"
            raise OperationFailed(reason, transient=lost) from error
        return Reading(_source(uri, received, extracted), _extraction(received.content, extracted))

    async def _get(self, address: str, params: dict[str, str]) -> Received:
        try:
            request = self.client.build_request("GET", address, params=params or None)
        except httpx.InvalidURL as error:
            raise OperationFailed("an address that is no URL", transient=False) from error
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                response = await self.client.send(request, stream=True)
                try:
                    return await _received(response)
                finally:
                    await response.aclose()
        except (httpx.HTTPError, httpx.InvalidURL, TimeoutError) as error:
            raise OperationFailed(
                f"{_place(request)}: {type(error).__name__}", transient=True
            ) from error


async def _received(response: httpx.Response) -> Received:
    """Return what came back, read only as far as a document may be long."""
    place = _place(response.request)
    if response.status_code >= httpx.codes.BAD_REQUEST:
        raise HttpRefused(place, response.status_code)
    if "," in response.headers.get("content-encoding", ""):
        # Compressed twice, a few kB unpack to gigabytes before the first byte is counted.
        raise OperationFailed(f"{place}: compressed more than once", transient=False)
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > DOCUMENT_BYTES_MAX:
            raise OperationFailed(f"{place}: larger than a document may be", transient=False)
    content = bytes(body)
    declared = response.headers.get("content-type")
    detail = {
        "url": str(response.url.copy_with(fragment=None)),
        "redirects": [str(earlier.url) for earlier in response.history],
        "status": response.status_code,
        "headers": {
            name: response.headers[name] for name in _KEPT_HEADERS if name in response.headers
        },
    }
    media_type = media_type_of(response.url.path, content[:SNIFFED_BYTES], declared)
    return Received(content, media_type, detail)


def _results(content: bytes, limit: int) -> SearchResult:
    hits: dict[str, Hit] = {}
    try:
        results = cast("list[dict[str, Any]]", json.loads(content)["results"])
        for rank, result in enumerate(results[:limit]):
            with suppress(NoAddress):
                uri = canonical_address(_text(result["url"]))
                hits.setdefault(uri, Hit(uri, _text(result.get("title") or ""), 1 / (rank + 1)))
    # RecursionError: what is nested deeper than the parser goes.
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise OperationFailed(
            "the search service gave no list of results", transient=False
        ) from error
    return SearchResult(tuple(hits.values()))


def _place(request: httpx.Request) -> str:
    """Return the address without what may hold a key or a question: its user and password, its query."""
    return str(request.url.copy_with(userinfo=b"", query=None, fragment=None))


def _text(value: Any) -> str:
    """Return text that can be stored: JSON may name halves of characters."""
    return str(value).encode("utf-8", "replace").decode()


def _source(uri: str, received: Received, extracted: Extracted) -> NewSource:
    detail = received.detail
    return NewSource(
        uri=uri,
        canonical_uri=detail["url"],
        title=extracted.title,
        content_artifact=digest(received.content),
        text_artifact=digest(extracted.text.encode()),
        extractor=extracted.extractor,
        redirects=tuple(detail["redirects"]),
        metadata={"status": detail["status"], **detail["headers"]},
    )


def _extraction(content: bytes, extracted: Extracted) -> NewExtraction:
    return NewExtraction(
        content=content,
        media_type=extracted.media_type,
        extractor=extracted.extractor,
        title=extracted.title,
        text=extracted.text,
        reason=None,
    )
