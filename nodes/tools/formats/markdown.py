"""Markdown: kept as it was written, except that every heading is a `#` line and fenced code is indented.

A rendered text would have other positions and lose what the author wrote; a raw one has comments in code that look like
headings, and headings that are underlined.
"""

from markdown_it import MarkdownIt
from markdown_it.token import Token


def markdown_text(source: str) -> str:
    """Return the text of a CommonMark document."""
    lines = source.split("\n")
    tokens = MarkdownIt("commonmark").parse(source)
    # From the end, so that the line numbers of what is still to come stay right.
    for position in reversed(range(len(tokens))):
        token = tokens[position]
        if token.map and (written := _written(token, tokens[position + 1 : position + 2])):
            first, after = token.map
            lines[first:after] = written
    return "\n".join(lines)


def _written(token: Token, following: list[Token]) -> list[str]:
    if token.type == "heading_open" and token.level == 0:
        title = " ".join(following[0].content.split())
        return [f"{'#' * int(token.tag[1:])} {title}"] if title else []
    if token.type == "fence":
        return [f"    {line}".rstrip() for line in token.content.rstrip("\n").split("\n")]
    return []
