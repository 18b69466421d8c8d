"""What a question asks about, taken from its words alone: keywords, names and the kind of answer it wants.

Weights come from how rare a term is in what was searched. Words that people use to ask with (use, want, make, happen)
say little about the subject and count less, wherever they occur.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from nodes.tools.terms import is_identifier, word_terms, words

# How much an asking word counts next to a word of the subject.
_ASKING_FACTOR = 0.3
# A term whose rarity the tool cannot know counts as neither common nor rare.
_RARITY_UNKNOWN = 0.5
# Below this a corpus is so small that rarity says little; all words of the subject count alike.
_RARITY_MIN = 0.15
# A name matched by its parts only may be another name made of the same words.
_PARTS_MATCH = 0.5

_ASKING_WORDS = frozenset(
    term
    for word in re.findall(
        r"\w+",
        """actually allow allowed answer anything ask available avoid bad become best better big care case cause
    change come correct decide describe detail difference different differ difficult easy effect ever example exactly
    exist explain fail find fine follow following get give given go good great handle happen happens hard help idea important
    instead keep kind know large like list little long look lot make many mean means method much name necessary need
    new normally often old option ordinary please point possible precisely problem proper purpose put question
    reason recommend relate require right rule safe say see select set should show simple small somebody someone something start
    stop suppose supposed sure take tell thing time try type typical understand unless use usual usually value want way
    work wrong write""",
    )
    for term in word_terms(word)
)
# Asking words that are the subject where a question has no other: "What is a list?"
_SUBJECTS_AT_NEED = frozenset(
    term
    for word in re.findall(r"\w+", "case example list method name option rule set time type value")
    for term in word_terms(word)
)
_AMOUNT = re.compile(
    r"\b(?:how (?:many|much|long|big|large|often|old|far|high|small|wide|deep|fast)|what (?:is|are) the (?:default|maximum|minimum|size|limit|length|number)"
    r"|maximum|minimum|limit|which (?:port|version|number))\b",
    re.IGNORECASE,
)
# What is counted in "how many worker threads does …": the words up to the verb.
_COUNTED = re.compile(
    r"\bhow (?:many|much) ((?:(?!(?:do|does|did|is|are|was|were|can|may|will|would|should|must|has|have)\b)\w+\W+){1,4})",
    re.IGNORECASE,
)
_DEFINITION = re.compile(r"^\s*(?:what(?:'s|’s| is| are)|define|who is)\b", re.IGNORECASE)
_PLACE = re.compile(r"\b(?:where|which (?:directory|file|folder))\b", re.IGNORECASE)
_CHOICE = re.compile(
    r"\bshould\b|\bor\b.*\?|\b(?:best|better|prefer\w*|recommend\w*)\b", re.IGNORECASE
)
_REASON = re.compile(r"\bwhy\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Keyword:
    """One word of a question: its terms (the whole first), and what kind of word it is."""

    word: str
    terms: tuple[str, ...]
    is_name: bool
    is_asking: bool

    def weight(self, rarity: Mapping[str, float]) -> float:
        """Return how much the question hangs on this word, 0..1."""
        known = max(rarity.get(self.terms[0], _RARITY_UNKNOWN), _RARITY_MIN)
        return known * (_ASKING_FACTOR if self.is_asking else 1.0)

    def match(self, there: Collection[str], rarity: Mapping[str, float]) -> float:
        """Return 1.0 if the word is among the terms, less if only all of its parts are, else 0.0.

        The parts of a name that the corpus does not hold are other names.
        """
        if self.terms[0] in there:
            return 1.0
        parts = self.terms[1:]
        is_unknown_name = self.is_name and rarity.get(self.terms[0], 0.0) >= 1.0
        if parts and not is_unknown_name and all(part in there for part in parts):
            return _PARTS_MATCH
        return 0.0


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as its keywords and the kinds of answer that it wants."""

    keywords: tuple[Keyword, ...]
    #: The terms of what is counted, in a question how much or how many.
    counted: frozenset[str]
    wants_amount: bool
    wants_definition: bool
    wants_reason: bool
    wants_place: bool
    wants_choice: bool

    def coverage(self, there: Collection[str], rarity: Mapping[str, float]) -> float:
        """Return the share of the question's weight whose words are among the terms, 0..1."""
        weights = [keyword.weight(rarity) for keyword in self.keywords]
        total = sum(weights)
        if not total:
            return 0.0
        return (
            sum(w * k.match(there, rarity) for w, k in zip(weights, self.keywords, strict=True))
            / total
        )

    def subjects_met(self, there: Collection[str], rarity: Mapping[str, float]) -> float:
        """Return the share of the words of the subject that are among the terms, 0..1; 0 if it has none."""
        subjects = [keyword for keyword in self.keywords if not keyword.is_asking]
        if not subjects:
            return 0.0
        return sum(keyword.match(there, rarity) for keyword in subjects) / len(subjects)

    def counts(self, there: Collection[str]) -> bool:
        """Tell whether what the question counts is named among the terms, where it counts anything."""
        return not self.counted or not self.counted.isdisjoint(there)

    def nearness(self, there: Sequence[str], words_max: int) -> float:
        """Return the share of neighbours in the question that are at most `words_max` terms apart, 0..1."""
        pairs = [(one.terms[0], two.terms[0]) for one, two in pairwise(self.keywords)]
        if not pairs:
            return 0.0
        places: dict[str, list[int]] = {}
        for at, term in enumerate(there):
            places.setdefault(term, []).append(at)
        return sum(_meet(places.get(a, ()), places.get(b, ()), words_max) for a, b in pairs) / len(
            pairs
        )


def _meet(ones: Sequence[int], others: Sequence[int], words_max: int) -> bool:
    return any(abs(one - other) <= words_max for one in ones for other in others)


def read_question(question: str) -> Asked:
    """Take a question apart; a question without a word of its own has no keywords."""
    found: dict[str, Keyword] = {}
    for position, word in enumerate(words(question)):
        own = word_terms(word)
        if not own:
            continue
        is_name = is_identifier(word) or (position > 0 and word[0].isupper())
        asking = own[0] in _ASKING_WORDS and not is_name
        found.setdefault(own[0], Keyword(word, own, is_name, asking))
    return Asked(
        _with_subject(tuple(found.values())),
        counted=_counted(question),
        wants_amount=_AMOUNT.search(question) is not None,
        wants_definition=_DEFINITION.search(question) is not None,
        wants_reason=_REASON.search(question) is not None,
        wants_place=_PLACE.search(question) is not None,
        wants_choice=_CHOICE.search(question) is not None,
    )


def _counted(question: str) -> frozenset[str]:
    """Return the terms of what is counted; the words people ask with are nothing to count."""
    match = _COUNTED.search(question)
    named = (word_terms(word) for word in words(match[1])) if match else ()
    return frozenset(own[0] for own in named if own and own[0] not in _ASKING_WORDS)


def _with_subject(keywords: tuple[Keyword, ...]) -> tuple[Keyword, ...]:
    if any(not keyword.is_asking for keyword in keywords):
        return keywords
    return tuple(
        replace(keyword, is_asking=keyword.terms[0] not in _SUBJECTS_AT_NEED)
        for keyword in keywords
    )
