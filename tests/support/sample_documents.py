"""Small real documents, written for a test."""

from io import BytesIO

from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject


def pdf(
    *pages: str, title: str = "", password: str | None = None, algorithm: str = "AES-256"
) -> bytes:
    """Return a PDF with one line of Helvetica on each page, encrypted if a user password is given ("" counts)."""
    writer = PdfWriter()
    font = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type1"),
            NameObject("/BaseFont"): NameObject("/Helvetica"),
        }
    )
    for text in pages:
        page = writer.add_blank_page(300, 300)
        page[NameObject("/Resources")] = DictionaryObject(
            {NameObject("/Font"): DictionaryObject({NameObject("/F1"): font})}
        )
        content = DecodedStreamObject()
        content.set_data(f"BT /F1 12 Tf 20 200 Td ({text}) Tj ET".encode("latin-1"))
        page[NameObject("/Contents")] = content
    if title:
        writer.add_metadata({"/Title": title})
    if password is not None:
        writer.encrypt(password, owner_password="owner", algorithm=algorithm)
    target = BytesIO()
    writer.write(target)
    return target.getvalue()


def scanned_pdf() -> bytes:
    """Return a PDF whose page shows nothing that is text."""
    writer = PdfWriter()
    writer.add_blank_page(300, 300)
    target = BytesIO()
    writer.write(target)
    return target.getvalue()


def page(body: str, title: str = "") -> bytes:
    """Return an HTML page in UTF-8 without any main element."""
    return f"<!DOCTYPE html><html><head><title>{title}</title></head><body>{body}</body></html>".encode()
