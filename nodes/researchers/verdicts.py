"""Whether a sentence rests on the quotes that it cites, judged by its words alone."""

import re
from collections.abc import Iterator, Sequence

from nodes.material import Verdict
from nodes.researchers.contradictions import conflict, statements
from nodes.researchers.standing import Quoted, plain, quoted, stands
from nodes.tools.sentences import sentences

_WORD = re.compile(r"\w")
# "1,000" is one number, and "1,2" are two, as is a comma between decimals: each of the two has to be there.
_NUMBER = re.compile(
    r"(?:(?<![\w)-])-)?(?<![\d.])(?:\d{1,3}(?:,\d{3})+(?![\d,])(?:\.\d+)*|\d+(?:\.\d+)*)"
)
_NAME = re.compile(r"[^\W\d_]\w+(?:'\w+)*")
# What a capital after it says nothing: it begins a sentence, a heading or what somebody said.
_BEGINS = re.compile(r"(?:^|[.!?:;…\"]|[.!?:]\s*\(|^\()\s*$")
# A word that speaks of the sentence before it.
_REFERS = re.compile(
    r"(?:it|its|they|them|their|this|these|that|those|he|she|his|her|such|both|then|here|also|so|thus|hence|therefore"
    r"|otherwise|however|but|instead)\b",
    re.IGNORECASE,
)


def judge(sentence: str, quotes: Sequence[str]) -> Verdict:
    """Return SUPPORTED for words that a quote says by themselves, CONTRADICTED where one says the opposite."""
    wanted = plain(sentence)
    given = [quote for each in quotes if (quote := quoted(each)).text]
    if not _WORD.search(wanted) or not given:
        return Verdict.INSUFFICIENT
    if _are_said(wanted, given):
        return Verdict.SUPPORTED
    said = tuple(statements(wanted))
    against = [there for quote in given for there in statements(quote.text)]
    if any(conflict(one, other) for one in said for other in against):
        return Verdict.CONTRADICTED
    return Verdict.INSUFFICIENT


def unfounded(sentence: str, quotes: Sequence[str]) -> list[str]:
    """Return the numbers, and the names within a sentence, that stand in none of its quotes."""
    wanted, given = plain(sentence), [plain(quote) for quote in quotes]
    numbers = {_value(each) for quote in given for each in _NUMBER.findall(quote)}
    words = {_base(each) for quote in given for each in _NAME.findall(quote)}
    missing = [each for each in _NUMBER.findall(wanted) if _value(each) not in numbers]
    missing += [each for each in _names(wanted) if _base(each) not in words]
    return list(dict.fromkeys(missing))


def _are_said(wanted: str, given: Sequence[Quoted]) -> bool:
    """Tell whether the quotes say these sentences; one that speaks of another has to follow it in a quote too."""
    run = ""
    for start, end in sentences(wanted, 0, len(wanted)):
        piece = wanted[start:end]
        longer = f"{run} {piece}" if run else piece
        if any(stands(longer, quote) for quote in given):
            run = longer
        elif run and not _REFERS.match(piece) and any(stands(piece, quote) for quote in given):
            run = piece
        else:
            return False
    return bool(run)


def _names(wanted: str) -> Iterator[str]:
    for found in _NAME.finditer(wanted):
        if found[0][0].isupper() and not _BEGINS.search(wanted[: found.start()]):
            yield found[0]


def _value(number: str) -> str:
    """Return a number as it is written without separators and leading zeros."""
    sign, digits = ("-", number[1:]) if number.startswith("-") else ("", number)
    return sign + (digits.replace(",", "").lstrip("0") or "0")


def _base(name: str) -> str:
    """Return a name without its case and the endings of English."""
    return name.casefold().removesuffix("'s").rstrip("s'")
