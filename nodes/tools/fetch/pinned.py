"""Connections for pages: to the address that was checked, and to no other that the name may stand for a moment later.

A name is resolved once for each connection, every address that it stands for is checked, and the connection is made to
one of them; TLS and the Host header keep the name. Checking first and connecting by name afterwards would resolve
twice, and whoever owns the name may answer differently (DNS rebinding).
"""

import asyncio
import socket
import ssl
from collections.abc import Iterable, Sequence
from typing import Protocol, cast

import httpcore
import httpx
from typing_extensions import override

from nodes.tools.fetch.egress import Address, EgressPolicy, is_literal, parsed_address
from nodes.tools.fetch.outcomes import Blocked

# What waits for one run's branches at the same time, and what is kept open for the next page of the same host.
CONNECTIONS_MAX = 100
IDLE_CONNECTIONS_MAX = 20
IDLE_SECONDS = 5.0


class Resolver(Protocol):
    """Tells which addresses a name stands for."""

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        """Return the addresses of a host; raises OSError where there is none."""
        ...


class SystemResolver:
    """Asks as every other program of this machine does: its hosts file, then DNS."""

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        """Return the addresses of a host; raises OSError where there is none."""
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        return list(dict.fromkeys(str(each[4][0]) for each in found))


class PinnedBackend(httpcore.AsyncNetworkBackend):
    """Opens connections to checked addresses."""

    def __init__(self, policy: EgressPolicy, resolver: Resolver) -> None:
        self._policy, self._resolver = policy, resolver
        self._network = cast("httpcore.AsyncNetworkBackend", httpcore.AnyIOBackend())

    @override
    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        addresses = await self._checked(host, port, timeout)
        refused: httpcore.ConnectError | httpcore.ConnectTimeout | None = None
        for address in addresses:
            try:
                return await self._network.connect_tcp(
                    str(address), port, timeout, local_address, socket_options
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                refused = error
        raise refused or httpcore.ConnectError("the name stands for no address")

    @override
    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        raise Blocked(path, "a socket of this machine is no web page")

    @override
    async def sleep(self, seconds: float) -> None:
        await self._network.sleep(seconds)

    async def _checked(self, host: str, port: int, timeout: float | None) -> list[Address]:
        """Return the addresses of a host; one that is not allowed refuses all, because the name's owner chose it."""
        try:
            async with asyncio.timeout(timeout):
                found = [host] if is_literal(host) else await self._resolver.resolve(host, port)
        except TimeoutError as error:
            raise httpcore.ConnectTimeout("its name is not resolved in time") from error
        # UnicodeError: a label that is too long for DNS.
        except (OSError, UnicodeError) as error:
            raise httpcore.ConnectError("its name is not known") from error
        addresses = [parsed_address(text) for text in found]
        for address in addresses:
            self._policy.check_address(host, address)
        return addresses


class PageTransport(httpx.AsyncHTTPTransport):
    """Carries requests for pages under a policy, through no proxy: one would resolve the name anew."""

    def __init__(
        self, policy: EgressPolicy, verify: ssl.SSLContext, resolver: Resolver | None = None
    ) -> None:
        super().__init__(verify=verify, trust_env=False)
        # httpx takes no network backend. The pool that it made has opened nothing yet.
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=verify,
            max_connections=CONNECTIONS_MAX,
            max_keepalive_connections=IDLE_CONNECTIONS_MAX,
            keepalive_expiry=IDLE_SECONDS,
            network_backend=PinnedBackend(policy, resolver or SystemResolver()),
        )
