"""What a document is before and after it is read: media types, limits, extractor names, refusals.

Everything here is cheap to import: the process that asks "have we read these bytes with this extractor before?" must
not load an HTML and a PDF library to find that it has. The reading itself is `nodes.tools.extract`.
"""

from dataclasses import dataclass
from email.message import EmailMessage
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import PurePosixPath

# Longer than any book or manual that we met as one file (the PostgreSQL manual as PDF is 14 MB, the Intel manual 25 MB),
# and what four of them in memory at once still allow beside the rest.
DOCUMENT_BYTES_MAX = 64 * 1024 * 1024

# About 3,000 printed pages. A parsed page takes some thirty times its length in memory; a longer "document" is a dump.
TEXT_CHARACTERS_MAX = 8 * 1000 * 1000

HTML = "text/html"
XHTML = "application/xhtml+xml"
PDF = "application/pdf"
MARKDOWN = "text/markdown"
RST = "text/x-rst"
PLAIN = "text/plain"

MEDIA_TYPES = {
    ".html": HTML,
    ".htm": HTML,
    ".xhtml": XHTML,
    ".pdf": PDF,
    ".md": MARKDOWN,
    ".markdown": MARKDOWN,
    ".rst": RST,
    ".txt": PLAIN,
}

# What servers say when they do not know; the name and the first bytes know better.
UNINFORMATIVE = frozenset({"", "application/octet-stream", "binary/octet-stream"})
# A PDF may have this much before its header (ISO 32000-1, implementation note 13).
SNIFFED_BYTES = 1024


@dataclass(frozen=True, slots=True)
class Extracted:
    """The text of a document as it is stored and quoted.

    Lines end with LF; headings are lines that begin with `#`, blocks are parted by empty lines, code is indented by
    four spaces. NUL and lone surrogates have become U+FFFD. The text is *not* normalised to NFC: a quote is exact in
    what is stored, and a reader who copies it from the original must find it there. `title` is empty where the
    document has none. `media_type` is the one that it was read as, `extractor` library, version and our options.
    """

    text: str
    title: str
    media_type: str
    extractor: str


class Unreadable(Exception):
    """A document has no text for us; `reason` says why in words for the user."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def artifact_of(content: bytes) -> str:
    """Return the artifact id of these bytes: `sha256:` and 64 hexadecimal digits."""
    return f"sha256:{sha256(content).hexdigest()}"


def media_type_of(name: str, head: bytes, content_type: str | None = None) -> str:
    """Return the media type to read a document as: declared, else by the suffix of its name, else by its first bytes.

    `content_type` is an HTTP `Content-Type`; its charset is kept as a parameter, and the type may be one that is not read.
    """
    essence, charset = _parsed(content_type or "")
    if essence in UNINFORMATIVE:
        essence = MEDIA_TYPES.get(PurePosixPath(name).suffix.lower()) or _sniffed(head)
    return f"{essence}; charset={charset}" if charset else essence


def charset_of(media_type: str) -> str | None:
    """Return the charset parameter of a media type."""
    return _parsed(media_type)[1]


def essence_of(media_type: str) -> str:
    """Return a media type without its parameters."""
    return _parsed(media_type)[0]


def extractor_of(media_type: str) -> str:
    """Return library, version and options version that read this media type, for example `pypdf/7.1.1+text1`.

    Raises `Unreadable` for a type that is not read. A change of options must change the number after `+`: what was read
    with other options is then read again.
    """
    match essence_of(media_type):
        case "text/html" | "application/xhtml+xml":
            return f"trafilatura/{_version('trafilatura')}+blocks2"
        case "application/pdf":
            return f"pypdf/{_version('pypdf')}+text1"
        case "text/markdown":
            return f"markdown-it-py/{_version('markdown-it-py')}+headings1"
        case "text/x-rst" | "text/plain":
            return "outline/1"
        case other:
            raise Unreadable(f"documents of type {other} are not read")


def _parsed(content_type: str) -> tuple[str, str | None]:
    if not content_type.strip():
        return "", None
    message = EmailMessage()
    # A header cannot hold line breaks, and a server that sends one has not earned an exception.
    message["Content-Type"] = " ".join(content_type.split())
    essence = content_type.partition(";")[0].strip().lower()
    return essence, message.get_content_charset()


def _sniffed(head: bytes) -> str:
    if b"%PDF-" in head[:SNIFFED_BYTES]:
        return PDF
    start = head[:SNIFFED_BYTES].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    return HTML if start.startswith((b"<!doctype html", b"<html")) else PLAIN


@cache
def _version(distribution: str) -> str:
    return version(distribution)
