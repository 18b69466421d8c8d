"""Finds a quote again in another edition of the document that it was cut from.

Its words and what stands around them decide (the TextQuoteSelector of the W3C Web Annotation data model). The Hypothesis
client lets the position decide between equals; here it does not, because one of them standing where the quote stood may
be chance. A manual repeats itself, so words without their surroundings prove little, and a quote of which it cannot be
told where it went is gone: an anchor that is missing is seen, a wrong one is believed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from rapidfuzz.fuzz import partial_ratio_alignment, ratio

from ledger.evidence import CONTEXT_CHARACTERS, Evidence

State: TypeAlias = Literal["same", "moved", "changed", "gone"]

# Measured on all 16,358 sentences of 76 pages that differ between two editions of the PostgreSQL manual
# (tests/integration/test_two_editions.py): none is anchored wrongly, and of the 16,228 that still stand there 124 are
# given up as gone. Surroundings of 60 on either side alone anchor some wrongly, because manuals repeat whole phrases. A
# similarity of 65 finds no more of those that were changed, one of 85 loses six.
WHOLE = 100.0
SIMILARITY_MIN = 75.0
CONTEXT_MIN = 60.0
# What at least one side has to be like, unless the words stand in one place only.
CLOSE_CONTEXT_MIN = 96.0
# Two places whose surroundings are this close, of 200, cannot be told apart.
MARGIN = 2.0
# A place may begin and end this much beside where the search says, at a word.
FIT_CHARACTERS = 40


@dataclass(frozen=True, slots=True)
class Anchor:
    """Where a quote stands in another edition: `[start, end)` in code points, both 0 for one that is gone.

    `same` words at the same position, the same words `moved`, or `changed` words; `similarity` is of the words, 0 to 100.
    """

    state: State
    start: int = 0
    end: int = 0
    similarity: float = 0.0


@dataclass(frozen=True, slots=True)
class _Place:
    start: int
    end: int
    similarity: float
    before: float
    after: float

    @property
    def around(self) -> tuple[float, float]:
        """How much what stands before and after it is like what stood around the quote."""
        return self.before, self.after


GONE = Anchor("gone")


def anchor(evidence: Evidence, text: str) -> Anchor:
    """Return where a quote stands in the text of another edition."""
    length = evidence.end - evidence.start
    exact = [_place(evidence, text, start, length) for start in _hits(evidence, text)]
    if known := [place for place in exact if _is_known(place, is_only=len(exact) == 1)]:
        return _exact(evidence, known)
    # Its words may have changed where they stand, while others say the same elsewhere.
    similar = [place for place in _similar(evidence, text) if _is_known(place)]
    if len(similar) == 1:
        (found,) = similar
        return Anchor("changed", found.start, found.end, found.similarity)
    return GONE


def _is_known(place: _Place, *, is_only: bool = False) -> bool:
    """Tell whether what stands around a place says that it is the one that was quoted."""
    less, more = sorted(place.around)
    if is_only:
        return less >= CONTEXT_MIN or more == WHOLE
    return less >= CONTEXT_MIN and more >= CLOSE_CONTEXT_MIN


def _exact(evidence: Evidence, known: list[_Place]) -> Anchor:
    found = max(known, key=lambda place: sum(place.around))
    if sum(sum(found.around) - sum(each.around) < MARGIN for each in known) > 1:
        return GONE
    state: State = "same" if found.start == evidence.start else "moved"
    return Anchor(state, found.start, found.end, WHOLE)


def _hits(evidence: Evidence, text: str) -> Iterator[int]:
    start = text.find(evidence.exact)
    while start >= 0:
        yield start
        start = text.find(evidence.exact, start + 1)


def _similar(evidence: Evidence, text: str) -> Iterator[_Place]:
    """Yield the two places whose words are most like the quote."""
    rest = text
    for _ in range(2):
        found = partial_ratio_alignment(evidence.exact, rest, score_cutoff=SIMILARITY_MIN)
        if found is None or found.dest_start >= found.dest_end:
            return
        start, end = _fitted(evidence.exact, text, found.dest_start, found.dest_end)
        place = _place(evidence, text, start, end - start)
        if place.similarity < WHOLE:
            yield place
        blank = "\x00" * (found.dest_end - found.dest_start)
        rest = rest[: found.dest_start] + blank + rest[found.dest_end :]


def _fitted(exact: str, text: str, start: int, end: int) -> tuple[int, int]:
    """Move the ends of a place to the words between which it is most like the quote."""
    end = max(
        _stops(text, end, start), key=lambda stop: ratio(exact, text[start:stop]), default=end
    )
    start = max(
        _starts(text, start, end), key=lambda begin: ratio(exact, text[begin:end]), default=start
    )
    return start, end


def _starts(text: str, near: int, end: int) -> Iterator[int]:
    for place in range(max(0, near - FIT_CHARACTERS), min(near + FIT_CHARACTERS, end)):
        if not text[place].isspace() and (place == 0 or text[place - 1].isspace()):
            yield place


def _stops(text: str, near: int, start: int) -> Iterator[int]:
    for place in range(
        max(start + 1, near - FIT_CHARACTERS), min(near + FIT_CHARACTERS, len(text)) + 1
    ):
        if not text[place - 1].isspace() and (place == len(text) or text[place].isspace()):
            yield place


def _place(evidence: Evidence, text: str, start: int, length: int) -> _Place:
    end = start + length
    before = text[max(0, start - CONTEXT_CHARACTERS) : start]
    after = text[end : end + CONTEXT_CHARACTERS]
    return _Place(
        start,
        end,
        ratio(evidence.exact, text[start:end]),
        ratio(evidence.prefix, before),
        ratio(evidence.suffix, after),
    )
