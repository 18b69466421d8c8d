"""Exa: POST https://api.exa.ai/search with `x-api-key` gives {"results": [{"url", "title", …}, …]}.

Source: docs.exa.ai, API reference, Search.
"""

from collections.abc import Sequence
from typing import Any

import httpx

from nodes.tools.search.base import Key, Keyed

ADDRESS = "https://api.exa.ai/search"


class Exa(Keyed):
    """Asks for results without their contents: pages are read where they are."""

    name = "exa"

    def __init__(self, key: Key, address: str = ADDRESS) -> None:
        super().__init__(key, address)

    def request(self, query: str, limit: int) -> httpx.Request:
        """Return the request for a query; raises CredentialRefused."""
        body = {"query": query, "numResults": limit}
        headers = {"x-api-key": self.key()}
        return httpx.Request("POST", self.address, json=body, headers=headers)

    def results(self, answer: Any) -> Sequence[Any]:
        """Return the results."""
        found: Sequence[Any] = answer["results"]
        return found
