"""The shape of an extracted text: its headings, paragraphs, list items, table rows and code, with exact positions.

Reads Markdown as it comes from HTML and Markdown files, underlined headings as in reStructuredText and pydoc, and plain
text. Every block is a stretch of the text (`text[start:end]`), blocks do not overlap and come in order, and no block
holds both prose and something else.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

_HEADING = re.compile(r"\s{0,3}(#{1,6})\s+(?=\S)")
_UNDERLINE = re.compile(r"\s{0,3}([=\-~^\"'#*+.])\1{2,}\s*$")
_ITEM = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])(?:\s+|$)")
_ROW = re.compile(r"\s*\|")
_ROW_RULE = re.compile(r"[\s|:\-+]*$")
_FENCE = re.compile(r"\s*(?:```|~~~)")
# What names the thing that the next lines describe: code alone on a line, or a line that ends in Sphinx' pilcrow.
_TERM = re.compile(r"(?:[-*]\s+)?(?:`[^`]+`(?:\s*\(.*)?|.*¶)")
_TERM_LENGTH_MAX = 200
# The same without markup: a short line of its own that is no sentence, as "max_connections (integer)".
_TERM_WORDS_MAX = 8
_ENDS_SENTENCE = re.compile(r"[.!?;,:。！？؟][\"'”’)]*$")
_NO_TERMS = frozenset({"note", "warning", "caution", "important", "tip", "see also"})
_CAPTION = re.compile(r"(?:table|figure|example|listing|source code)\b", re.IGNORECASE)
_INDENTED = re.compile(r" {4}|\t")
_DECORATION = re.compile(r"[`*¶#]|\\(?=[_*])")
# Deeper than any real heading, so that a heading of any level ends the term before it.
TERM_LEVEL = 9


class Kind(StrEnum):
    """What a block is."""

    HEADING = "heading"
    TERM = "term"
    PROSE = "prose"
    ROW = "row"
    CODE = "code"


@dataclass(frozen=True, slots=True)
class Block:
    """One block; `level` counts for headings and terms only (1 is the highest)."""

    kind: Kind
    start: int
    end: int
    level: int = 0


@dataclass(frozen=True, slots=True)
class _Line:
    start: int
    text: str

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def is_blank(self) -> bool:
        return not any(c.isalnum() for c in self.text)


@dataclass(slots=True)
class _Reader:
    """Collects lines into blocks; `open` holds the lines of a paragraph that has not ended."""

    open: list[_Line] = field(default_factory=list[_Line])
    underlines: list[str] = field(default_factory=list[str])
    in_code: bool = False

    def close(self, kind: Kind = Kind.PROSE) -> Iterator[Block]:
        lines, self.open = self.open, []
        if all(line.is_blank for line in lines):
            return
        if kind is Kind.PROSE and len(lines) == 1 and _is_bare_term(lines[0].text):
            yield _heading(lines[0], TERM_LEVEL, Kind.TERM)
        else:
            yield _trimmed(Kind.CODE if _is_code(lines) else kind, lines)

    def read(self, line: _Line) -> Iterator[Block]:
        if _FENCE.match(line.text):
            yield from self.close(Kind.CODE if self.in_code else Kind.PROSE)
            self.in_code = not self.in_code
        elif self.in_code:
            self.open.append(line)
        elif _UNDERLINE.match(line.text):
            yield from self._underlined(line)
        elif line.is_blank:
            yield from self.close()
        else:
            yield from self._content(line)

    def _underlined(self, line: _Line) -> Iterator[Block]:
        heading = self.open[-1] if self.open else None
        if heading is None or len(self.open) > 1 or len(line.text) < len(heading.text.rstrip()):
            yield from self.close()
            return
        mark = line.text.strip()[0]
        if mark not in self.underlines:
            self.underlines.append(mark)
        self.open = []
        yield _heading(heading, self.underlines.index(mark) + 1)

    def _content(self, line: _Line) -> Iterator[Block]:
        if match := _HEADING.match(line.text):
            yield from self.close()
            yield _heading(line, len(match.group(1)))
        elif _ROW.match(line.text):
            yield from self.close()
            if not _ROW_RULE.match(line.text):
                yield _trimmed(Kind.ROW, [line])
        elif _is_term(line.text) and (not self.open or "¶" in line.text):
            yield from self.close()
            yield _heading(line, TERM_LEVEL, Kind.TERM)
        else:
            if _ITEM.match(line.text):
                yield from self.close()
            self.open.append(line)


def blocks(text: str) -> Iterator[Block]:
    """Yield the blocks of a text in order."""
    reader = _Reader()
    start = 0
    for line in text.split("\n"):
        yield from reader.read(_Line(start, line))
        start += len(line) + 1
    yield from reader.close(Kind.CODE if reader.in_code else Kind.PROSE)


def heading_text(text: str, block: Block) -> str:
    """Return the words of a heading, without markup."""
    return " ".join(_DECORATION.sub("", text[block.start : block.end]).strip(" (-").split())


def _is_term(line: str) -> bool:
    bare = line.strip()
    return len(bare) <= _TERM_LENGTH_MAX and _TERM.fullmatch(bare) is not None


def _is_bare_term(line: str) -> bool:
    bare = line.strip()
    return (
        len(bare) <= _TERM_LENGTH_MAX
        and len(bare.split()) <= _TERM_WORDS_MAX
        and bare.casefold() not in _NO_TERMS
        and not _ENDS_SENTENCE.search(bare)
        and not _ITEM.match(bare)
        and not _CAPTION.match(bare)
    )


def _is_code(lines: list[_Line]) -> bool:
    """Tell code by its indent, unless it reads like the paragraph of a list."""
    if not all(_INDENTED.match(line.text) for line in lines if line.text.strip()):
        return False
    ends = [line.text.strip() for line in lines if _ENDS_SENTENCE.search(line.text)]
    return not any(len(end.split()) >= _TERM_WORDS_MAX for end in ends)


def _heading(line: _Line, level: int, kind: Kind = Kind.HEADING) -> Block:
    block = _trimmed(kind, [line])
    return Block(kind, block.start, block.end, level)


def _trimmed(kind: Kind, lines: list[_Line]) -> Block:
    """Cut white space at both ends, and the lines without a letter or digit with which a block may begin."""
    while len(lines) > 1 and lines[0].is_blank and kind is not Kind.CODE:
        lines = lines[1:]
    first, last = lines[0], lines[-1]
    start = first.start + len(first.text) - len(first.text.lstrip())
    end = last.end - (len(last.text) - len(last.text.rstrip()))
    return Block(kind, min(start, end), end)
