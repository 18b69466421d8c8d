"""A report's text that a person edited: split at its citations, checked again, and marked where code cannot vouch for it.

A stretch of text that ends with citations is judged against their quotes, and marked where they do not support it. Words
without a citation that were not in the text before are marked as added, with who added them. Numbers are given anew.
"""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from nodes.material import Verdict
from nodes.options import BadInput
from nodes.report import CITATIONS, escaped, unescaped
from nodes.screening import CITED
from nodes.tools.sentences import sentences

_ENDS = re.compile(r"(?P<cited>(?:\s?(?<!\\)\[\d{1,6}\])+)|(?P<added>\s?\*\(added by [^()]*\)\*)")
_DOUBTED = re.compile(r"\s?\*\(the quotes do not support this: [a-z-]+\)\*")
_MARGIN = re.compile(r"^\s*(?:(?:[-*+>]|\d+\.|#{1,6})\s+)*")
_WORD = re.compile(r"\w")
_NO_TEXT = re.compile("[\x00\ud800-\udfff]")

#: Judges a sentence by the evidence that it cites.
Judge = Callable[[str, Sequence[str]], Awaitable[Verdict]]


@dataclass(frozen=True, slots=True)
class Base:
    """What a text is a revision of: the text before, what its numbers stand for, and what may still be cited."""

    text: str
    citations: Sequence[str]
    citable: frozenset[str]


@dataclass
class _Written:
    numbers: dict[str, int] = field(default_factory=dict[str, int])
    doubted: int = 0
    added: int = 0
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Revised:
    """The text without its list of citations, the number of each cited evidence, and how much was marked or left out."""

    text: str
    numbers: Mapping[str, int]
    doubted: int
    added: int
    left_out: int


def body_of(text: str) -> str:
    """Return a report without its list of citations, which is code's to write."""
    lines = text.splitlines()
    end = next((at for at, line in enumerate(lines) if line.strip() == CITATIONS), len(lines))
    return "\n".join(lines[:end]).rstrip()


def check_text(text: str, citations: int) -> None:
    """Raise BadInput for a text that cites a number which the report does not have, or that is no text."""
    if found := _NO_TEXT.search(text):
        raise BadInput(f"the edited text has a character that is no text at {found.start()}")
    if [line.strip() for line in text.splitlines()].count(CITATIONS) > 1:
        raise BadInput(
            f"the edited text has the heading {CITATIONS!r} twice; what follows it is written by code, so call yours"
            " something else"
        )
    numbers = {int(number) for number in CITED.findall(body_of(text))}
    unknown = sorted(number for number in numbers if not 0 < number <= citations)
    if unknown:
        named = ", ".join(f"[{number}]" for number in unknown[:5])
        raise BadInput(
            f"the edited text cites {named}, and the report has the citations 1 to {citations};"
            r" brackets that are no citation are written \[like this\]"
        )


async def revise_text(text: str, base: Base, who: str, judge: Judge) -> Revised:
    """Return an edited text with its sentences checked and marked; what rests on evidence that fell is left out."""
    known = {chunk for line in body_of(base.text).splitlines() for chunk in _chunks(line)}
    there = frozenset(each for words, _ in known for each in _sentences(words))
    written = _Written()
    lines: list[str] = []
    for line in body_of(text).splitlines():
        parts = [
            await _part(
                words, end, (words, end) in known, there, _Revision(base, who, judge), written
            )
            for words, end in _chunks(line)
        ]
        revised = "".join(parts)
        if not line.strip() or _WORD.search(revised):
            lines.append(revised)
    return Revised(
        "\n".join(lines), written.numbers, written.doubted, written.added, written.left_out
    )


def _chunks(line: str) -> list[tuple[str, str]]:
    """Split a line into stretches of words, each with the citations or the mark that end it, or with nothing."""
    bare = _DOUBTED.sub("", line)
    found: list[tuple[str, str]] = []
    begin = 0
    for match in _ENDS.finditer(bare):
        found.append((bare[begin : match.start()], match[0]))
        begin = match.end()
    return [*found, (bare[begin:], "")] if bare[begin:] or not found else found


@dataclass(frozen=True, slots=True)
class _Revision:
    """What all parts of an edited text are held against."""

    base: Base
    who: str
    judge: Judge


async def _part(
    words: str,
    end: str,
    known: bool,
    there: frozenset[str],
    revision: _Revision,
    written: _Written,
) -> str:
    base, who = revision.base, revision.who
    if not (numbers := CITED.findall(end)):
        if known or not _WORD.search(words):
            return words + end
        written.added += 1
        return f"{words.rstrip()} {_added(who)}"
    cited = list(dict.fromkeys(base.citations[int(number) - 1] for number in numbers))
    if not set(cited) <= base.citable:
        written.left_out += 1
        return ""
    before, sentence = ("", words) if known else _last_sentence(words)
    # A sentence that was there before is nobody's addition, though the one after it was changed.
    if not there.issuperset(_sentences(before)):
        written.added += 1
        before = f"{before.rstrip()} {_added(who)} "
    margin = "" if before.strip() else (_MARGIN.match(sentence) or [""])[0]
    verdict = await revision.judge(unescaped(sentence[len(margin) :].strip()), cited)
    marks = "".join(
        f"[{written.numbers.setdefault(name, len(written.numbers) + 1)}]" for name in cited
    )
    if verdict is Verdict.SUPPORTED:
        return f"{before}{sentence.rstrip()} {marks}"
    written.doubted += 1
    return (
        f"{before}{sentence.rstrip()} {marks} *(the quotes do not support this: {verdict.value})*"
    )


def _sentences(words: str) -> list[str]:
    """Return the sentences of a stretch of words, without what a line begins with."""
    margin = len((_MARGIN.match(words) or [""])[0])
    found = [words[begin:end].strip() for begin, end in sentences(words, margin, len(words))]
    return [each for each in found if _WORD.search(each)]


def _added(who: str) -> str:
    return f"*(added by {escaped(re.sub('[()]', ' ', who)).strip()})*"


def _last_sentence(words: str) -> tuple[str, str]:
    """Split what stands before a citation into what the citation does not cover, and the sentence that it does."""
    margin = len((_MARGIN.match(words) or [""])[0])
    found = list(sentences(words, margin, len(words)))
    if len(found) < 2:  # noqa: PLR2004  # one sentence
        return "", words
    return words[: found[-1][0]], words[found[-1][0] :]
