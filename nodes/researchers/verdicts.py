"""Whether a sentence rests on the quotes that it cites, judged by its words alone."""

import re
from collections.abc import Sequence

from nodes.material import Verdict
from nodes.researchers.contradictions import conflict, statements

_MARKUP = re.compile(r"[`*_\\]")


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


def _plain(text: str) -> str:
    return " ".join(_MARKUP.sub("", text).split())
