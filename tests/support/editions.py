"""Two editions of a text, and where each word of the older went: an alignment of lines, then of words, by difflib.

It knows whole texts, where an anchor knows a quote and its surroundings, and shares no line with the anchoring.
"""

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property

Span = tuple[int, int]
_WORD = re.compile(r"\S+")


@dataclass
class Editions:
    """An older and a newer edition of one text."""

    old: str
    new: str

    @cached_property
    def went(self) -> dict[Span, Span]:
        """Where the words of the older edition stand in the newer one; those that went are left out."""
        ones, others = _lines(self.old), _lines(self.new)
        found: dict[Span, Span] = {}
        for one, other in _aligned(self.old, ones, self.new, others, between=True):
            ours, theirs = _words(self.old, one), _words(self.new, other)
            found.update(_aligned(self.old, ours, self.new, theirs))
        return found

    def is_right(self, quote: Span, anchored: Span) -> bool:
        """Tell whether most of the quote's words went to where it was anchored, or its line can be no other."""
        words = _words(self.old, quote)
        there = [self.went[word] for word in words if word in self.went]
        inside = [span for span in there if anchored[0] <= span[0] and span[1] <= anchored[1]]
        return 2 * len(inside) > len(words) or self._is_the_only_line(quote, anchored)

    def changed(self, quote: Span) -> bool:
        """Tell whether a quote's words stand nowhere in the newer edition as they were."""
        return self.old[slice(*quote)] not in self.new

    def _is_the_only_line(self, quote: Span, anchored: Span) -> bool:
        line, other = _line_of(self.old, quote[0]), _line_of(self.new, anchored[0])
        return line == other and self.old.count(line) == self.new.count(line) == 1


def _lines(text: str) -> list[Span]:
    return [match.span() for match in re.finditer(r"[^\n]+", text)]


def _words(text: str, within: Span) -> list[Span]:
    return [match.span() for match in _WORD.finditer(text, *within)]


def _line_of(text: str, place: int) -> str:
    start = text.rfind("\n", 0, place) + 1
    end = text.find("\n", place)
    return text[start : end if end >= 0 else len(text)]


def _aligned(
    old: str, ones: list[Span], new: str, others: list[Span], *, between: bool = False
) -> list[tuple[Span, Span]]:
    """Pair what is equal, and with `between` the stretches that stand in each other's place."""
    matcher = SequenceMatcher(
        None, [old[slice(*it)] for it in ones], [new[slice(*it)] for it in others], autojunk=False
    )
    pairs: list[tuple[Span, Span]] = []
    for kind, i1, i2, j1, j2 in matcher.get_opcodes():
        if kind == "equal":
            pairs += zip(ones[i1:i2], others[j1:j2], strict=True)
        elif kind == "replace" and between:
            pairs.append(((ones[i1][0], ones[i2 - 1][1]), (others[j1][0], others[j2 - 1][1])))
    return pairs
