"""Two spellings of one page are one address, two pages are two, and what names no page has no form."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodes.tools.addresses import NoAddress, canonical_address, canonical_query, distinct_queries


@pytest.mark.parametrize(
    ("address", "form"),
    [
        ("HTTP://Example.COM/", "http://example.com/"),
        ("http://example.com", "http://example.com/"),
        ("http://example.com:80/", "http://example.com/"),
        ("https://example.com:443/", "https://example.com/"),
        ("http://example.com:0080/", "http://example.com/"),
        ("https://example.com:80/", "https://example.com:80/"),
        ("http://example.com./", "http://example.com/"),
        ("http://bücher.example/ä", "http://xn--bcher-kva.example/%C3%A4"),
        ("http://BÜCHER.example/", "http://xn--bcher-kva.example/"),
        ("http://faß.example/", "http://xn--fa-hia.example/"),
        ("http://example.com/a/../b/./c", "http://example.com/b/c"),
        ("http://example.com/a/%2e%2e/b", "http://example.com/b"),
        ("http://example.com/../b", "http://example.com/b"),
        ("http://example.com/%7euser/%c3%a4", "http://example.com/~user/%C3%A4"),
        ("http://example.com/a#part", "http://example.com/a"),
        ("http://example.com/?", "http://example.com/"),
        ("http://example.com/?utm_source=x&UTM_Medium=y&a=1&fbclid=z", "http://example.com/?a=1"),
        ("http://example.com/?utm%5Fsource=x", "http://example.com/"),
        ("http://example.com/?gclid", "http://example.com/"),
        ("http://example.com/a b?x y", "http://example.com/a%20b?x%20y"),
        ("http://[2001:DB8::1]:8080/", "http://[2001:db8::1]:8080/"),
    ],
)
def test_an_address_has_one_form(address: str, form: str) -> None:
    assert canonical_address(address) == form
    assert canonical_address(form) == form


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://example.com/", "https://example.com/"),
        ("http://example.com/a", "http://example.com/A"),
        ("http://example.com/a", "http://example.com/a/"),
        ("http://example.com/?a=1&b=2", "http://example.com/?b=2&a=1"),
        ("http://example.com/?a=1", "http://example.com/?a=1&a=1"),
        ("http://example.com/?q=a+b", "http://example.com/?q=a%2Bb"),
        ("http://example.com/a/b", "http://example.com/a%2Fb"),
        ("http://example.com/web/http://x/", "http://example.com/web/http:/x/"),
        ("http://example.com/", "http://www.example.com/"),
        ("http://example.com/?id=1", "http://example.com/"),
    ],
)
def test_what_a_server_may_tell_apart_stays_apart(one: str, other: str) -> None:
    """Signed queries and archives of other sites are read by servers as they were written."""
    assert canonical_address(one) != canonical_address(other)


@pytest.mark.parametrize(
    "text",
    [
        *("", "example.com", "//example.com/", "http://", "http:///x", "http://./", "javascript:alert(1)"),
        *("file:///etc/passwd", "ftp://example.com/", "data:text/html,x", "http://a\x00b/", "http://\ud800/"),
        *("http://[::1", "http://example.com:99999/", "http://example.com:x/", "http://１２７.0.0.1/"),
    ],
)  # fmt: skip
def test_what_is_no_address_of_a_page_has_no_form(text: str) -> None:
    with pytest.raises(NoAddress):
        canonical_address(text)


@given(st.text() | st.text().map(lambda text: f"http://example.com/{text}"))
def test_any_text_has_a_form_that_is_its_own_form_or_none(text: str) -> None:
    """Results of a search are anybody's text."""
    try:
        form = canonical_address(text)
    except NoAddress:
        return
    assert canonical_address(form) == form


def test_a_query_is_asked_once_however_it_is_spelled() -> None:
    queries = ["Tide  gauge", "tide gauge", " TIDE\tGAUGE ", "gauge tide", "cafe\u0301", "café"]
    assert distinct_queries(queries) == ["Tide  gauge", "gauge tide", "cafe\u0301"]
    compatible = ["ﬁsh №\xa01", "FISH no 1", "Ｆｉｓｈ No １", "\u1e9e\u0345", "ssι"]
    assert distinct_queries(compatible) == ["ﬁsh №\xa01", "\u1e9e\u0345"]


@given(st.text())
def test_the_form_of_a_query_is_its_own_form(query: str) -> None:
    assert canonical_query(canonical_query(query)) == canonical_query(query)
