"""Brave: GET https://api.search.brave.com/res/v1/web/search?q=… gives {"web": {"results": [{"url", "title", …}, …]}}.

Source: Brave Search API documentation, Web Search. At most 20 results; without any, `web` is left out. A key that it
does not know is answered with 422 and a code, not with 401.
"""

from collections.abc import Sequence
from typing import Any

import httpx
from typing_extensions import override

from nodes.tools.search.base import Key, Keyed

ADDRESS = "https://api.search.brave.com/res/v1/web/search"
RESULTS_MAX = 20
_UNPROCESSABLE, _UNKNOWN_KEY = 422, b"SUBSCRIPTION_TOKEN_INVALID"


class Brave(Keyed):
    """Asks for web results only: no news, no videos."""

    name = "brave"

    def __init__(self, key: Key, address: str = ADDRESS) -> None:
        super().__init__(key, address)

    def request(self, query: str, limit: int) -> httpx.Request:
        """Return the request for a query; raises CredentialRefused."""
        asked: dict[str, str | int] = {
            "q": query,
            "count": min(limit, RESULTS_MAX),
            "result_filter": "web",
        }
        headers = {"x-subscription-token": self.key(), "accept": "application/json"}
        return httpx.Request("GET", self.address, params=asked, headers=headers)

    @override
    def is_refusal(self, status: int, body: bytes) -> bool:
        """Whether the status says so, or the code beside it."""
        unknown = status == _UNPROCESSABLE and _UNKNOWN_KEY in body
        return unknown or super().is_refusal(status, body)

    def results(self, answer: Any) -> Sequence[Any]:
        """Return the results."""
        # `type` names the answer; what has neither is no answer of this service.
        return answer["web"]["results"] if "web" in answer or "type" not in answer else []
