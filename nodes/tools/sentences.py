"""Where sentences begin and end in a stretch of text, with exact positions.

No sentence crosses the stretch that it was asked for. In doubt two sentences stay together: a quote that is a little
long is better than one that breaks off.
"""

import re
from collections.abc import Iterator

# A full stop, then closing marks and white space, then anything but a lower case letter; or a stop of a script that
# sets no space after it.
_BOUNDARY = re.compile(r"[.!?؟۔।][\"'”’)\]`*_]*\s+(?=[\"'“‘(\[`*_]*[^\sa-z])|[。！？]+\s*")
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|cf|vs|etc|al|approx|resp|Mr|Mrs|Ms|Dr|Prof|St|No|Nos|Fig|Sec|Ch|Vol|pp?|ed|Inc|Ltd)|(?<!\w)[A-Z]|^\s*\d+)\.$"
)


def sentences(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the half-open positions of the sentences in `text[start:end]`, without white space around them."""
    begin = start
    for match in _BOUNDARY.finditer(text, start, end):
        stop = match.start() + 1
        if not _ABBREVIATION.search(text[max(begin, stop - 12) : stop]):
            yield from _stripped(text, begin, match.end())
            begin = match.end()
    yield from _stripped(text, begin, end)


def _stripped(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    piece = text[start:end]
    left = start + len(piece) - len(piece.lstrip())
    right = start + len(piece.rstrip())
    if left < right:
        yield left, right
