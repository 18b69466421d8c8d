"""A web search as a tool: a search service, and the pages that it points to, which are kept, bytes and text."""

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import httpx

from ledger.canonical import Json, digest
from ledger.documents import NewExtraction
from ledger.errors import CredentialRefused, OperationFailed
from ledger.journal import Received
from ledger.sources import NewSource
from nodes.material import Hit, SearchResult
from nodes.resources import Reading, Remote
from nodes.tools.addresses import NoAddress, canonical_address
from nodes.tools.documents import HTML, Extracted, Unreadable
from nodes.tools.extractors import ExtractorLost, Extractors
from nodes.tools.fetch.bodies import ACCEPTED_ENCODINGS, body_of
from nodes.tools.fetch.outcomes import TRANSIENT, FetchFailed, place_of
from nodes.tools.fetch.pages import Pages
from nodes.tools.fetch.paywall import is_paywalled
from nodes.tools.search.base import Provider

# Long enough for a service that asks others, short against the patience of a person who watches.
SEARCH_SECONDS_MAX = 30.0
REDIRECTS_MAX = 5
_OK = 200
# A list of results is a few dozen kB.
RESULTS_BYTES_MAX = 16 * 1024 * 1024
# As much of an error as tells what it is.
COMPLAINT_BYTES_MAX = 64 * 1024
# A person waits for a resume to begin.
CHECK_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class WebSearch:
    """Searches by a service and reads the pages of its hits."""

    provider: Provider
    client: httpx.AsyncClient
    pages: Pages
    extractors: Extractors
    name: str = "web"

    @property
    def identity(self) -> Mapping[str, Json]:
        """The service, as its provider names it."""
        return self.provider.identity

    async def check_credentials(self) -> str:
        """Say whether the service knows us; raises CredentialRefused.

        One that cannot be reached now is no reason to wait: its calls are tried again by themselves.
        """
        request = self.provider.check()
        if request is None:
            return "the web search has a key; its calls will tell whether it is valid"
        try:
            async with asyncio.timeout(CHECK_SECONDS):
                response = await self.client.send(request, follow_redirects=True)
        except (httpx.HTTPError, httpx.InvalidURL, TimeoutError) as error:
            return (
                f"the web search does not answer now ({type(error).__name__}); its calls will tell"
            )
        if self.provider.is_refusal(response.status_code, b""):
            place = place_of(response.request.url)
            raise CredentialRefused(place, response.status_code, self.provider.setting)
        return "the web search knows us"

    def search(self, query: str, limit: int) -> Remote[SearchResult]:
        """Return the call that asks the service."""

        async def understand(received: Received) -> SearchResult:
            return _results(self.provider, received.content, limit)

        return Remote(partial(self._ask, query, limit), understand)

    def read(self, uri: str) -> Remote[Reading]:
        """Return the call that fetches a page and extracts its text."""
        return Remote(partial(self.pages.fetch, uri), partial(self._extracted, uri))

    async def _ask(self, query: str, limit: int) -> Received:
        try:
            request = self.provider.request(query, limit)
            request.headers["accept-encoding"] = ACCEPTED_ENCODINGS
            async with asyncio.timeout(SEARCH_SECONDS_MAX):
                response = await self.client.send(
                    request, stream=True, follow_redirects=self.provider.follows_redirects
                )
                try:
                    return await _answer(self.provider, response)
                finally:
                    await response.aclose()
        except (httpx.HTTPError, httpx.InvalidURL, TimeoutError) as error:
            place = place_of(httpx.URL(self.provider.address))
            raise OperationFailed(f"{place}: {type(error).__name__}", transient=True) from error

    async def _extracted(self, uri: str, received: Received) -> Reading:
        if received.media_type.startswith(HTML) and is_paywalled(received.content):
            raise FetchFailed(uri, "paywalled", "the page says that it is not accessible for free")
        try:
            extracted = await self.extractors.extract(received.content, received.media_type)
        except Unreadable as error:
            # A reader that died says nothing of the page.
            lost = isinstance(error, ExtractorLost)
            reason = f"{uri} cannot be read: {error.reason}"
            raise OperationFailed(reason, transient=lost) from error
        return Reading(_source(uri, received, extracted), _extraction(received.content, extracted))


async def _answer(provider: Provider, response: httpx.Response) -> Received:
    """Return what the service answered, read only as far as a list of results may be long."""
    place, status = place_of(response.request.url), response.status_code
    if status != _OK:
        if await _is_refusal(provider, response):
            raise CredentialRefused(place, status, provider.setting)
        raise OperationFailed(f"{place}: HTTP {status}", transient=status in TRANSIENT)
    content = await body_of(response, RESULTS_BYTES_MAX)
    # The service's address may hold a key, and no result needs to know it.
    return Received(content, response.headers.get("content-type", ""), {})


async def _is_refusal(provider: Provider, response: httpx.Response) -> bool:
    """Say whether the service knows us no more: by the status alone, else by what it says beside it."""
    if provider.is_refusal(response.status_code, b""):
        return True
    complaint = await body_of(response, COMPLAINT_BYTES_MAX, cut=True)
    return provider.is_refusal(response.status_code, complaint)


def _results(provider: Provider, content: bytes, limit: int) -> SearchResult:
    hits: dict[str, Hit] = {}
    try:
        for rank, result in enumerate(provider.results(json.loads(content))[:limit]):
            with suppress(NoAddress):
                uri = canonical_address(_text(result["url"]))
                hits.setdefault(uri, Hit(uri, _text(result.get("title") or ""), 1 / (rank + 1)))
    # RecursionError: what is nested deeper than the parser goes.
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise OperationFailed(
            "the search service gave no list of results", transient=False
        ) from error
    return SearchResult(tuple(hits.values()))


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
