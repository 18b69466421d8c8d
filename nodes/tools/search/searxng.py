"""SearXNG, and whatever answers as it does: GET <address>?q=…&format=json gives {"results": [{"url", "title"}, …]}.

Source: docs.searxng.org, Search API.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpx

from ledger.canonical import Json
from nodes.tools.search.base import REFUSED, place_digest


@dataclass(frozen=True, slots=True)
class SearXNG:
    """A metasearch service, mostly one's own; a key may be in its address."""

    address: str
    name: str = "searxng"
    setting: str = "PERDURE_SEARCH_URL"
    follows_redirects: bool = True

    @property
    def identity(self) -> Mapping[str, Json]:
        """The service by its place alone: so runs have named it since there were no others."""
        return {"name": "web", "service": place_digest(self.address)}

    def request(self, query: str, limit: int) -> httpx.Request:
        """Return the request for a query."""
        return httpx.Request("GET", self.address, params={"q": query, "format": "json"})

    def check(self) -> httpx.Request | None:
        """Return a request without a query."""
        return httpx.Request("HEAD", self.address, params={"format": "json"})

    def is_refusal(self, status: int, body: bytes) -> bool:
        """Whether the status says so."""
        return status in REFUSED

    def results(self, answer: Any) -> Sequence[Any]:
        """Return the results."""
        found: Sequence[Any] = answer["results"]
        return found
