"""Cutting an extracted text into the passages that are searched and read.

A passage lies under one heading, holds whole sentences, list items, table rows or lines of code wherever they fit, and
is an exact stretch of the text. Passages do not overlap and come in order. Its headings travel with it, because a
question often names what only the heading says.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from nodes.material import Document, Hit, Passage
from nodes.tools.sentences import sentences
from nodes.tools.structure import Block, Kind, blocks, heading_text

# Long enough to hold a question's terms together, short enough to be about one thing.
WORDS_MIN = 80
WORDS_MAX = 150
# What 150 words take at most; binds where a text has no spaces.
LENGTH_MAX = 2_000
# Rank at which reciprocal rank fusion halves a vote (Cormack, Clarke and Büttcher 2009 use 60 for long lists).
_FUSION_RANK = 20
# What lies beside a hit is worth reading and less likely to be what was asked for.
NEIGHBOUR_SHARE = 0.5
# Between the title of a document and its headings.
PATH_SEPARATOR = " › "
_WORD = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class Piece:
    """One passage's positions in its text and the headings above it, highest first."""

    start: int
    end: int
    headings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Readable:
    """A document together with its extracted text."""

    document: Document
    text: str


def split_passages(text: str) -> Iterator[Piece]:
    """Yield the passages of a text in order; none for a text without a letter or digit.

    A term ("max_connections (integer)") heads what follows and is also its first line, for it may be all there is.
    """
    headings: list[tuple[int, str]] = []
    section: list[Block] = []
    for block in blocks(text):
        if block.kind not in {Kind.HEADING, Kind.TERM}:
            section.append(block)
            continue
        if not (block.kind is Kind.TERM and section and section[-1].kind is Kind.TERM):
            yield from _pack(text, section, tuple(name for _, name in headings))
            section = []
        headings = [above for above in headings if above[0] < block.level]
        headings.append((block.level, heading_text(text, block)))
        if block.kind is Kind.TERM:
            section.append(block)
    yield from _pack(text, section, tuple(name for _, name in headings))


def path(title: str, headings: Sequence[str]) -> str:
    """Join the title of a document and the headings of a passage, without repeating the title."""
    names = [title, *(name for name in headings if name and name not in title)]
    return PATH_SEPARATOR.join(name for name in names if name)


def merge_hits(results: Sequence[Sequence[Hit]], limit: int) -> tuple[Hit, ...]:
    """Merge the hits of several queries by reciprocal rank fusion, best first.

    The score of a merged hit is its share of the best possible score, 0..1.
    """
    votes: dict[tuple[str, int | None, int | None], float] = {}
    first: dict[tuple[str, int | None, int | None], Hit] = {}
    for hits in results:
        for rank, hit in enumerate(hits):
            place = (hit.uri, hit.start, hit.end)
            first.setdefault(place, hit)
            votes[place] = votes.get(place, 0.0) + _FUSION_RANK / (_FUSION_RANK + rank)
    order = sorted(votes, key=lambda place: (-votes[place], place[0], place[1] or 0))
    return tuple(
        replace(first[place], score=votes[place] / len(results)) for place in order[:limit]
    )


def widen(hits: Sequence[Hit], readable: Mapping[str, Readable]) -> tuple[Passage, ...]:
    """Return the passages of the hits and their neighbours under the same heading, best first, each once.

    A neighbour counts half of its hit. A hit without positions, or in a document that is not `readable`, gives none.
    """
    split = {uri: list(split_passages(given.text)) for uri, given in readable.items()}
    scores: dict[tuple[str, int], float] = {}
    for hit in hits:
        pieces = split.get(hit.uri, [])
        for at in _neighbourhood(pieces, hit.start):
            share = 1.0 if pieces[at].start == hit.start else NEIGHBOUR_SHARE
            scores[hit.uri, at] = max(scores.get((hit.uri, at), 0.0), hit.score * share)
    passages = [
        _passage(readable[uri], split[uri][at], score) for (uri, at), score in scores.items()
    ]
    return tuple(sorted(passages, key=lambda passage: (-passage.score, passage.uri, passage.start)))


def _pack(text: str, section: Sequence[Block], headings: tuple[str, ...]) -> Iterator[Piece]:
    start = end = words = 0
    for unit_start, unit_end in _units(text, section):
        count = len(_WORD.findall(text, unit_start, unit_end))
        too_long = words + count > WORDS_MAX or unit_end - start > LENGTH_MAX
        if words and (words >= WORDS_MIN or too_long):
            yield Piece(start, end, headings)
            words = 0
        if not words:
            start = unit_start
        end, words = unit_end, words + max(count, 1)
    if words:
        yield Piece(start, end, headings)


def _units(text: str, section: Sequence[Block]) -> Iterator[tuple[int, int]]:
    """Yield what is not cut further, unless it alone is longer than a passage may be."""
    for block in section:
        whole = [(block.start, block.end)]
        spans = whole if block.kind is Kind.CODE else sentences(text, block.start, block.end)
        for start, end in spans:
            yield from _cut(text, start, end)


def _cut(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    begin, words, last = start, 0, start
    for word in _WORD.finditer(text, start, end):
        words += 1
        if last > begin and (words > WORDS_MAX or word.end() - begin > LENGTH_MAX):
            yield begin, last
            begin, words = word.start(), 1
        last = word.end()
        while last - begin > LENGTH_MAX:
            yield begin, begin + LENGTH_MAX
            begin += LENGTH_MAX
    if last > begin:
        yield begin, last


def _neighbourhood(pieces: Sequence[Piece], start: int | None) -> list[int]:
    """Return the numbers of the piece that begins at `start` and of those beside it under the same headings."""
    at = next((n for n, piece in enumerate(pieces) if piece.start == start), None)
    if at is None:
        return []
    near = range(max(at - 1, 0), min(at + 2, len(pieces)))
    return [n for n in near if pieces[n].headings == pieces[at].headings]


def _passage(readable: Readable, piece: Piece, score: float) -> Passage:
    document = readable.document
    return Passage(
        uri=document.uri,
        title=path(document.title, piece.headings),
        text_artifact=document.text_artifact,
        start=piece.start,
        end=piece.end,
        text=readable.text[piece.start : piece.end],
        score=score,
    )
