"""What is read of a page, whatever its markup, and what is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodes.tools.documents import (
    HTML,
    Unreadable,
)
from nodes.tools.extract import extract
from tests.support.sample_documents import page


def text_of(content: bytes, media_type: str) -> str:
    return extract(content, media_type).text


def refusal(content: bytes, media_type: str) -> str:
    with pytest.raises(Unreadable) as refused:
        extract(content, media_type)
    return refused.value.reason


def test_headings_paragraphs_lists_tables_and_code_of_a_page_become_blocks() -> None:
    body = """
      <h1>Vacuum</h1> <p>It <em>reclaims</em>
         storage, <code>[ FULL ]</code> too.<br>A new line.</p>
      <h2>Limits</h2>
      <ul><li>first<ul><li>inner</li></ul></li><li>second</li></ul>
      <dl><dt>term</dt><dd>meaning</dd></dl>
      <table><tr><th>Name</th><th>Size</th></tr><tr><td>int</td><td>4 bytes</td></tr></table>
      <pre># a comment, not a heading
if x:
    return</pre>
      <p>At most 2<sup>32</sup> rows are possible here.</p>"""

    extracted = extract(page(body, title="The  VACUUM\n command"), HTML)

    assert extracted.title == "The VACUUM command"
    assert extracted.text == (
        "# Vacuum\n\n"
        "It reclaims storage, [ FULL ] too.\nA new line.\n\n"
        "## Limits\n\n"
        "- first\n\n  - inner\n- second\n\n"
        "term\n\nmeaning\n\n"
        "| Name | Size |\n| int | 4 bytes |\n\n"
        "    # a comment, not a heading\n    if x:\n        return\n\n"
        "At most 2^32 rows are possible here."
    )


def test_no_word_is_lost_or_moved_where_marks_are_nested() -> None:
    body = """<p>The clause <code>AS <em><code>data_type</code></em></code> is optional, as is
      <code>CYCLE <b>or</b> <i>not</i></code>, and that is all that there is to say.</p>"""
    assert text_of(page(body), HTML) == (
        "The clause AS data_type is optional, as is CYCLE or not, and that is all that there is to say."
    )


def test_a_section_of_a_manual_is_read_whatever_its_name_says() -> None:
    body = """<main><h1>FAQ</h1><p>Questions that are asked often, and answers.</p><section id="share-global-variables">
      <h2>Share global variables<a class="headerlink" href="#x">¶</a></h2>
      <p>The canonical way is a module that all import.</p></section></main>"""
    assert "## Share global variables\n\nThe canonical way" in text_of(page(body), HTML)


def test_navigation_and_heading_anchors_of_a_page_are_left_out() -> None:
    body = """<nav><a href="/">Home</a></nav><main><h1>Scope<a class="headerlink" href="#s">¶</a></h1>
      <p>What the manual is about, in a sentence that is long enough.</p></main>"""
    text = text_of(page(body), HTML)
    assert text == "# Scope\n\nWhat the manual is about, in a sentence that is long enough."


def test_links_of_a_page_keep_their_words_only() -> None:
    body = '<p>See <a href="https://example.org/x">the other page</a> for more about all of it.</p>'
    assert text_of(page(body), HTML) == "See the other page for more about all of it."


@pytest.mark.parametrize("content", [b"just words", b"<p>just words</p>"])
def test_a_fragment_is_a_page(content: bytes) -> None:
    assert text_of(content, HTML) == "just words"


@pytest.mark.parametrize("body", ["", "<div></div>", "<script>let x = 1;</script>", "<!-- x -->"])
def test_a_page_without_text_is_refused(body: str) -> None:
    assert refusal(page(body), HTML) == "it has no text"


def test_text_outside_of_paragraphs_is_read() -> None:
    body = """<h1>Rules</h1><div>The <b>first</b> rule.</div>
      <p>A paragraph that is quite long, so that it looks like all that there is.</p><div>The last.</div>"""
    assert "# Rules\n\nThe first rule.\n\nA paragraph" in text_of(page(body), HTML)
    assert text_of(page(body), HTML).endswith("\n\nThe last.")


def test_a_page_that_is_nested_too_deeply_is_refused_or_read() -> None:
    start = "<p>Words at the start of the page.</p>"
    assert "nested too deeply" in refusal(page(start + "<ul><li>x" * 1000), HTML)
    assert "Words at the start" in text_of(page(start + "<div>" * 1000), HTML)


@given(st.binary(max_size=300))
def test_no_bytes_crash_a_page(noise: bytes) -> None:
    """Whatever stands in a page, it is text or `Unreadable`."""
    try:
        text = text_of(b"<html><body><p>Some words before " + noise + b" and after.</p>", HTML)
    except Unreadable:
        return
    assert text.encode()
    assert "\0" not in text
