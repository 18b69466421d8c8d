"""PDF: the text layer of each page, by pypdf. Scanned pages have none and are refused."""

import logging
import zlib
from collections.abc import Iterator
from io import BytesIO

from pypdf import PasswordType, PdfReader
from pypdf.errors import DependencyError, PyPdfError

from nodes.tools.documents import TEXT_CHARACTERS_MAX, Unreadable

# What pypdf says about a broken file is told as the reason, or the file was read all the same.
logging.getLogger("pypdf").setLevel(logging.CRITICAL + 1)

# pypdf follows whatever a file says, so that a broken one surfaces as any of these.
BROKEN = (
    PyPdfError,
    ArithmeticError,
    AssertionError,
    AttributeError,
    EOFError,
    LookupError,
    NotImplementedError,
    RecursionError,
    TypeError,
    ValueError,
    zlib.error,
)


def pdf_text(content: bytes) -> tuple[str, str]:
    """Return (text, title) of a PDF, pages parted by an empty line; raises `Unreadable`."""
    try:
        reader = _opened(content)
        text = "\n\n".join(_pages(reader))
        title = (reader.metadata and reader.metadata.title) or ""
    except DependencyError as error:
        raise Unreadable(f"it is encrypted in a way that cannot be read ({error})") from error
    except BROKEN as error:
        raise Unreadable(f"the PDF is broken ({type(error).__name__}: {error})") from error
    if not text.strip():
        raise Unreadable("the PDF has no text, only images; run OCR on it and add the result")
    return text, " ".join(str(title).split())


def _opened(content: bytes) -> PdfReader:
    reader = PdfReader(BytesIO(content))
    # Many published files are encrypted with an empty user password, only to forbid printing.
    if reader.is_encrypted and reader.decrypt("") is PasswordType.NOT_DECRYPTED:
        raise Unreadable("the PDF is encrypted; add a copy that was saved without a password")
    return reader


def _pages(reader: PdfReader) -> Iterator[str]:
    characters = 0
    for page in reader.pages:
        text = page.extract_text().strip("\n")
        characters += len(text)
        if characters > TEXT_CHARACTERS_MAX:
            raise Unreadable(f"its text is longer than {TEXT_CHARACTERS_MAX:,} characters")
        yield text
