"""Whatever a search service or a page answers is a result or an OperationFailed, and no message holds a secret."""

import gzip
from collections.abc import Callable
from typing import TypeAlias

import httpx
import pytest

from ledger.errors import OperationFailed
from nodes.tools.search.searxng import SearXNG
from nodes.tools.web import WebSearch
from tests.support.inline import Inline, made
from tests.support.open_web import pages_over

Handler: TypeAlias = Callable[[httpx.Request], httpx.Response]


def _tool(handler: Handler, address: str = "http://search.test/search") -> WebSearch:
    transport = httpx.MockTransport(handler)
    client = httpx.AsyncClient(transport=transport, follow_redirects=True)
    return WebSearch(SearXNG(address), client, pages_over(transport), Inline(1))


def _response(content: bytes, **headers: str) -> httpx.Response:
    """Return an answer that is still to be read, as one from a server is."""
    return httpx.Response(200, stream=httpx.ByteStream(content), headers=headers)


def _answering(content: bytes, **headers: str) -> WebSearch:
    return _tool(lambda _: _response(content, **headers))


async def test_an_address_that_is_no_url_is_no_hit() -> None:
    """One such result would otherwise stop its run, and every resume of it."""
    tool = _answering(
        rb"""{"results": [{"url": "http://a\u0000b/"}, {"url": "http://\ud800/"}, {"url": "http:///x"},
        {"url": "javascript:alert(1)"}, {"url": "file:///etc/passwd"}, {"url": "ftp://a/"}, {"url": 7},
        {"url": "HTTPS://page.test/"}]}"""
    )
    found = await made(tool.search("q", 12))
    assert [hit.uri for hit in found.hits] == ["https://page.test/"]


async def test_one_page_under_two_addresses_is_one_hit() -> None:
    """Its first rank counts, and nothing of how a reader came to it is kept."""
    tool = _answering(
        b"""{"results": [{"url": "http://A.test/x?utm_source=y", "title": "first"}, {"url": "http://b.test/"},
        {"url": "http://a.test:80/./x#part", "title": "second"}]}"""
    )
    found = await made(tool.search("q", 12))
    assert [(hit.uri, hit.title) for hit in found.hits] == [
        ("http://a.test/x", "first"),
        ("http://b.test/", ""),
    ]


async def test_half_a_character_in_a_title_is_replaced() -> None:
    """JSON may name halves of surrogate pairs, which nothing can store."""
    tool = _answering(rb'{"results": [{"url": "http://a/", "title": "x\ud800"}]}')
    found = await made(tool.search("q", 1))
    assert found.hits[0].title == "x?"


async def test_an_answer_nested_beyond_the_parser_is_no_list_of_results() -> None:
    """The parser's RecursionError is an outcome like any other broken answer."""
    with pytest.raises(OperationFailed, match="no list of results"):
        await made(_answering(b"[" * 200_000).search("q", 1))


async def test_a_page_at_an_address_that_is_no_url_cannot_be_read() -> None:
    """An address that an earlier version has recorded fails as a page does that is gone."""
    with pytest.raises(OperationFailed, match="no URL") as failed:
        await made(_answering(b"text").read("http://a\x00b/"))
    assert not failed.value.transient


async def test_a_failure_tells_no_password_and_no_key() -> None:
    """Reasons of failures are stored, logged and printed in reports."""
    tool = _tool(
        lambda _: httpx.Response(401, stream=httpx.ByteStream(b"")),
        "http://me:canary@search.test/s?key=canary",
    )
    with pytest.raises(OperationFailed) as failed:
        await made(tool.search("q", 1))
    assert str(failed.value).startswith("http://search.test/s refuses our credentials (HTTP 401)")


async def test_a_page_that_is_compressed_twice_is_not_unpacked() -> None:
    """10 kB of it can hold 10 GB; no browser's server does that."""
    content = gzip.compress(gzip.compress(b"text"))

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/robots.txt":
            return httpx.Response(404, stream=httpx.ByteStream(b""))
        return _response(content, **{"content-encoding": "gzip, gzip"})

    with pytest.raises(OperationFailed, match="compressed more than once"):
        await made(_tool(answer).read("http://a/"))


async def test_what_is_kept_of_a_search_tells_no_key() -> None:
    """What came back is stored before anything is made of it, with where it came from."""
    tool = _tool(lambda _: _response(b'{"results": []}'), "http://search.test/s?key=canary")
    received = await tool.search("q", 1).receive()
    assert "canary" not in repr(received)
