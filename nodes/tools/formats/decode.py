"""Bytes to text: byte order mark, then what was declared, then UTF-8, then a guess; binary data is refused."""

import codecs
import re
from collections.abc import Iterator

from charset_normalizer import from_bytes

from nodes.tools.documents import TEXT_CHARACTERS_MAX, Unreadable

# UTF-32 first: its little-endian mark begins with that of UTF-16.
MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Servers send these for everything, and what is meant is windows-1252 (WHATWG Encoding, section 4.2).
TOO_COMMON = frozenset({"ascii", "iso8859-1", "cp1252"})

# How much of a document decides whether it is text, and how much of that may be control characters. Compressed or
# executable data decoded as anything has more than a fifth; a text with a few stray NULs is still a text.
SAMPLE_CHARACTERS = 65_536
CONTROLS_SHARE_MAX = 0.1

_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f-\x9f�]")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def decoded(content: bytes, declared: str | None) -> str:
    """Return the text of these bytes, cleaned; `declared` is a charset that someone gave for them.

    Raises `Unreadable` for data that is no text or longer than `TEXT_CHARACTERS_MAX`.
    """
    text = _decoded(content, declared)
    sample = text[:SAMPLE_CHARACTERS]
    if len(_CONTROLS.findall(sample)) > CONTROLS_SHARE_MAX * len(sample):
        raise Unreadable("it is binary data, not text")
    if len(text) > TEXT_CHARACTERS_MAX:
        raise Unreadable(f"its text is longer than {TEXT_CHARACTERS_MAX:,} characters")
    return cleaned(text)


def cleaned(text: str) -> str:
    """Return the text with LF as line end and U+FFFD for what PostgreSQL and UTF-8 cannot hold."""
    return _UNSTORABLE.sub("�", text.replace("\r\n", "\n").replace("\r", "\n"))


def _decoded(content: bytes, declared: str | None) -> str:
    for encoding in _candidates(content, declared):
        try:
            # A lone surrogate that someone encoded is one broken character, not another charset.
            return content.decode(encoding, "surrogatepass" if encoding == "utf-8" else "strict")
        except (UnicodeError, LookupError):
            continue
    best = from_bytes(content).best()
    if best is None:
        raise Unreadable("its character encoding could not be recognised")
    return str(best)


def _candidates(content: bytes, declared: str | None) -> Iterator[str]:
    yield from (encoding for mark, encoding in MARKS if content.startswith(mark))
    name = _codec(declared)
    if name and name not in TOO_COMMON:
        yield name
    yield "utf-8"
    if name in TOO_COMMON:
        yield "cp1252"


def _codec(declared: str | None) -> str | None:
    try:
        return codecs.lookup(declared).name if declared else None
    except (LookupError, ValueError):
        return None
