"""One module per document format: bytes or text in, text with `#` headings out. Heavy imports live here."""
