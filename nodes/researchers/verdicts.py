"""Whether a sentence rests on the quotes that it cites, judged by its words alone."""

import re
from collections.abc import Sequence

from nodes.material import Verdict
from nodes.researchers.contradictions import conflict, statements

_MARKUP = re.compile(r"[`*_\\]")
_DIGITS = re.compile(r"\d+(?:[.,]\d+)*")
# A word with a capital that begins no sentence.
_NAME = re.compile(r"(?<=[a-z,;] )[A-Z][\w’'-]{2,}")


def judge(sentence: str, quotes: Sequence[str]) -> Verdict:
    """Return SUPPORTED for words that stand in a quote, CONTRADICTED for a quote that says the opposite."""
    wanted = _plain(sentence)
    given = [_plain(quote) for quote in quotes]
    if not wanted or not any(given):
        return Verdict.INSUFFICIENT
    if any(wanted in quote for quote in given) or wanted in " ".join(given):
        return Verdict.SUPPORTED
    said = tuple(statements(wanted))
    against = [there for quote in given for there in statements(quote)]
    if any(conflict(one, other) for one in said for other in against):
        return Verdict.CONTRADICTED
    return Verdict.INSUFFICIENT


def unfounded(sentence: str, quotes: Sequence[str]) -> list[str]:
    """Return the numbers, and the names within a sentence, that stand in none of its quotes."""
    wanted, given = _plain(sentence), " ".join(map(_plain, quotes)).casefold()
    named = [*_DIGITS.findall(wanted), *_NAME.findall(wanted)]
    return [each for each in dict.fromkeys(named) if each.casefold() not in given]


def _plain(text: str) -> str:
    return " ".join(_MARKUP.sub("", text).split())
