"""Sentences of real documents with their quotes, and ways to make them untrue: each a pure function of the sentence."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from uuid import UUID

from ledger.evidence import Evidence, Position, cut
from nodes.anchoring import anchor
from nodes.tools.corpus_files import PYDOC_TOPICS, find
from nodes.tools.extract import extract
from nodes.tools.sentences import sentences
from nodes.tools.structure import Kind, blocks

RUN = UUID(int=1)
WORDS_MIN, CHARACTERS_MAX = 8, 400
_NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.]*\w)")
_IN_WORDS = {"one": "two", "two": "three", "three": "four", "four": "seven", "first": "third"}
_VERB = re.compile(r"\b(?:is|are|was|can|may|must|should|will|does|has been)\b(?! not)")
_NAMED = re.compile(r"(?<=[a-z,] )(?:[A-Z]\w{2,}|\w+\(\)|\w+_\w+)")
_MATTERS = re.compile(
    r"\b(?:not|only|never|always|must|cannot|unless|without|except|if|may|no|usually) ",
    re.IGNORECASE,
)
_UNITS = {
    "byte": "bit", "bytes": "kilobytes", "bits": "bytes", "character": "line", "characters": "lines",
    "seconds": "hours", "line": "page", "lines": "pages", "digits": "letters", "items": "pages",
    "arguments": "modules", "integer": "string", "integers": "strings", "percent": "per mille",
}  # fmt: skip
_OPPOSITES = {
    "before": "after", "after": "before", "true": "false", "false": "true", "left": "right", "right": "left",
    "all": "some", "any": "no", "always": "sometimes", "first": "last", "last": "first", "less": "greater",
    "greater": "less", "optional": "required", "same": "opposite", "immutable": "mutable", "mutable": "immutable",
    "equal": "unequal", "raised": "ignored", "and": "or", "or": "and", "new": "old", "empty": "full",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a document, the evidence cut there, and the document's text."""

    text: str
    evidence: Evidence
    document: str

    @property
    def quote(self) -> str:
        """The exact words, with their line breaks and markup."""
        return self.evidence.exact


@dataclass(frozen=True, slots=True)
class Case:
    """What is to be checked: a sentence and the quotes that it cites."""

    kind: str
    sentence: str
    quotes: tuple[str, ...]


def real_sentences(every: int) -> list[Sentence]:
    """Return each so-manieth sentence of the language reference that Python has inside; no two say the same."""
    found = {each.text: each for each in chain.from_iterable(map(_sentences, _documents()))}
    return list(found.values())[::every]


def _documents() -> Iterator[str]:
    for document in find([PYDOC_TOPICS])[0]:
        yield extract(*document.read()).text


def _sentences(text: str) -> Iterator[Sentence]:
    for block in blocks(text):
        if block.kind in {Kind.HEADING, Kind.CODE}:
            continue
        for start, end in sentences(text, block.start, block.end):
            said = " ".join(text[start:end].split())
            is_long = len(said.split()) >= WORDS_MIN and end - start <= CHARACTERS_MAX
            if is_long and said[0].isupper() and said.endswith("."):
                yield Sentence(said, cut(text, RUN, Position("s", "t", start, end)), text)


def untrue(every: Sequence[Sentence], most: int) -> list[Case]:
    """Return at most so many cases of each kind, none of which its quotes support."""
    words = [_spoilt(kind, each) for kind in _SPOILERS for each in every]
    quotes = [case for at, each in enumerate(every) for case in _other_quotes(at, each, every)]
    by_kind: dict[str, list[Case]] = {}
    for case in chain(words, quotes):
        if case is not None:
            by_kind.setdefault(case.kind, []).append(case)
    return [
        case for cases in by_kind.values() for case in cases[:: max(1, len(cases) // most)][:most]
    ]


def honest(every: Sequence[Sentence]) -> list[Case]:
    """Return what its quotes support: word for word, with other white space and without markup."""
    found: list[Case] = []
    for at, each in enumerate(every):
        other = every[at - 1]
        found += [
            Case("word for word", each.text, (each.quote,)),
            Case("other line breaks", each.text.replace(" ", "\n   "), (each.quote,)),
            Case(
                "markup left out",
                re.sub(r"(?<!\w)\*(\w+)\*(?!\w)", r"\1", each.text),
                (each.quote,),
            ),
            Case("markup added", each.text, (re.sub(r"\b([a-z]{5,})\b", r"`\1`", each.quote),)),
            Case("without its full stop", each.text[:-1], (each.quote,)),
            Case("one of two quotes", each.text, (other.quote, each.quote)),
            Case("one sentence of a longer quote", each.text, (f"{other.text} {each.text}",)),
        ]
        if not _REFERS.match(other.text):
            found.append(
                Case("two together", f"{each.text} {other.text}", (each.quote, other.quote))
            )
    return found


# A sentence that speaks of the one before it says something else beside another.
_REFERS = re.compile(
    r"(?:It|Its|The(?:y|m|n|se|ir)|Th[aiuo]\w*|So|Such|He\w*|His|How\w+|Both|Also|Otherwise|But|Instead)\b"
)


def spoilt(text: str) -> list[str]:
    """Return the words of a sentence spoilt in each of the ways that it allows."""
    found = [spoil(text) for spoil in _SPOILERS.values()]
    return list(dict.fromkeys(each for each in found if each is not None and each != text))


def _spoilt(kind: str, each: Sentence) -> Case | None:
    text = _SPOILERS[kind](each.text)
    return None if text is None or text == each.text else Case(kind, text, (each.quote,))


def _other_number(text: str) -> str | None:
    if found := _NUMBER.search(text):
        return f"{text[: found.start()]}{int(found[0]) + 1}{text[found.end() :]}"
    return _swapped(_IN_WORDS, text)


def _shorter_number(text: str) -> str | None:
    found = re.search(r"\d(?=\d)|(?<=\d)\.\d+", text)
    return found and text[: found.start()] + text[found.end() :]


def _negated(text: str) -> str | None:
    found = _VERB.search(text)
    return found and f"{text[: found.end()]} not{text[found.end() :]}"


def _renamed(text: str) -> str | None:
    found = _NAMED.search(text)
    return found and f"{text[: found.start()]}Zanzibar{text[found.end() :]}"


def _dropped(text: str) -> str | None:
    found = _MATTERS.search(text)
    if found is None:
        return None
    rest = text[: found.start()] + text[found.end() :]
    return rest[0].upper() + rest[1:]


def _without_condition(text: str) -> str | None:
    found = re.search(r",? (?:if|unless|except|when|only|until) [^.]*", text)
    return found and text[: found.start()] + text[found.end() :]


def _swapped(pairs: Mapping[str, str], text: str) -> str | None:
    found = re.search(rf"\b(?:{'|'.join(pairs)})\b", text)
    return found and text[: found.start()] + pairs[found[0]] + text[found.end() :]


def _turned(text: str) -> str | None:
    """Let the two sides of a comparison or condition change places."""
    found = re.fullmatch(r"(.{12,}?) (is|are|if|when|than) (.{12,})\.", text)
    return (
        found
        and f"{found[3][0].upper()}{found[3][1:]} {found[2]} {found[1][0].lower()}{found[1][1:]}."
    )


def _first_half(text: str) -> str:
    return text[: text.index(" ", len(text) // 2)] + "."


def _second_half(text: str) -> str:
    rest = text[text.index(" ", len(text) // 2) + 1 :]
    return rest[0].upper() + rest[1:]


_SPOILERS: Mapping[str, Callable[[str], str | None]] = {
    "number changed": _other_number,
    "number cut short": _shorter_number,
    "negated": _negated,
    "name replaced": _renamed,
    "unit replaced": partial(_swapped, _UNITS),
    "opposite word": partial(_swapped, _OPPOSITES),
    "word that matters dropped": _dropped,
    "condition dropped": _without_condition,
    "sides turned": _turned,
    "second half only": _second_half,
    "first half only": _first_half,
}


def _other_quotes(at: int, each: Sentence, every: Sequence[Sentence]) -> Iterator[Case]:
    """Yield the sentence as it is, with quotes that do not say it (any more)."""
    other = every[(at + 1) % len(every)]
    said = each.text[0].lower() + each.text[1:-1]
    half, rest = each.text[: len(each.text) // 2], other.text[len(other.text) // 2 :]
    yield Case("source swapped", each.text, (other.quote,))
    yield Case("two sentences spliced", half + rest, (each.quote, other.quote))
    yield Case("no source", each.text, ())
    yield Case("denied by its quote", each.text, (f"It is not true that {said}.",))
    yield Case("denied before it", each.text, (f"The following is wrong. {each.text}",))
    yield Case("denied after it", each.text, (f"{each.text} This is not the case.",))
    yield Case("told as hearsay", each.text, (f"Some have claimed that {said}.",))
    yield Case("under a condition", each.text, (f"If the flag is set, {said}.",))
    yield Case("with an exception", each.text, (f"{each.text[:-1]}; this holds only on Windows.",))
    yield Case("page deleted", each.text, _now(each, ""))
    yield Case("sentence deleted", each.text, _now(each, _edited(each, "")))
    changed = _negated(each.text) or _other_number(each.text) or _swapped(_OPPOSITES, each.text)
    if changed:
        yield Case("page changed", each.text, _now(each, _edited(each, changed)))


def _edited(each: Sentence, words: str) -> str:
    start, end = each.evidence.start, each.evidence.end
    return each.document[:start] + words + each.document[end:]


def _now(each: Sentence, newer: str) -> tuple[str, ...]:
    """Return the quotes as they stand in another edition of the page: none where they are gone."""
    found = anchor(each.evidence, newer)
    return () if found.state == "gone" else (newer[found.start : found.end],)
