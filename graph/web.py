"""Opens the web search that is set up, with what reads its pages."""

import ssl
from contextlib import AsyncExitStack
from functools import partial

import httpx

from graph.secrets import resolved
from graph.settings import Settings
from nodes.options import BadInput
from nodes.tools.extractors import Extractors
from nodes.tools.fetch.pages import Pages
from nodes.tools.fetch.pinned import PageTransport
from nodes.tools.fetch.requests import Requester
from nodes.tools.fetch.robots import Robots
from nodes.tools.search import brave, exa, tavily
from nodes.tools.search.base import KEY_SETTING, Provider
from nodes.tools.search.searxng import SearXNG
from nodes.tools.web import REDIRECTS_MAX, SEARCH_SECONDS_MAX, WebSearch

# A page is parsed in one of these; each is a process, started when the first page comes.
PAGE_READERS = 2

_KEYED: dict[str, tuple[type[tavily.Tavily | brave.Brave | exa.Exa], str]] = {
    "tavily": (tavily.Tavily, tavily.ADDRESS),
    "brave": (brave.Brave, brave.ADDRESS),
    "exa": (exa.Exa, exa.ADDRESS),
}


def provider_of(settings: Settings) -> Provider | None:
    """Return the search service that is set up, or None; raises BadInput where a setting that it needs is missing."""
    name = settings.search or ("searxng" if settings.search_url else None)
    if name is None:
        return None
    if name == "searxng":
        if settings.search_url is None:
            raise BadInput(
                "PERDURE_SEARCH=searxng needs PERDURE_SEARCH_URL, which says where it is"
            )
        return SearXNG(settings.search_url)
    if settings.search_key is None:
        raise BadInput(
            f"PERDURE_SEARCH={name} needs {KEY_SETTING}: env:NAME or file:PATH of its key"
        )
    provider, address = _KEYED[name]
    key = partial(resolved, settings.search_key, KEY_SETTING)
    return provider(key, settings.search_url or address)


async def open_web(settings: Settings, stack: AsyncExitStack) -> WebSearch | None:
    """Open the web search, closed with the stack; None where none is set up. Raises BadInput."""
    provider = provider_of(settings)
    if provider is None:
        return None
    certificates = httpx.create_ssl_context()
    client = httpx.AsyncClient(
        verify=certificates, timeout=SEARCH_SECONDS_MAX, max_redirects=REDIRECTS_MAX
    )
    await stack.enter_async_context(client)
    pages = await open_pages(settings, stack, certificates)
    extractors = await stack.enter_async_context(Extractors(PAGE_READERS))
    return WebSearch(provider, client, pages, extractors)


async def open_pages(
    settings: Settings, stack: AsyncExitStack, certificates: ssl.SSLContext
) -> Pages:
    """Open what fetches pages under the rules that are set, closed with the stack; it needs no search."""
    transport = PageTransport(settings.egress, certificates)
    requester = Requester(await stack.enter_async_context(transport), settings.egress)
    return Pages(requester, Robots(requester))
