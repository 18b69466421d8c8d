"""Plain text and reStructuredText: kept as written, except that an underlined title becomes a `#` line.

docutils is not asked: it knows neither Sphinx' directives nor its roles, and what it renders is not what the author
wrote. Section titles are what matters to search, and their rule is simple (reStructuredText specification, "Sections"):
a line of one punctuation character, at least as long as the title above it, and levels in the order in which the styles
of underlining appear.
"""

import re

_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1{2,}\s*")
# Markdown and reports have six levels of headings.
LEVEL_MAX = 6


def outlined(source: str) -> str:
    """Return the text with its section titles as `#` lines."""
    lines = source.split("\n")
    kept: list[str] = []
    styles: list[str] = []
    position = 0
    while position < len(lines):
        style, length = _title_at(lines, position)
        if not length:
            kept.append(lines[position])
            position += 1
            continue
        if style not in styles:
            styles.append(style)
        level = min(styles.index(style) + 1, LEVEL_MAX)
        kept.append(f"{'#' * level} {lines[position + length - 2].strip()}")
        position += length
    return "\n".join(kept)


def _title_at(lines: list[str], position: int) -> tuple[str, int]:
    """Return the style of the title that starts here and its number of lines; ("", 0) where none does."""
    first, second, third = (*lines[position : position + 3], "", "", "")[:3]
    if position and lines[position - 1].strip():
        return "", 0
    if _underlines(third, second) and first.rstrip() == third.rstrip():
        return first[0] * 2, 3
    if first[:1].strip() and _underlines(second, first):
        return second[0], 2
    return "", 0


def _underlines(line: str, title: str) -> bool:
    return (
        bool(title.strip())
        and not _ADORNMENT.fullmatch(title)
        and bool(_ADORNMENT.fullmatch(line))
        and len(line.rstrip()) >= len(title.strip())
    )
