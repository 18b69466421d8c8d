"""HTML: trafilatura finds the main content, we write its blocks as text.

trafilatura's own Markdown escapes punctuation and marks emphasis inside sentences, so that a quote from it is not what
the page says. Its tree is written here instead: headings as `#` lines, each paragraph on one line, lists, tables, and
code indented as it stood.
"""

import logging
import re
from collections.abc import Iterator
from textwrap import indent
from typing import cast

# lxml has no public name for the type of its elements.
from lxml.etree import ParserError, XPath, _Element, strip_tags  # pyright: ignore[reportPrivateUsage]
from lxml.html import HtmlElement, HTMLParser, document_fromstring
from trafilatura import bare_extraction, html2txt
from trafilatura.settings import Document, use_config

from nodes.tools.documents import Unreadable
from nodes.tools.formats.decode import decoded

# What trafilatura thinks about a page is told by the result.
logging.getLogger("trafilatura").setLevel(logging.CRITICAL + 1)

# WHATWG HTML 13.2.3.2: a declaration counts within the first 1024 bytes.
PRESCAN_BYTES = 1024
_DECLARED = re.compile(rb"""(?:charset|encoding)\s*=\s*["']?\s*([\w.:-]+)""", re.IGNORECASE)

# Characters that may not occur in XML 1.0 (section 2.2): lxml refuses to write what it has read of them.
_NOT_XML = re.compile("[\x00-\x08\x0b\x0e-\x1f\ufffe\uffff]")

# Below this many characters trafilatura gives up its structured result for a heap of words, by default 250: every short
# page would lose its headings.
CONFIG = use_config()
CONFIG["DEFAULT"]["MIN_EXTRACTED_SIZE"] = "25"

# A <div> that holds text and no block is a paragraph; trafilatura drops it where there are real paragraphs.
_LOOSE_TEXT = XPath(
    """.//div[text()[normalize-space()]][not(*[self::p or self::div or self::ul or self::ol or self::dl or self::table
    or self::pre or self::blockquote or self::section or self::article or self::main
    or self::h1 or self::h2 or self::h3 or self::h4 or self::h5 or self::h6])]"""
)
# Marks within a sentence. trafilatura loses or moves words where they are nested, and we write none of them.
INLINE = (
    *(
        "abbr",
        "b",
        "bdi",
        "big",
        "cite",
        "code",
        "data",
        "del",
        "dfn",
        "em",
        "font",
        "i",
        "ins",
        "kbd",
        "mark",
        "q",
        "s",
    ),
    *("samp", "small", "span", "strike", "strong", "sub", "sup", "time", "tt", "u", "var"),
)
_MAIN = XPath('.//main | .//article | .//*[@role="main"]')
_HEADING_ANCHORS = XPath('.//a[@class="headerlink"]')
# The parts of a manual as Sphinx, MkDocs and DocBook write them.
_NAMED_PARTS = XPath(
    './/*[@id][*[self::h1 or self::h2 or self::h3 or self::h4 or self::h5 or self::h6]/a[@class="headerlink"]'
    ' or div[@class="titlepage"]]'
)

BLOCKS = frozenset({"p", "head", "list", "item", "quote", "table", "row", "div"})
# LINE SEPARATOR: what stands for <br> while other white space is collapsed.
BREAK = "\u2028"


def html_text(content: bytes, charset: str | None) -> tuple[str, str]:
    """Return (text, title) of a page; raises `Unreadable` where it has no text."""
    tree = _parsed(content, charset)
    title = " ".join((tree.findtext(".//title") or "").split())
    _prepare(tree)
    document = bare_extraction(
        tree,
        fast=True,
        include_comments=False,
        include_tables=True,
        include_formatting=True,
        config=CONFIG,
    )
    if not isinstance(document, Document):
        return html2txt(tree), title
    try:
        return _written(document.body), title
    except RecursionError as error:
        raise Unreadable("its elements are nested too deeply") from error


def _parsed(content: bytes, charset: str | None) -> HtmlElement:
    if charset is None and (declared := _DECLARED.search(content[:PRESCAN_BYTES])):
        charset = declared[1].decode("ascii", "replace")
    # Form feed is white space in HTML.
    text = _NOT_XML.sub("�", decoded(content, charset).replace("\f", " "))
    parser = HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, collect_ids=False)
    try:
        return document_fromstring(text.encode(), parser=parser)
    except ParserError as error:
        raise Unreadable("the page is empty") from error


def _prepare(tree: HtmlElement) -> None:
    """Say in HTML what trafilatura would guess otherwise: the paragraphs, and the main part of a page that names none.

    Without a main part trafilatura collects loose paragraphs and drops most headings: of 1,038 headings in a sample of
    the PostgreSQL, Python and Debian manuals 846 are found with it and 671 without, in four fifths of the time.
    """
    for superscript in tree.iter("sup"):
        # 2 to the power of 32 must not become 232.
        superscript.text = "^" + (superscript.text or "")
    strip_tags(tree, *INLINE)
    for part in _elements(_NAMED_PARTS, tree):
        # "how-do-i-share-variables" is no button for sharing, but trafilatura goes by such words in names.
        del part.attrib["id"]
    for anchor in _elements(_HEADING_ANCHORS, tree):
        anchor.drop_tree()
    for loose in _elements(_LOOSE_TEXT, tree):
        loose.tag = "p"
    body = tree.find("body")
    if body is None or _elements(_MAIN, tree):
        return
    body.tag = "main"
    outer = tree.makeelement("body")
    body.addprevious(outer)
    outer.append(body)


def _elements(path: XPath, tree: HtmlElement) -> list[HtmlElement]:
    return cast("list[HtmlElement]", path(tree))


def _written(body: _Element) -> str:
    for line_break in body.iter("lb"):
        line_break.text = BREAK
    return _joined(_blocks(body))


def _joined(blocks: Iterator[str]) -> str:
    return "\n\n".join(block for block in blocks if block)


def _blocks(container: _Element) -> Iterator[str]:
    """Yield the blocks of mixed content; inline content between two blocks is a paragraph of its own."""
    inline = [container.text or ""]
    for child in container:
        if _is_block(child):
            yield _paragraph("".join(inline))
            inline.clear()
            yield _block(child)
        else:
            inline.append("".join(child.itertext()))
        inline.append(child.tail or "")
    yield _paragraph("".join(inline))


def _is_block(element: _Element) -> bool:
    if element.tag != "code":
        return element.tag in BLOCKS
    return "\n" in "".join(element.itertext()).strip() and not (element.tail or "").strip()


def _block(element: _Element) -> str:
    match element.tag:
        case "head":
            level = int((element.get("rend") or "h3")[1:])
            title = _one_line(element)
            return f"{'#' * level} {title}" if title else ""
        case "list":
            return _list(element)
        case "table":
            return "\n".join(_row(row) for row in element.iter("row"))
        case "quote" | "code" if not any(child.tag in BLOCKS for child in element):
            return indent("".join(element.itertext()).replace(BREAK, "\n").strip("\n"), "    ")
        case _:
            return _joined(_blocks(element))


def _list(element: _Element) -> str:
    if element.get("rend") == "dl":
        return _joined(_joined(_blocks(item)) for item in element)
    items = (_joined(_blocks(item)) for item in element)
    return "\n".join(f"- {indent(item, '  ')[2:]}" for item in items if item)


def _row(row: _Element) -> str:
    return f"| {' | '.join(_one_line(cell) for cell in row)} |"


def _one_line(element: _Element) -> str:
    return " ".join(_joined(_blocks(element)).split())


def _paragraph(text: str) -> str:
    return "\n".join(" ".join(line.split()) for line in text.split(BREAK)).strip()
