"""Which sentences of the material answer a question, or that none does. No language model: coverage of words.

A word of the question weighs what its rarity in the corpus is. A sentence is judged by the share of that weight found
in the sentence itself, in its surroundings (the sentences beside it and the headings above), and in the passage; a
sentence that holds the kind of thing asked for (a number, a definition, a reason) gets a little more. A question counts
as answered only where one place covers most of its weight: words that never meet in one place do not answer it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nodes.material import Passage
from nodes.researchers.keywords import Asked
from nodes.tools.sentences import sentences
from nodes.tools.structure import Kind, blocks
from nodes.tools.terms import terms

# Share of the question's weight that one place must cover.
COVERAGE_MIN = 0.62
# The sentence counts most, then what stands around it, then the passage; the rest is the search's own opinion.
_SENTENCE_SHARE = 0.40
_AROUND_SHARE = 0.30
_PASSAGE_SHARE = 0.15
_SEARCH_SHARE = 0.15
_CUE_BONUS = 0.10
# A quote of two sentences at most, and never a page of table.
QUOTE_LENGTH_MAX = 700

_NUMBER = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|zero|twice|unlimited|none)\b", re.IGNORECASE
)
_DEFINES = re.compile(r"^\W*(?:\w+\W+){0,6}?(?:is|are|means|refers|denotes|provides|defines|lets|allows)\b", re.IGNORECASE)
_BECAUSE = re.compile(r"\b(?:because|since|therefore|so that|otherwise|reason|due to|to avoid|to prevent|hence)\b", re.IGNORECASE)
_LEANS_BACK = re.compile(r"^[\"'(`*]*(?:This|That|These|Those|It|Its|They|The default|Such|Otherwise|However|Hence|Therefore)\b")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence in its place: positions in the document's text, score, and how much its surroundings cover."""

    text_artifact: str
    uri: str
    start: int
    end: int
    text: str
    score: float
    coverage: float


@dataclass(frozen=True, slots=True)
class _Sentence:
    start: int
    end: int
    terms: frozenset[str]
    is_code: bool


def best_sentences(
    asked: Asked, passages: Sequence[Passage], rarity: Mapping[str, float], limit: int
) -> tuple[Candidate, ...]:
    """Return the sentences that answer, best first; none where the passages do not answer the question."""
    found = [c for passage in passages for c in _candidates(asked, passage, rarity)]
    if not found or max(candidate.coverage for candidate in found) < COVERAGE_MIN:
        return ()
    found.sort(key=lambda c: (-c.score, c.uri, c.start))
    chosen: list[Candidate] = []
    for candidate in found:
        if len(chosen) == limit:
            break
        if candidate.coverage >= COVERAGE_MIN * 0.8 and not any(_same(candidate, c) for c in chosen):
            chosen.append(candidate)
    return tuple(chosen)


def _candidates(asked: Asked, passage: Passage, rarity: Mapping[str, float]) -> list[Candidate]:
    title = frozenset(terms(passage.title))
    parts = _sentences(passage.text)
    whole = title.union(*(part.terms for part in parts))
    passage_coverage = asked.coverage(whole, rarity)
    found: list[Candidate] = []
    for at, part in enumerate(parts):
        beside = parts[max(at - 1, 0) : at + 2]
        around = asked.coverage(title.union(*(near.terms for near in beside)), rarity)
        score = (
            _SENTENCE_SHARE * asked.coverage(part.terms, rarity)
            + _AROUND_SHARE * around
            + _PASSAGE_SHARE * passage_coverage
            + _SEARCH_SHARE * passage.score
            + _cue(asked, passage.text[part.start : part.end])
            - (_CUE_BONUS if part.is_code else 0.0)
        )
        end = _with_next(passage.text, parts, at)
        found.append(
            Candidate(
                text_artifact=passage.text_artifact,
                uri=passage.uri,
                start=passage.start + part.start,
                end=passage.start + end,
                text=" ".join(passage.text[part.start : end].split()),
                score=score,
                coverage=around,
            )
        )
    return found


def _sentences(text: str) -> list[_Sentence]:
    found: list[_Sentence] = []
    for block in blocks(text):
        if block.kind is Kind.HEADING:
            continue
        for start, end in sentences(text, block.start, block.end):
            end = min(end, start + QUOTE_LENGTH_MAX)
            piece = text[start:end]
            found.append(_Sentence(start, end, frozenset(terms(piece)), block.kind is Kind.CODE))
    return found


def _cue(asked: Asked, sentence: str) -> float:
    wanted = (
        (asked.wants_amount, _NUMBER),
        (asked.wants_definition, _DEFINES),
        (asked.wants_reason, _BECAUSE),
    )
    return sum(_CUE_BONUS for wants, cue in wanted if wants and cue.search(sentence))


def _with_next(text: str, parts: Sequence[_Sentence], at: int) -> int:
    """Return where a quote of this sentence ends: after the next one if that leans on it."""
    part = parts[at]
    if at + 1 == len(parts):
        return part.end
    after = parts[at + 1]
    fits = after.end - part.start <= QUOTE_LENGTH_MAX
    leans = _LEANS_BACK.match(text[after.start : after.end]) is not None
    return after.end if fits and leans else part.end


def _same(one: Candidate, other: Candidate) -> bool:
    overlaps = one.uri == other.uri and one.start < other.end and other.start < one.end
    return overlaps or one.text == other.text
