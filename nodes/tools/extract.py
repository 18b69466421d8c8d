"""Reads a document: bytes and their media type in, text out, or `Unreadable` with its reason.

Importing this loads every format's library, which takes a quarter of a second; `nodes.tools.extractors` keeps worker
processes that have done so, and protects the caller from what hostile documents do to a parser.
"""

import re

from nodes.tools.documents import (
    DOCUMENT_BYTES_MAX,
    TEXT_CHARACTERS_MAX,
    Extracted,
    Unreadable,
    charset_of,
    essence_of,
    extractor_of,
)
from nodes.tools.formats.decode import cleaned, decoded
from nodes.tools.formats.html import html_text
from nodes.tools.formats.markdown import markdown_text
from nodes.tools.formats.outline import outlined
from nodes.tools.formats.pdf import pdf_text

TITLE_CHARACTERS_MAX = 300

_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)


def extract(content: bytes, media_type: str) -> Extracted:
    """Return the text of a document that is read as `media_type` (see `media_type_of`).

    The same bytes and media type give the same text on every machine with the same library versions. Raises
    `Unreadable`.
    """
    extractor = extractor_of(media_type)
    if not content.strip():
        raise Unreadable("it is empty")
    if len(content) > DOCUMENT_BYTES_MAX:
        raise Unreadable(f"it is larger than {DOCUMENT_BYTES_MAX // 1024**2} MB")
    text, title = _read(content, media_type)
    text = cleaned(text).strip("\n")
    if not text.strip():
        raise Unreadable("it has no text")
    if len(text) > TEXT_CHARACTERS_MAX:
        raise Unreadable(f"its text is longer than {TEXT_CHARACTERS_MAX:,} characters")
    return Extracted(text, _title(cleaned(title), text), media_type, extractor)


def _read(content: bytes, media_type: str) -> tuple[str, str]:
    charset = charset_of(media_type)
    match essence_of(media_type):
        case "text/html" | "application/xhtml+xml":
            return html_text(content, charset)
        case "application/pdf":
            return pdf_text(content)
        case "text/markdown":
            return markdown_text(decoded(content, charset)), ""
        case _:
            return outlined(decoded(content, charset)), ""


def _title(title: str, text: str) -> str:
    heading = _HEADING.search(text)
    return (title or (heading[1].strip() if heading else ""))[:TITLE_CHARACTERS_MAX]
