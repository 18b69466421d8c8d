"""What tests read pages with: their servers are on the loopback interface, which no page may be on otherwise."""

import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx

from nodes.tools.fetch.egress import EgressPolicy, checked_network
from nodes.tools.fetch.pages import Pages
from nodes.tools.fetch.pinned import PageTransport, Resolver
from nodes.tools.fetch.requests import Limits, Requester
from nodes.tools.fetch.robots import Robots

#: PERDURE_PRIVATE_NETWORKS of tests.
LOOPBACK = "127.0.0.0/8"


def policy(**rules: Any) -> EgressPolicy:
    """Return a policy that lets requests reach the servers of the tests."""
    return EgressPolicy(private_networks=(checked_network(LOOPBACK),), **rules)


def pages_over(
    transport: httpx.AsyncBaseTransport,
    rules: EgressPolicy | None = None,
    limits: Limits | None = None,
) -> Pages:
    """Return what reads pages over a transport."""
    requester = Requester(transport, rules or policy(), limits or Limits())
    return Pages(requester, Robots(requester))


@asynccontextmanager
async def open_pages(
    rules: EgressPolicy | None = None,
    limits: Limits | None = None,
    resolver: Resolver | None = None,
    certificates: ssl.SSLContext | None = None,
) -> AsyncGenerator[Pages]:
    """Open what reads pages of the servers of a test."""
    rules = rules or policy()
    async with PageTransport(
        rules, certificates or httpx.create_ssl_context(), resolver
    ) as transport:
        yield pages_over(transport, rules, limits)
