"""Which sentences of the material answer a question, or that none does. No language model: coverage of words.

A word of the question weighs what its rarity in the corpus is. A sentence is judged by the share of that weight found
in the sentence itself, in its surroundings (the sentences beside it and the headings above), and in the passage; a
sentence that holds the kind of thing asked for (a number, a definition, a reason) gets a little more. A question counts
as answered only where one place covers most of its weight: words that never meet in one place do not answer it.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nodes.material import Passage
from nodes.researchers.keywords import Asked
from nodes.tools.sentences import sentences
from nodes.tools.structure import Kind, blocks
from nodes.tools.terms import terms

# Share of the question's weight, and of its subject words, that one place must cover.
COVERAGE_MIN = 0.62
SUBJECTS_MIN = 0.6
# The quote counts most, then what stands around it, then the passage; the rest is the search's own opinion.
_QUOTE_SHARE = 0.35
_AROUND_SHARE = 0.25
_PASSAGE_SHARE = 0.10
_SEARCH_SHARE = 0.15
_NEAR_SHARE = 0.15
_CUE_BONUS = 0.08
# Off for each quote that was chosen from the same passage before, so that other places are heard too.
_REPEAT_MALUS = 0.05
_FRAGMENT_MALUS = 0.15
# Words of a question that stand together there should stand together here: at most so many words apart.
_NEAR_WORDS_MAX = 4
# Fewer words than this are an entry of an index or a caption, not a statement.
_STATEMENT_WORDS_MIN = 5
# What a reader takes in at a glance.
QUOTE_LENGTH_MAX = 480

_NUMBER = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|zero|twice|unlimited|none)\b", re.IGNORECASE
)
_DEFINES = re.compile(
    r"^\W*(?:\w+\W+){0,6}?(?:is|are|means|refers|denotes|provides|defines|lets|allows)\b", re.IGNORECASE
)
_BECAUSE = re.compile(
    r"\b(?:because|since|therefore|so that|otherwise|reason|due to|to avoid|to prevent|hence)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A quote in its place: positions in the document's text, score, and what its surroundings cover."""

    passage: Passage
    start: int
    end: int
    text: str
    score: float
    answers: bool


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A sentence of a passage, positions counted from the start of the passage."""

    start: int
    end: int
    block: int
    terms: tuple[str, ...]
    is_code: bool


def best_quotes(
    asked: Asked, passages: Sequence[Passage], rarity: Mapping[str, float], limit: int
) -> tuple[Candidate, ...]:
    """Return the quotes that answer, best first; none where the passages do not answer the question."""
    found = [c for passage in passages for c in candidates(asked, passage, rarity)]
    if not any(candidate.answers for candidate in found):
        return ()
    return _chosen(found, limit)


def candidates(asked: Asked, passage: Passage, rarity: Mapping[str, float]) -> list[Candidate]:
    """Return a quote for each sentence of a passage: that sentence and, if it fits, the one after it."""
    title = frozenset(terms(passage.title))
    parts = _sentences(passage.text)
    passage_coverage = asked.coverage(title.union(*(part.terms for part in parts)), rarity)
    found: list[Candidate] = []
    for at, part in enumerate(parts):
        quoted = parts[at : _quote_end(parts, at)]
        held = [term for sentence in quoted for term in sentence.terms]
        around = title.union(held, *(near.terms for near in parts[max(at - 1, 0) : at + 2]))
        text = " ".join(passage.text[part.start : quoted[-1].end].split())
        coverage = asked.coverage(around, rarity)
        score = (
            _QUOTE_SHARE * asked.coverage(frozenset(held), rarity)
            + _AROUND_SHARE * coverage
            + _PASSAGE_SHARE * passage_coverage
            + _SEARCH_SHARE * passage.score
            + _NEAR_SHARE * asked.nearness(held, _NEAR_WORDS_MAX)
            + _form(asked, part, text)
        )
        answers = coverage >= COVERAGE_MIN and asked.subjects_met(around) >= SUBJECTS_MIN
        start, end = passage.start + part.start, passage.start + quoted[-1].end
        found.append(Candidate(passage, start, end, text, score, answers))
    return found


def _chosen(found: Sequence[Candidate], limit: int) -> tuple[Candidate, ...]:
    left = sorted(found, key=lambda c: (-c.score, c.passage.uri, c.start))
    chosen: list[Candidate] = []
    taken: Counter[tuple[str, int]] = Counter()
    while left and len(chosen) < limit:
        best = max(left, key=lambda c: c.score - _REPEAT_MALUS * taken[c.passage.uri, c.passage.start])
        chosen.append(best)
        taken[best.passage.uri, best.passage.start] += 1
        left = [candidate for candidate in left if not _same(candidate, best)]
    return tuple(chosen)


def _sentences(text: str) -> list[_Sentence]:
    found: list[_Sentence] = []
    for number, block in enumerate(blocks(text)):
        if block.kind is Kind.HEADING:
            continue
        for start, end in sentences(text, block.start, block.end):
            stop = min(end, start + QUOTE_LENGTH_MAX)
            held = tuple(terms(text[start:stop]))
            found.append(_Sentence(start, stop, number, held, block.kind is Kind.CODE))
    return found


def _quote_end(parts: Sequence[_Sentence], at: int) -> int:
    """Return after which sentence the quote ends: with the next one of its paragraph, because answers come in two."""
    after = at + 1
    if after < len(parts) and parts[after].block == parts[at].block:
        if parts[after].end - parts[at].start <= QUOTE_LENGTH_MAX:
            return after + 1
    return after


def _form(asked: Asked, part: _Sentence, text: str) -> float:
    fragment = part.is_code or len(text.split()) < _STATEMENT_WORDS_MIN
    return _cue(asked, text) - (_FRAGMENT_MALUS if fragment else 0.0)


def _cue(asked: Asked, sentence: str) -> float:
    wanted = (
        (asked.wants_amount, _NUMBER),
        (asked.wants_definition, _DEFINES),
        (asked.wants_reason, _BECAUSE),
    )
    return sum(_CUE_BONUS for wants, cue in wanted if wants and cue.search(sentence))


def _same(one: Candidate, other: Candidate) -> bool:
    overlaps = one.passage.uri == other.passage.uri and one.start < other.end and other.start < one.end
    return overlaps or one.text == other.text
