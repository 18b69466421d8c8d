"""Which sentences of the material answer a question, or that none does. No language model: coverage of words.

A word of the question weighs what its rarity in the corpus is. A quote (a sentence and what belongs to it) is judged by
the share of that weight that it covers together with the headings above it, by the share that its passage covers, by
the opinion of the search, by whether words that stand together in the question stand together here, and by holding the
kind of thing asked for (a number, a definition, a reason, a place, advice). A question counts as answered only where one place covers
most of its weight and most of its subject words: words that never meet in one place do not answer it.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nodes.material import Passage
from nodes.researchers.keywords import Asked
from nodes.tools.passages import PATH_SEPARATOR
from nodes.tools.sentences import sentences
from nodes.tools.structure import Block, Kind, blocks
from nodes.tools.terms import terms

# Share of the question's weight, and of its subject words, that one place must cover. In the question set unanswerable
# questions stay below 0.60 (most below 0.50) or miss a subject word; answerable ones begin at about 0.62.
COVERAGE_MIN = 0.60
SUBJECTS_MIN = 0.6
# Found by random search on the even half of the question set and rounded. Changing any one of them by a third changes
# the figures of both halves by one question at most.
_QUOTE_SHARE = 0.40
_PASSAGE_SHARE = 0.25
_SEARCH_SHARE = 0.35
_HEADING_SHARE = 0.15
_NEAR_SHARE = 0.15
_CUE_BONUS = 0.20
# Off for each quote that was chosen from the same passage before, so that other places are heard too.
_REPEAT_MALUS = 0.10
_FRAGMENT_MALUS = 0.15
# Words of a question that stand together there should stand together here: at most so many words apart.
_NEAR_WORDS_MAX = 4
# Fewer words than this are an entry of an index or a caption, not a statement.
_STATEMENT_WORDS_MIN = 5
# What a reader takes in at a glance.
QUOTE_LENGTH_MAX = 600
_QUOTE_SENTENCES_MAX = 3

_NUMBER = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|zero|twice|unlimited|none)\b",
    re.IGNORECASE,
)
_DEFINES = re.compile(
    r"^\W*(?:\w+\W+){0,6}?(?:is|are|means|refers|denotes|provides|defines|lets|allows)\b",
    re.IGNORECASE,
)
_SOMEWHERE = re.compile(
    r"(?<!\w)[~.]?/\w|\b(?:director(?:y|ies)|folders?|locat\w+|resides?|stored|placed|kept|found) (?:in|at|under|of)\b",
    re.IGNORECASE,
)
_ADVISES = re.compile(
    r"\b(?:should|prefer\w*|recommend\w*|better|best|advis\w+|instead|rather than|more suitable)\b",
    re.IGNORECASE,
)
_BECAUSE = re.compile(
    r"\b(?:because|since|therefore|so that|otherwise|reason|due to|to avoid|to prevent|hence)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A quote in its place: positions in the document's text, score, and what its surroundings cover."""

    passage: Passage
    start: int
    end: int
    text: str
    #: Its longer sentences: what two manuals, or two places of one, may both say.
    said: frozenset[str]
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
    introduces: bool


def best_quotes(
    asked: Asked, passages: Sequence[Passage], rarity: Mapping[str, float], limit: int
) -> tuple[Candidate, ...]:
    """Return the quotes that answer, best first; none where the passages do not answer the question."""
    found = [c for passage in passages for c in candidates(asked, passage, rarity)]
    if not any(candidate.answers for candidate in found):
        return ()
    return _chosen(found, limit)


def candidates(asked: Asked, passage: Passage, rarity: Mapping[str, float]) -> list[Candidate]:
    """Return a quote for each sentence of a passage: that sentence and those of its paragraph that fit after it."""
    parts = _sentences(passage.text)
    judge = _Judge(asked, rarity, passage, parts)
    return [judge.candidate(at) for at in range(len(parts))]


class _Judge:
    """Scores the quotes of one passage; what they have in common is reckoned once."""

    def __init__(
        self,
        asked: Asked,
        rarity: Mapping[str, float],
        passage: Passage,
        parts: Sequence[_Sentence],
    ) -> None:
        self._asked, self._rarity, self._passage, self._parts = asked, rarity, passage, parts
        self._title = frozenset(terms(passage.title))
        heading = frozenset(terms(passage.title.rpartition(PATH_SEPARATOR)[2]))
        held = [term for part in parts for term in part.terms]
        self._common = (
            _PASSAGE_SHARE * asked.coverage(self._title.union(held), rarity)
            + _SEARCH_SHARE * passage.score
            + _HEADING_SHARE * asked.coverage(heading, rarity)
        )

    def candidate(self, at: int) -> Candidate:
        """Return the quote that begins with sentence number `at`."""
        quoted = self._parts[at : _quote_end(self._parts, at)]
        start, end = quoted[0].start, quoted[-1].end
        text = " ".join(self._passage.text[start:end].split())
        held = [term for sentence in quoted for term in sentence.terms]
        score = (
            self._common
            + _QUOTE_SHARE * self._asked.coverage(self._title.union(held), self._rarity)
            + _NEAR_SHARE * self._asked.nearness(held, _NEAR_WORDS_MAX)
            + _form(self._asked, quoted[0], text)
        )
        offset = self._passage.start
        said = (" ".join(self._passage.text[each.start : each.end].split()) for each in quoted)
        return Candidate(
            self._passage,
            offset + start,
            offset + end,
            text,
            frozenset(each for each in said if len(each.split()) >= _STATEMENT_WORDS_MIN),
            score,
            self._answers(at, held),
        )

    def _answers(self, at: int, held: Sequence[str]) -> bool:
        beside = self._parts[max(at - 1, 0) : at + 2]
        there = self._title.union(held, *(near.terms for near in beside))
        covered = self._asked.coverage(there, self._rarity)
        return (
            covered >= COVERAGE_MIN
            and self._asked.counts(there)
            and self._asked.subjects_met(there, self._rarity) >= SUBJECTS_MIN
        )


def _chosen(found: Sequence[Candidate], limit: int) -> tuple[Candidate, ...]:
    left: list[Candidate] = sorted(found, key=_order)
    chosen: list[Candidate] = []
    taken: Counter[Passage] = Counter()
    while left and len(chosen) < limit:
        worth = [candidate.score - _REPEAT_MALUS * taken[candidate.passage] for candidate in left]
        best = left[worth.index(max(worth))]
        chosen.append(best)
        taken[best.passage] += 1
        left = [candidate for candidate in left if not _same(candidate, best)]
    return tuple(chosen)


def _order(candidate: Candidate) -> tuple[float, str, int]:
    return -candidate.score, candidate.passage.uri, candidate.start


def _sentences(text: str) -> list[_Sentence]:
    found: list[_Sentence] = []
    for number, block in enumerate(blocks(text)):
        if block.kind is Kind.HEADING:
            continue
        for start, end in sentences(text, block.start, block.end):
            stop = min(end, start + QUOTE_LENGTH_MAX)
            held = tuple(terms(text[start:stop]))
            found.append(
                _Sentence(
                    start,
                    stop,
                    number,
                    held,
                    block.kind is Kind.CODE,
                    _introduces(block, text[start:stop]),
                )
            )
    return found


def _introduces(block: Block, sentence: str) -> bool:
    return block.kind is Kind.TERM or sentence.endswith(":")


def _quote_end(parts: Sequence[_Sentence], at: int) -> int:
    """Return where the quote that begins here ends: its paragraph goes on, or a colon introduces what follows."""
    after = at + 1
    while after < len(parts) and after - at < _QUOTE_SENTENCES_MAX:
        belongs = parts[after].block == parts[at].block or parts[after - 1].introduces
        if not belongs or parts[after].end - parts[at].start > QUOTE_LENGTH_MAX:
            break
        after += 1
    return after


def _form(asked: Asked, part: _Sentence, text: str) -> float:
    fragment = part.is_code or len(text.split()) < _STATEMENT_WORDS_MIN
    return _cue(asked, text) - (_FRAGMENT_MALUS if fragment else 0.0)


def _cue(asked: Asked, sentence: str) -> float:
    wanted = (
        (asked.wants_amount, _NUMBER),
        (asked.wants_definition, _DEFINES),
        (asked.wants_reason, _BECAUSE),
        (asked.wants_place, _SOMEWHERE),
        (asked.wants_choice, _ADVISES),
    )
    return sum(_CUE_BONUS for wants, cue in wanted if wants and cue.search(sentence))


def _same(one: Candidate, other: Candidate) -> bool:
    """Tell whether two quotes share a stretch of a document, or a sentence that stands in two places."""
    overlaps = (
        one.passage.uri == other.passage.uri and one.start < other.end and other.start < one.end
    )
    return overlaps or one.text == other.text or bool(one.said & other.said)
