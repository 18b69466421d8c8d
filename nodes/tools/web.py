"""A web search as a tool: any search service that answers as SearXNG does, and the pages that it points to.

SearXNG's interface: GET <address>?q=…&format=json answers {"results": [{"url", "title", "content"}, …]}
(docs.searxng.org, Search API). Pages are fetched over HTTP and kept, bytes and text.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import httpx

from ledger.canonical import Json, digest
from ledger.documents import NewExtraction
from ledger.errors import OperationFailed
from ledger.sources import NewSource
from nodes.material import Hit, SearchResult
from nodes.resources import Reading
from nodes.tools.documents import DOCUMENT_BYTES_MAX, Extracted, Unreadable, media_type_of
from nodes.tools.extractors import ExtractorLost, Extractors

# Long enough for a slow page, short against the patience of a person who watches.
TIMEOUT_SECONDS = 30.0
REDIRECTS_MAX = 5
# What later tells a page's edition; no other header is kept, they may name the reader.
_KEPT_HEADERS = ("content-type", "date", "etag", "last-modified")
_TRANSIENT = frozenset({408, 425, 429, 500, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class WebSearch:
    """Searches by a service and reads the pages of its hits."""

    address: str
    client: httpx.AsyncClient
    extractors: Extractors
    name: str = "web"

    @property
    def identity(self) -> Mapping[str, Json]:
        """The service, by the digest of its address: an address may hold a key."""
        return {"name": self.name, "service": digest(self.address.encode())}

    async def search(self, query: str, limit: int) -> SearchResult:
        """Return the service's results for a query; raises OperationFailed."""
        response = await self._get(self.address, {"q": query, "format": "json"})
        try:
            results = cast("list[dict[str, Any]]", response.json()["results"])
            hits = [_hit(rank, result) for rank, result in enumerate(results[:limit])]
        # RecursionError: what is nested deeper than the parser goes.
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise OperationFailed(
                "the search service gave no list of results", transient=False
            ) from error
        return SearchResult(tuple(hit for hit in hits if _is_page(hit.uri)))

    async def read(self, uri: str) -> Reading:
        """Fetch a page and extract its text; raises OperationFailed."""
        response = await self._get(uri, {})
        content = response.content
        media_type = media_type_of(
            response.url.path, content[:1024], response.headers.get("content-type")
        )
        try:
            extracted = await self.extractors.extract(content, media_type)
        except Unreadable as error:
            # A reader that died says nothing of the page.
            lost = isinstance(error, ExtractorLost)
            reason = f"{uri} cannot be read: {error.reason}"
            raise OperationFailed(reason, transient=lost) from error
        return Reading(_source(uri, response, extracted), _extraction(content, extracted))

    async def _get(self, address: str, params: dict[str, str]) -> httpx.Response:
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


async def _received(response: httpx.Response) -> httpx.Response:
    """Return the response with its body, read only as far as a document may be long."""
    if response.status_code >= httpx.codes.BAD_REQUEST:
        transient = response.status_code in _TRANSIENT
        raise OperationFailed(
            f"{_place(response.request)}: HTTP {response.status_code}", transient=transient
        )
    if "," in response.headers.get("content-encoding", ""):
        # Compressed twice, a few kB unpack to gigabytes before the first byte is counted.
        raise OperationFailed(
            f"{_place(response.request)}: compressed more than once", transient=False
        )
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > DOCUMENT_BYTES_MAX:
            raise OperationFailed(
                f"{_place(response.request)}: larger than a document may be", transient=False
            )
    headers = {name: response.headers[name] for name in _KEPT_HEADERS if name in response.headers}
    whole = httpx.Response(
        response.status_code, headers=headers, content=bytes(body), request=response.request
    )
    whole.history = response.history
    return whole


def _place(request: httpx.Request) -> str:
    """Return the address without what may hold a key or a question: its user and password, its query."""
    return str(request.url.copy_with(userinfo=b"", query=None, fragment=None))


def _hit(rank: int, result: dict[str, Any]) -> Hit:
    return Hit(_text(result["url"]), _text(result.get("title") or ""), 1 / (rank + 1))


def _text(value: Any) -> str:
    """Return text that can be stored: JSON may name halves of characters."""
    return str(value).encode("utf-8", "replace").decode()


def _is_page(address: str) -> bool:
    try:
        url = httpx.URL(address)
    except httpx.InvalidURL:
        return False
    return url.scheme in {"http", "https"} and bool(url.host)


def _source(uri: str, response: httpx.Response, extracted: Extracted) -> NewSource:
    return NewSource(
        uri=uri,
        canonical_uri=str(response.url.copy_with(fragment=None)),
        title=extracted.title,
        content_artifact=digest(response.content),
        text_artifact=digest(extracted.text.encode()),
        extractor=extracted.extractor,
        redirects=tuple(str(earlier.url) for earlier in response.history),
        metadata={"status": response.status_code, **dict(response.headers)},
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
