"""Where requests for pages may go. Addresses come from search results and redirects, which are anybody's text.

Two questions, both asked at every hop: whether the address may be asked at all (scheme, user, host, port), before a
name is resolved; and whether each address that the name stands for is one of the public internet, at the moment in
which the connection is made to it (`nodes.tools.fetch.pinned`).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import (
    AddressValueError,
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import TYPE_CHECKING, TypeAlias

from nodes.tools.fetch.outcomes import Blocked, place_of

if TYPE_CHECKING:
    import httpx

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network

_PORTS = {"http": 80, "https": 443}
# Below this, other ports belong to other protocols, and a request may be a command to them.
FREE_PORT_MIN = 1024
# "Bad ports" of the Fetch standard (fetch.spec.whatwg.org, section 2.9) from there on.
_BAD_PORTS = frozenset(
    {1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, *range(6665, 6670), 6679, 6697, 10080}
)  # fmt: skip

# The only unicast addresses that IANA gives out (RFC 4291, section 2.4); the rest is for networks among themselves.
_GLOBAL_UNICAST = IPv6Network("2000::/3")
# Addresses that stand for an IPv4 address in their last four bytes: RFC 4291 2.5.5.1 and 2.5.5.2, RFC 6052 and 8215.
_EMBEDDING = tuple(
    IPv6Network(text) for text in ("::/96", "::ffff:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48")
)
# Azure's host answers guests here, with credentials among other things; the address itself is a public one.
_METADATA = frozenset({IPv4Address("168.63.129.16")})
_NO_HOST = "give names of hosts: example.org, .example.org or *.example.org"
# What DNS names of hosts are made of, and `_`, which some have all the same.
_NAME = re.compile("[a-z0-9._-]+")
# A host whose last label is a number is an IPv4 address to resolvers, in whatever base (WHATWG URL, section 3.5).
_NUMBER = re.compile("[0-9]+|0x[0-9a-f]*")


@dataclass(frozen=True, slots=True)
class EgressPolicy:
    """The rules; by default any public host may be asked, and no other.

    A host is named in full, `.example.org` is it and all hosts below it, `*.example.org` those below it only. What is
    denied is denied even where it is allowed as well. `private_networks` are those of one's own that may be asked.
    """

    allowed_hosts: Sequence[str] = ()
    denied_hosts: Sequence[str] = ()
    private_networks: Sequence[Network] = ()

    def check_url(self, url: "httpx.URL") -> None:
        """Raise Blocked for an address that may not be asked, whatever its name stands for."""
        place = place_of(url)
        if url.scheme not in _PORTS:
            raise Blocked(place, "only http and https are asked")
        if url.userinfo:
            raise Blocked(place, "an address that brings its own user or password")
        self._check_port(place, _PORTS[url.scheme] if url.port is None else url.port)
        host = host_of(url)
        if ":" not in host and not _NAME.fullmatch(host):
            raise Blocked(place, "its host is no name")
        self._check_host(place, host)
        if (literal := _literal(place, host)) is not None:
            self.check_address(place, literal)

    def check_address(self, place: str, address: Address) -> None:
        """Raise Blocked for an address that is not of the public internet, nor of a network that was allowed."""
        if self._is_own(address):
            return
        for each in _meant_by(address):
            if not is_public(each) and not self._is_own(each):
                raise Blocked(place, f"{address} is no public address")

    def _is_own(self, address: Address) -> bool:
        return any(address in network for network in self.private_networks)

    def _check_host(self, place: str, host: str) -> None:
        if any(_fits(host, pattern) for pattern in self.denied_hosts):
            raise Blocked(place, "the host is denied by PERDURE_DENIED_HOSTS")
        if self.allowed_hosts and not any(_fits(host, pattern) for pattern in self.allowed_hosts):
            raise Blocked(place, "the host is not among PERDURE_ALLOWED_HOSTS")

    @staticmethod
    def _check_port(place: str, port: int) -> None:
        if port in _PORTS.values():
            return
        if port < FREE_PORT_MIN or port in _BAD_PORTS:
            raise Blocked(place, f"port {port} is not for web pages")


def host_of(url: "httpx.URL") -> str:
    """Return the host as it is compared: in ASCII, lower case, without the final dot and the zone of an address."""
    host = url.raw_host.decode("ascii").lower().rstrip(".")
    return host.partition("%")[0] if ":" in host else host


def checked_pattern(text: str) -> str:
    """Return a pattern of hosts as it is compared; raises ValueError for what can fit none."""
    # Settings are read by every command, and most of them ask no host.
    import httpx  # noqa: PLC0415

    prefix = next((each for each in ("*.", ".") if text.startswith(each)), "")
    try:
        url = httpx.URL(scheme="http", host=text.removeprefix(prefix))
    except httpx.InvalidURL:
        raise ValueError(_NO_HOST) from None
    host = host_of(url)
    if not (_NAME.fullmatch(host) or is_literal(host)):
        raise ValueError(_NO_HOST)
    return prefix + host


def checked_network(text: str) -> Network:
    """Return the network that is written so; raises ValueError."""
    try:
        return ip_network(text)
    except ValueError:
        raise ValueError("give networks like 10.0.0.0/8 or fd00::/8") from None


def is_public(address: Address) -> bool:
    """Whether an address is one of the public internet, of one host."""
    if isinstance(address, IPv6Address) and address not in _GLOBAL_UNICAST:
        return False
    return address.is_global and not address.is_multicast and address not in _METADATA


def _fits(host: str, pattern: str) -> bool:
    if pattern.startswith("*."):
        return host.endswith(pattern[1:])
    if pattern.startswith("."):
        return host == pattern[1:] or host.endswith(pattern)
    return host == pattern


def _literal(place: str, host: str) -> Address | None:
    """Return the address that a host is; raises Blocked for one that is written so that it looks like none."""
    if ":" in host:
        try:
            return IPv6Address(host)
        except AddressValueError:
            raise Blocked(place, "an IP address that cannot be read") from None
    if not _NUMBER.fullmatch(host.rpartition(".")[2]):
        return None
    try:
        return IPv4Address(host)
    except AddressValueError:
        raise Blocked(place, "an IP address in an unusual spelling") from None


def _meant_by(address: Address) -> tuple[Address, ...]:
    """Return the addresses that a packet to this one may end at."""
    if isinstance(address, IPv4Address):
        return (address,)
    if any(address in network for network in _EMBEDDING):
        return (IPv4Address(int(address) & 0xFFFFFFFF),)
    if address.sixtofour is not None:
        return (address, address.sixtofour)
    if address.teredo is not None:
        return (address, *address.teredo)
    return (address,)


def parsed_address(text: str) -> Address:
    """Return an address as a resolver gives it, without its zone."""
    return ip_address(text.partition("%")[0])


def is_literal(host: str) -> bool:
    """Whether a host is an address already, so that there is no name to resolve."""
    try:
        parsed_address(host)
    except ValueError:
        return False
    return True
