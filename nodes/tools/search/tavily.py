"""Tavily: POST https://api.tavily.com/search with a bearer token gives {"results": [{"url", "title", …}, …]}.

Source: docs.tavily.com, API reference, Search. At most 20 results.
"""

from collections.abc import Sequence
from typing import Any

import httpx

from nodes.tools.search.base import Key, Keyed

ADDRESS = "https://api.tavily.com/search"
RESULTS_MAX = 20


class Tavily(Keyed):
    """Asks for results only: no answer, no images, no page texts."""

    name = "tavily"

    def __init__(self, key: Key, address: str = ADDRESS) -> None:
        super().__init__(key, address)

    def request(self, query: str, limit: int) -> httpx.Request:
        """Return the request for a query; raises CredentialRefused."""
        body = {"query": query, "max_results": min(limit, RESULTS_MAX)}
        headers = {"authorization": f"Bearer {self.key()}"}
        return httpx.Request("POST", self.address, json=body, headers=headers)

    def results(self, answer: Any) -> Sequence[Any]:
        """Return the results."""
        found: Sequence[Any] = answer["results"]
        return found
