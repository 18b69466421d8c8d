"""Sentences that say the same thing with another number, or with and without a "not".

Precision before recall: only sentences that are otherwise the same word for word are paired, because parallel sentences
about different things (versions, functions, table rows) are what documentation is made of.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from nodes.material import Claim, Disagreement
from nodes.tools.sentences import sentences

# Shorter sentences ("The default is 3.") do not say what they are about.
_WORDS_MIN = 7
# Small numbers are written out. "One" is left out: it is a pronoun as often as a number.
_NUMBER = re.compile(
    r"(?<![\w.])\d[\d,]*(?:\.\d+)*(?![\w])"
    r"|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|sixty|ninety|hundred)\b",
    re.IGNORECASE,
)
_NEGATION = re.compile(r"\b(?:not|never|cannot|no longer)\b|n['’]t\b", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d]\w*")
# Two numbers in sentences about two versions, steps or places do not contradict each other.
_TELLS_WHEN = re.compile(
    r"\b(?:versions?|releases?|since|prior|until|before|after|changed in|new in|deprecated|step|section|chapter|table"
    r"|figure|example|page|level)\b|\|",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence without its numbers and negations, and these."""

    text: str
    skeleton: tuple[str, ...]
    numbers: tuple[str, ...]
    is_negated: bool


def disagreeing(claims: Sequence[Claim]) -> tuple[Disagreement, ...]:
    """Return the pairs of claims with statements that cannot both hold, in the order of the claims."""
    stated = [(claim, tuple(statements(claim.text))) for claim in claims]
    found: list[Disagreement] = []
    for (one, ones), (other, others) in combinations(stated, 2):
        if one.finding_id == other.finding_id or set(one.evidence_ids) & set(other.evidence_ids):
            continue
        reason = next((r for a in ones for b in others if (r := conflict(a, b))), None)
        if reason:
            found.append(Disagreement((one.finding_id, other.finding_id), reason))
    return tuple(found)


def statements(text: str) -> Iterator[Statement]:
    """Yield the sentences of a text that are long enough to stand for themselves and tied to no version."""
    for start, end in sentences(text, 0, len(text)):
        sentence = text[start:end]
        bare = _NEGATION.sub(" ", _NUMBER.sub(" ", sentence)).casefold()
        skeleton = tuple(_WORD.findall(bare))
        if len(skeleton) >= _WORDS_MIN and not _TELLS_WHEN.search(sentence):
            negated = len(_NEGATION.findall(sentence)) % 2 == 1
            yield Statement(sentence, skeleton, tuple(_NUMBER.findall(sentence)), negated)


def conflict(one: Statement, other: Statement) -> str | None:
    """Say why two statements cannot both hold, or return None."""
    if without_do(one.skeleton) != without_do(other.skeleton):
        return None
    if one.is_negated != other.is_negated:
        return f"one says it and the other denies it: “{one.text}” and “{other.text}”"
    if len(one.numbers) == len(other.numbers) and one.numbers != other.numbers:
        return f"the numbers differ: “{one.text}” and “{other.text}”"
    return None


def without_do(skeleton: Sequence[str]) -> tuple[str, ...]:
    """Drop what English adds in order to deny ("does not allow") from a skeleton, and the endings of verbs."""
    return tuple(word.rstrip("s") for word in skeleton if word not in {"do", "does", "did"})
