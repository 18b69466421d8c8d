"""How words become search terms: the one analysis that index, queries and researcher share.

A term is the English stem of a casefolded word. An identifier (`max_connections`, `str.join`, `Pre-Depends`,
`ThreadPoolExecutor`) stands as a whole and as its parts, so that both ways of asking find it. Words without meaning of
their own are left out. Pure: the same text gives the same terms in every process.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, cast

import Stemmer  # type: ignore[import-not-found]

_WORD = re.compile(r"[^\W_]+(?:[._:\-]+[^\W_]+)*")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z][a-z])")
_SEPARATORS = re.compile(r"[._:\-]+")
_MARKUP = re.compile(r"\\(?=[_*])")
# Scripts written without spaces: two characters are the usual stand-in for a word there.
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]{2,}")
_STEMMER = cast("Any", Stemmer).Stemmer("english")
# Longer runs of word characters are encoded data, which nobody asks for by name.
_WORD_LENGTH_MAX = 64

STOP_WORDS = frozenset(
    re.findall(
        r"\S+",
        """a about above after again against all also am an and any are as at be because been before being below between
    both but by can cannot could d did do does doing don done down during each either else etc few for from further had has
    have having he her here hers him his how i if in into is it its itself just ll m may me might more most must my
    neither no nor not of off on once one only onto or other our out over own per re s same shall she should so some
    such t than that the their them then there these they this those through thus to too under until up upon us ve
    very was we were what when where whether which while who whom whose why will with within without would yet you
    your""",
    )
)


def terms(text: str) -> Iterator[str]:
    """Yield the search terms of a text in order: wholes of identifiers, then their parts."""
    for word in words(text):
        yield from word_terms(word)


@lru_cache(maxsize=200_000)
def word_terms(word: str) -> tuple[str, ...]:
    """Return the terms of one word, the whole first; empty for a word without meaning of its own."""
    if _UNSPACED.fullmatch(word):
        return tuple(word[at : at + 2] for at in range(len(word) - 1))
    whole, parts = _whole(word), _parts(word)
    found = (whole, *(_whole(part) for part in parts)) if parts else (whole,)
    return tuple(dict.fromkeys(term for term in found if term))


def words(text: str) -> Iterator[str]:
    """Yield the words and identifiers of a text as they are written, without markup."""
    for match in _WORD.finditer(_MARKUP.sub("", text)):
        if len(match.group()) <= _WORD_LENGTH_MAX:
            yield match.group()


def is_identifier(word: str) -> bool:
    """Tell whether a word is a name from code or a product: it has digits, underscores, dots or inner capitals."""
    letters = word.strip("._:-")
    inner_capital = any(letter.isupper() for letter in letters[1:])
    return (
        "_" in letters or "." in letters or "::" in letters or inner_capital or _has_both(letters)
    )


def _has_both(word: str) -> bool:
    return any(c.isdigit() for c in word) and any(c.isalpha() for c in word)


def _parts(word: str) -> list[str]:
    pieces = [piece for piece in _SEPARATORS.split(word) if piece]
    camel = [part for piece in pieces for part in _CAMEL.split(piece)]
    parts = camel if len(camel) > 1 else []
    return [part for part in parts if len(part) > 1 and not part.isdigit()]


@lru_cache(maxsize=200_000)
def _whole(word: str) -> str:
    folded = word.casefold()
    if folded in STOP_WORDS:
        return ""
    return str(_STEMMER.stemWord(folded)) if folded.isalpha() else folded
