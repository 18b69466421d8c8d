"""What becomes of a page that is asked for: it is retained, or one of the states says why not.

The ledger's sources know `retained`, `changed`, `unavailable` and `forbidden`; the finer states are told in the reason
of the failed attempt, which reports quote.
"""

from typing import TYPE_CHECKING, Literal, TypeAlias

from ledger.errors import OperationFailed

if TYPE_CHECKING:
    import httpx

#: unavailable   it is not there, or its server does not answer as it should
#: forbidden     it is not for everybody, or robots.txt asks programs not to read it
#: paywalled     it is for those who pay
#: blocked       our own rules say that no request may go there
#: unsupported   it is there, and nothing that can be read as text
State: TypeAlias = Literal["unavailable", "forbidden", "paywalled", "blocked", "unsupported"]


class FetchFailed(OperationFailed):
    """A page is not to be had; `state` says how."""

    def __init__(self, place: str, state: State, why: str, *, transient: bool = False) -> None:
        super().__init__(f"{place}: {why} ({state})", transient=transient)
        self.state: State = state


class Blocked(FetchFailed):
    """Our own rules say that no request may go there; none was sent."""

    def __init__(self, place: str, why: str) -> None:
        super().__init__(place, "blocked", why)


# RFC 9110 and 6585: the same request may be answered later.
TRANSIENT = frozenset({408, 425, 429, 500, 502, 503, 504})
# Ask for credentials (401, 407), refuse (403), refuse by law (451, RFC 7725).
_FORBIDDEN = frozenset({401, 403, 407, 451})
_PAYMENT_REQUIRED = 402
# 200, and 203 from a proxy that changed something; other successes carry no page or a part of one (RFC 9110, 15.3).
CONTENT = frozenset({200, 203})


def refusal(place: str, status: int) -> FetchFailed:
    """Return the failure that this status stands for; whatever page comes with it is no content."""
    why, transient = f"HTTP {status}", status in TRANSIENT
    if status in _FORBIDDEN:
        return FetchFailed(place, "forbidden", why)
    if status == _PAYMENT_REQUIRED:
        return FetchFailed(place, "paywalled", why)
    return FetchFailed(place, "unavailable", why, transient=transient)


def place_of(url: "httpx.URL") -> str:
    """Return the address without what may hold a key or a question: its user and password, its query."""
    return str(url.copy_with(userinfo=b"", query=None, fragment=None))
