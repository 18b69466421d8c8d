"""What every search service has in common, whoever it is."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import httpx

from ledger.canonical import Json, digest

#: Returns a key as it is now; raises CredentialRefused. Asked for at each call, so that a new key counts at once.
Key: TypeAlias = Callable[[], str]

# What asks for credentials, or for others (RFC 9110, 15.5.2, 15.5.4 and 15.5.8).
REFUSED = frozenset({401, 403, 407})
#: The setting that holds where the key of a service is.
KEY_SETTING = "PERDURE_SEARCH_KEY"


class Provider(Protocol):
    """A search service."""

    @property
    def name(self) -> str:
        """What PERDURE_SEARCH calls it."""
        ...

    @property
    def address(self) -> str:
        """Where it is asked; may hold a key."""
        ...

    @property
    def setting(self) -> str:
        """The setting that holds what it knows us by."""
        ...

    @property
    def identity(self) -> Mapping[str, Json]:
        """What tells it from others in the keys of operations; a new key is the same service."""
        ...

    @property
    def follows_redirects(self) -> bool:
        """Whether its redirects are followed: never with a key in a header, which the next host would read."""
        ...

    def request(self, query: str, limit: int) -> httpx.Request:
        """Return the request for the best hits; raises CredentialRefused."""
        ...

    def check(self) -> httpx.Request | None:
        """Return a request that tells whether it knows us and costs nothing; None where there is none."""
        ...

    def is_refusal(self, status: int, body: bytes) -> bool:
        """Whether an answer means that it knows us no more."""
        ...

    def results(self, answer: Any) -> Sequence[Any]:
        """Return the results, each with `url` and `title`; raises KeyError and the like for another answer."""
        ...


def place_digest(address: str) -> str:
    """Return the digest of a service's place: a key in its address may be replaced in the middle of a run."""
    place = str(httpx.URL(address).copy_with(userinfo=b"", query=None, fragment=None))
    return digest(place.encode())


class Keyed:
    """A service that is told a key in a header."""

    name = ""
    setting = KEY_SETTING
    follows_redirects = False

    def __init__(self, key: Key, address: str) -> None:
        self.key, self.address = key, address

    @property
    def identity(self) -> Mapping[str, Json]:
        """The service by its name and place."""
        return {"name": "web", "provider": self.name, "service": place_digest(self.address)}

    def check(self) -> httpx.Request | None:
        """Make sure that there is a key; whether it is valid, only a search that is paid for tells."""
        self.key()
        return None

    def is_refusal(self, status: int, body: bytes) -> bool:
        """Whether the status says so."""
        return status in REFUSED
