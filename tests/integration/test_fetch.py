"""What becomes of a page that is asked for: the states, the limits, robots.txt, and a later look at it."""

import gzip
import zlib
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.responses import HTMLResponse, PlainTextResponse, Response, StreamingResponse

from ledger.canonical import digest
from ledger.journal import Received
from ledger.sources import NewSource
from nodes.tools.fetch.outcomes import FetchFailed
from nodes.tools.fetch.pages import Changed, Gone, Pages, Unchanged
from nodes.tools.fetch.requests import Limits
from tests.support.inline import Inline
from tests.support.open_web import open_pages
from tests.support.site import Site, site

TEXT = "The tide gauge of Ostby stands in a stilling well, where the waves do not reach its float."


@pytest.fixture(name="web")
def _web() -> Iterator[Site]:
    with site() as served:
        yield served


async def fetched(address: str, **limits: Any) -> Received:
    """Fetch a page as a process does that has asked for none before."""
    async with open_pages(limits=Limits(**limits)) as pages:
        return await pages.fetch(address)


async def failure(address: str, **limits: Any) -> FetchFailed:
    """Return why a page is not to be had."""
    with pytest.raises(FetchFailed) as failed:
        await fetched(address, **limits)
    return failed.value


@pytest.mark.parametrize(
    ("status", "state", "transient"),
    [
        (401, "forbidden", False), (402, "paywalled", False), (403, "forbidden", False),
        (404, "unavailable", False), (410, "unavailable", False), (429, "unavailable", True),
        (451, "forbidden", False), (500, "unavailable", True), (503, "unavailable", True),
        (202, "unavailable", False), (206, "unavailable", False), (300, "unavailable", False),
        (304, "unavailable", False),
    ],
)  # fmt: skip
async def test_a_full_page_with_another_status_than_200_is_no_content(
    web: Site, status: int, state: str, transient: bool
) -> None:
    failed = await failure(web.text("/page", status))
    assert (failed.state, failed.transient) == (state, transient)
    assert failed.reason == f"{web.url}/page: HTTP {status} ({state})"


async def test_redirects_are_followed_and_kept(web: Site) -> None:
    web.page("/end", TEXT)
    web.redirect("/second", "end?id=1#part", 308)
    received = await fetched(web.redirect("/first", "/second"))
    assert received.detail["url"] == f"{web.url}/end?id=1"
    assert received.detail["redirects"] == [f"{web.url}/first", f"{web.url}/second"]


async def test_a_page_that_redirects_to_itself_is_not_asked_twice(web: Site) -> None:
    web.redirect("/b", "/a")
    failed = await failure(web.redirect("/a", "/b"))
    assert "in a circle" in failed.reason
    assert web.asked == ["/robots.txt", "/a", "/b"]


async def test_redirects_without_end_end(web: Site) -> None:
    for number in range(20):
        web.redirect(f"/{number}", f"/{number + 1}")
    failed = await failure(f"{web.url}/0")
    assert "more than 5 redirects" in failed.reason
    assert web.asked == ["/robots.txt", *(f"/{number}" for number in range(6))]


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
async def test_a_bomb_is_unpacked_no_further_than_a_document_may_be_long(
    web: Site, encoding: str
) -> None:
    """10 kB that unpack to 10 MB, where a document may have 100 kB."""
    content = bytes(10_000_000)
    packed = gzip.compress(content) if encoding == "gzip" else zlib.compress(content)
    response = Response(packed, media_type="text/html", headers={"content-encoding": encoding})
    failed = await failure(web.answer("/bomb", response), body_bytes=100_000)
    assert failed.state == "unsupported"
    assert "larger than a document may be" in failed.reason


async def test_a_body_that_does_not_say_how_long_it_is_is_read_no_further_than_it_may_be(
    web: Site,
) -> None:
    pieces = (b"x" * 10_000 for _ in range(100))
    address = web.answer("/long", StreamingResponse(pieces, media_type="text/plain"))
    assert "larger than a document may be" in (await failure(address, body_bytes=100_000)).reason


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "raw deflate", "two members"])
async def test_what_servers_compress_is_unpacked(web: Site, encoding: str) -> None:
    content = TEXT.encode() * 100
    raw = zlib.compressobj(wbits=-15)
    packed = {
        "gzip": gzip.compress(content),
        "deflate": zlib.compress(content),
        "raw deflate": raw.compress(content) + raw.flush(),
        "two members": gzip.compress(content[:500]) + gzip.compress(content[500:]),
    }[encoding]
    header = "deflate" if "deflate" in encoding else "gzip"
    response = Response(packed, media_type="text/plain", headers={"content-encoding": header})
    assert (await fetched(web.answer("/page", response))).content == content


@pytest.mark.parametrize(
    ("packed", "encoding", "why"),
    [
        (gzip.compress(TEXT.encode())[:-20], "gzip", "ends too early"),
        (b"this is not compressed at all", "gzip", "damaged"),
        (b"anything", "br", "not asked for"),
        (gzip.compress(gzip.compress(b"x")), "gzip, gzip", "more than once"),
    ],
)
async def test_what_cannot_be_unpacked_is_no_content(
    web: Site, packed: bytes, encoding: str, why: str
) -> None:
    response = Response(packed, media_type="text/html", headers={"content-encoding": encoding})
    assert why in (await failure(web.answer("/page", response))).reason


async def test_a_page_that_comes_too_slowly_is_left(web: Site) -> None:
    """The server holds the rest back until the test is over."""
    failed = await failure(web.answer("/slow", web.stalling), seconds=0.5)
    assert (failed.state, failed.transient) == ("unavailable", True)
    assert "not read within 0.5 s" in failed.reason


async def test_headers_without_end_are_not_collected(web: Site) -> None:
    headers = {f"x-{number}": "x" * 1_000 for number in range(300)}
    failed = await failure(web.page("/page", TEXT, **headers))
    assert failed.state == "unavailable"


@pytest.mark.parametrize("kind", ["image/png", "application/zip", "video/mp4", "application/json"])
async def test_what_is_no_document_is_said_before_it_is_read(web: Site, kind: str) -> None:
    failed = await failure(web.answer("/file", Response(b"\x89PNG", media_type=kind)))
    assert failed.state == "unsupported"
    assert f"documents of type {kind} are not read" in failed.reason


async def test_a_page_in_another_charset_than_it_says_is_read_as_it_is(web: Site) -> None:
    """The bytes are kept as they came, and the text is the page's."""
    content = f"<html><body><main><p>{TEXT} Übergröße naïve.</p></main></body></html>".encode()
    address = web.answer(
        "/page", Response(content, headers={"content-type": "text/html; charset=us-ascii"})
    )
    received = await fetched(address)
    assert received.content == content
    extracted = await Inline(1).extract(received.content, received.media_type)
    assert "Übergröße naïve." in extracted.text


@pytest.mark.parametrize(
    ("rules", "path", "allowed"),
    [
        ("User-agent: *\nDisallow: /", "/page", False),
        ("User-agent: perdure\nDisallow: /page\n\nUser-agent: *\nAllow: /", "/page", False),
        ("User-agent: perdure\nAllow: /\n\nUser-agent: *\nDisallow: /", "/page", True),
        ("User-agent: *\nDisallow: /p\nAllow: /page", "/page", True),
        ("User-agent: *\nDisallow: /*.html$", "/page", True),
        ("<html>no rules at all</html>", "/page", True),
        ("User-agent: *\nDisallow:", "/page", True),
    ],
)
async def test_robots_txt_is_heeded(web: Site, rules: str, path: str, allowed: bool) -> None:
    web.answer("/robots.txt", PlainTextResponse(rules))
    address = web.page(path, TEXT)
    if allowed:
        assert TEXT in (await fetched(address)).content.decode()
        return
    failed = await failure(address)
    assert (failed.state, failed.transient) == ("forbidden", False)
    assert "robots.txt" in failed.reason
    assert web.asked == ["/robots.txt"]


async def test_robots_txt_is_asked_for_once(web: Site) -> None:
    first, second = web.page("/first", TEXT), web.page("/second", TEXT)
    async with open_pages() as pages:
        await pages.fetch(first)
        await pages.fetch(second)
    assert web.asked == ["/robots.txt", "/first", "/second"]


async def test_the_host_that_a_page_moved_to_is_asked_for_leave_too(web: Site) -> None:
    with site() as other:
        other.answer("/robots.txt", PlainTextResponse("User-agent: *\nDisallow: /"))
        failed = await failure(web.redirect("/page", other.page("/page", TEXT)))
        assert failed.state == "forbidden"
        assert other.asked == ["/robots.txt"]


@pytest.mark.parametrize(("status", "read"), [(404, True), (403, True), (503, False), (429, False)])
async def test_no_robots_txt_allows_all_and_one_that_is_out_of_order_nothing(
    web: Site, status: int, read: bool
) -> None:
    web.answer("/robots.txt", PlainTextResponse("out of order", status_code=status))
    address = web.page("/page", TEXT)
    if read:
        assert (await fetched(address)).content
        return
    failed = await failure(address)
    assert (failed.state, failed.transient) == ("unavailable", True)
    assert web.asked == ["/robots.txt"]


def source(received: Received, uri: str) -> NewSource:
    """Return the source that a page was recorded as."""
    return NewSource(
        uri=uri,
        canonical_uri=received.detail["url"],
        title="",
        content_artifact=digest(received.content),
        text_artifact=digest(b""),
        extractor="",
        metadata={"status": 200, **received.detail["headers"]},
    )


async def rechecked(pages: Pages, uri: str, change: Any) -> Any:
    """Return what is said of a page that was read before a change."""
    read = source(await pages.fetch(uri), uri)
    change()
    return await pages.recheck(read)


async def test_a_page_that_changed_is_told_from_one_that_did_not(web: Site) -> None:
    address = web.page("/page", TEXT)
    async with open_pages() as pages:
        assert await rechecked(pages, address, lambda: None) == Unchanged()
        found = await rechecked(
            pages, address, lambda: web.page("/page", TEXT, "And another line.")
        )
    assert isinstance(found, Changed)
    assert "And another line." in found.received.content.decode()


async def test_a_server_that_knows_our_edition_sends_no_page(web: Site) -> None:
    """The conditions go to the address that the page was found at, and to no other."""
    web.page("/page", TEXT, etag='"one"', **{"last-modified": "Mon, 02 Nov 2026 10:00:00 GMT"})
    address = web.redirect("/moved", "/page")

    def same() -> None:
        web.answer("/page", Response(status_code=304))

    async with open_pages() as pages:
        assert await rechecked(pages, address, same) == Unchanged()
    (moved, page) = web.headers[-2:]
    assert "if-none-match" not in moved
    assert page["if-none-match"] == '"one"'
    assert page["if-modified-since"] == "Mon, 02 Nov 2026 10:00:00 GMT"


async def test_a_page_that_is_gone_now_is_said_to_be(web: Site) -> None:
    address = web.page("/page", TEXT)
    async with open_pages() as pages:
        found = await rechecked(pages, address, lambda: web.text("/page", 410))
    assert found == Gone("unavailable", f"{address}: HTTP 410 (unavailable)", transient=False)


async def test_a_later_look_keeps_no_cookies_and_sends_none(web: Site) -> None:
    """Pages would know that the same reader came again."""
    response = HTMLResponse(f"<p>{TEXT}</p>", headers={"set-cookie": "reader=17; path=/"})
    address = web.answer("/page", response)
    async with open_pages() as pages:
        await rechecked(pages, address, lambda: None)
    assert not any("cookie" in headers for headers in web.headers)
