"""What is read of each format beside HTML, and what is refused."""

from contextlib import suppress
from pathlib import Path
from pydoc_data.topics import topics

import pytest

from nodes.tools.documents import (
    DOCUMENT_BYTES_MAX,
    HTML,
    MARKDOWN,
    PDF,
    PLAIN,
    RST,
    TEXT_CHARACTERS_MAX,
    Unreadable,
    artifact_of,
    extractor_of,
    media_type_of,
)
from nodes.tools.extract import extract
from tests.support.sample_documents import page, pdf, scanned_pdf


def text_of(content: bytes, media_type: str) -> str:
    return extract(content, media_type).text


def refusal(content: bytes, media_type: str) -> str:
    with pytest.raises(Unreadable) as refused:
        extract(content, media_type)
    return refused.value.reason


def test_the_pages_of_a_pdf_are_parted_by_an_empty_line() -> None:
    extracted = extract(pdf("First page.", "Second page.", title="A report"), PDF)
    assert (extracted.title, extracted.text) == ("A report", "First page.\n\nSecond page.")
    assert extracted.extractor.startswith("pypdf/")


@pytest.mark.parametrize("algorithm", ["RC4-128", "AES-128", "AES-256"])
def test_a_pdf_with_a_password_is_refused(algorithm: str) -> None:
    content = pdf("Secret.", password="x", algorithm=algorithm)
    assert refusal(content, PDF).startswith("the PDF is encrypted")


@pytest.mark.parametrize("algorithm", ["RC4-128", "AES-128", "AES-256"])
def test_a_pdf_that_only_forbids_printing_is_read(algorithm: str) -> None:
    assert text_of(pdf("Open.", password="", algorithm=algorithm), PDF) == "Open."


def test_a_scanned_pdf_is_refused() -> None:
    assert "only images" in refusal(scanned_pdf(), PDF)


def test_a_broken_pdf_is_refused_wherever_it_is_cut(caplog: pytest.LogCaptureFixture) -> None:
    """Nothing is logged either: the reason says it."""
    whole = pdf("A page.")
    for length in range(8, len(whole) - 1, 40):
        with suppress(Unreadable):
            assert text_of(whole[:length], PDF) == "A page."
    assert refusal(b"%PDF-1.7 nonsense", PDF).startswith("the PDF is broken")
    assert caplog.text == ""


def test_markdown_is_kept_but_for_headings_and_fences() -> None:
    source = "Title\n=====\n\nSome *words*.\n\n```sh\n# not a heading\n\nls\n```\n\nPart\n---\n- [a](b)\n\n### Sub ###\n"
    extracted = extract(source.encode(), MARKDOWN)
    assert extracted.title == "Title"
    assert extracted.text == (
        "# Title\n\nSome *words*.\n\n    # not a heading\n\n    ls\n\n## Part\n- [a](b)\n\n### Sub"
    )


def test_restructured_text_with_unknown_directives_and_roles_is_kept_but_for_titles() -> None:
    source = """\
=====
Title
=====

Part one
--------

.. sphinx-thing:: x
   :option: y

See :pep:`8` and :nosuch:`role`.

Deeper
~~~~~~

----

+----+
| ab |
+----+

Part two
--------
"""
    extracted = extract(source.encode(), RST)
    assert extracted.title == "Title"
    headings = [line for line in extracted.text.split("\n") if line.startswith("#")]
    assert headings == ["# Title", "## Part one", "### Deeper", "## Part two"]
    assert "See :pep:`8` and :nosuch:`role`." in extracted.text
    assert "\n----\n\n+----+\n| ab |\n+----+\n" in extracted.text


def test_every_topic_of_the_language_reference_begins_with_its_title() -> None:
    for topic in topics.values():
        extracted = extract(topic.encode(), RST)
        assert extracted.text.startswith(f"# {extracted.title}\n")


WORDS = "Die Größe der Übung ist schön, und später wäre für alle noch Zeit geblieben. " * 3


@pytest.mark.parametrize(
    ("content", "media_type"),
    [
        (WORDS.encode(), PLAIN),
        (WORDS.encode("utf-8-sig"), PLAIN),
        (WORDS.encode("utf-16"), PLAIN),
        (WORDS.encode("utf-32"), PLAIN),
        (WORDS.encode("latin-1"), PLAIN),
        (WORDS.encode("cp1252"), "text/plain; charset=ISO-8859-1"),
        (WORDS.encode(), "text/plain; charset=iso-8859-1"),
        (WORDS.encode(), "text/plain; charset=us-ascii"),
        (WORDS.encode("cp850"), "text/plain; charset=cp850"),
        (WORDS.encode(), "text/plain; charset=no-such-charset"),
        (WORDS.encode(), "text/plain; charset=hex"),
    ],
)
def test_the_character_encoding_is_found(content: bytes, media_type: str) -> None:
    assert text_of(content, media_type) == WORDS


def test_the_encoding_that_a_page_declares_is_used() -> None:
    body = '<html><head><meta charset="shift_jis"></head><body><p>日本語のテキストです。</p></body></html>'
    assert text_of(body.encode("shift_jis"), HTML) == "日本語のテキストです。"


def test_what_the_server_declares_goes_before_what_the_page_declares() -> None:
    body = '<html><head><meta charset="utf-16"></head><body><p>Слова на странице.</p></body></html>'
    assert text_of(body.encode("koi8-r"), "text/html; charset=koi8-r") == "Слова на странице."


def test_nul_and_lone_surrogates_become_the_replacement_character() -> None:
    text = text_of(b"a NUL \0 and a lone surrogate \xed\xa0\x80 in a text", PLAIN)
    assert text == "a NUL � and a lone surrogate � in a text"
    in_page = text_of(page("<p>a NUL \0 and &#xD800; and a bell \a in it</p>"), HTML)
    assert in_page == "a NUL � and � and a bell � in it"


def test_line_ends_are_one_and_unicode_is_not_normalised() -> None:
    text = text_of("one\r\ntwo\rthree e\u0301 \u202eright to left".encode(), PLAIN)
    assert text == "one\ntwo\nthree e\u0301 \u202eright to left"


@pytest.mark.parametrize(
    "content",
    [b"\x89PNG\r\n\x1a\n" + bytes(5000), bytes(range(256)) * 20, Path("/bin/sh").read_bytes()],
)
def test_binary_data_is_refused(content: bytes) -> None:
    assert refusal(content, PLAIN) in {
        "it is binary data, not text",
        "its character encoding could not be recognised",
    }


@pytest.mark.parametrize("media_type", [HTML, PDF, MARKDOWN, RST, PLAIN])
def test_an_empty_document_is_refused(media_type: str) -> None:
    assert refusal(b" \n", media_type) == "it is empty"


def test_a_document_over_a_limit_is_refused() -> None:
    assert refusal(b"x" * (DOCUMENT_BYTES_MAX + 1), PLAIN) == "it is larger than 64 MB"
    assert "longer than" in refusal(b"x" * (TEXT_CHARACTERS_MAX + 1), PLAIN)


def test_a_type_that_is_not_read_is_refused() -> None:
    assert refusal(b"GIF89a", "image/gif") == "documents of type image/gif are not read"


@pytest.mark.parametrize(
    ("name", "head", "content_type", "expected"),
    [
        ("a.html", b"", None, HTML),
        ("A.HTM", b"", None, HTML),
        ("a.md", b"", "", MARKDOWN),
        ("a.md", b"", "application/octet-stream", MARKDOWN),
        ("a.md", b"", "Text/HTML; Charset=UTF-8", "text/html; charset=utf-8"),
        ("a.pdf", b"", 'text/html; charset="koi8-r"', "text/html; charset=koi8-r"),
        ("a", b"\n%PDF-1.7", None, PDF),
        ("a", b"\xef\xbb\xbf <!DOCTYPE HTML>", None, HTML),
        ("a", b"words", None, PLAIN),
        ("a.html", b"", "image/png", "image/png"),
        ("a.html", b"", "text/html; charset", "text/html"),
        ("a.html", b"", "text/html;\r\n charset=x", "text/html; charset=x"),
    ],
)
def test_the_media_type_is_declared_or_told_by_name_or_first_bytes(
    name: str, head: bytes, content_type: str | None, expected: str
) -> None:
    assert media_type_of(name, head, content_type) == expected


def test_the_extractor_names_library_version_and_options() -> None:
    assert extractor_of("text/html; charset=utf-8") == extractor_of(HTML)
    assert extractor_of(HTML).startswith("trafilatura/2.")
    assert artifact_of(b"").startswith("sha256:e3b0c442")
