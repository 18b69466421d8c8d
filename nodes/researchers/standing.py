"""Whether the words of a sentence stand in a quote in such a way that leaving out what stands around them changes nothing.

A part of a quote supports itself only where it is whole sentences of it, or what a semicolon parts from the rest and the rest
neither denies nor limits: "A is sown in May" stands in "It is not true that A is sown in May", and is not what that says.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from nodes.tools.sentences import sentences

# Ways to write one sign, and signs that nobody sees; what is left out of the words is mapped to None.
_SAME = str.maketrans(
    "“”„«»‘’‚–—−‐‑",
    '"""""\'\'\'-----',
    "`\u00ad\u200b\u2060\ufeff",
)
_ESCAPED = re.compile(r"\\([\\*_\[\]<>#|])|\\ ")
# Emphasis stands around words: `*args` and `__init__` are names, `2 * 3 * 4` is a product, and "*" is a sign.
_EMPHASIS = re.compile(
    r"(?<![\w*])(?:(\*{1,3})(?=\w)([^*\"]+)(?<=[\w.!?)])\1(?![\w*])|_(?=[^\W_])([^_\"]+)(?<=[\w.!?)])_(?!\w))"
)
_PARAGRAPH = re.compile(r"\n\s*\n")
_END = re.compile(r"[\s.!?…;:,\"')\]]*$")
# What may stand before the first word and after the last one of a sentence: quotation marks, brackets, bullets, full stops.
_LEAD = re.compile(r"(?:[-•*+]\s+|\d+[.)]\s+)?[\"'(\[]*")
_TAIL = re.compile(r"[.!?…;:,\"')\]\s]*")
_LIMITS = re.compile(
    r"\b(?:not|never|no|none|nor|neither|nothing|nobody|cannot|without|unless|if|only|except|when|whenever|until|till|while"
    r"|although|though|but|however|instead|unlike|contrary|rarely|seldom|hardly|barely|scarcely|may|might|could|would|perhaps"
    r"|allegedly|supposedly|reportedly|according|claim(?:s|ed)?|said|believed?|thought|assum\w+|suppos\w+|pretend\w*"
    r"|provided|as long as|in case|false|untrue|wrong|incorrect|myth|mistake\w*|misconception|error|lie|den(?:y|ies|ied)"
    r"|refut\w+|disprov\w+|doubt\w*|fails?|either|before|after|since|formerly|previously|deprecated|obsolete)\b|n't\b",
    re.IGNORECASE,
)
_CONDITIONS = re.compile(
    r"\b(?:if|unless|only|when|whenever|until|till|except|provided|as long as|in case|either)\b|:",
    re.IGNORECASE,
)
_UNTRUTH = (
    r"(?:untrue|not true|not so|not the case|(?:an? )?(?:\w+ )?(?:myth|misconception|mistake))"
)
_DENIED_BEFORE = re.compile(
    rf"\b(?:the following|what follows)(?: \w+)? (?:is|are) (?:false|wrong|incorrect|{_UNTRUTH})\W*$"
    rf"|\b(?:it|this|that|here) (?:is|was) {_UNTRUTH}\W*$",
    re.IGNORECASE,
)
_DENIED_AFTER = re.compile(
    rf"^\W*(?:(?:but|however),? )?(?:this|that|it|which|all this|all that) (?:is|was) (?:\w+ )?"
    rf"(?:{_UNTRUTH}\b|(?:false|wrong|incorrect)\W*$)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Quoted:
    """The plain words of a quote, and where its sentences begin and end in them."""

    text: str
    spans: tuple[tuple[int, int], ...]


def plain(text: str) -> str:
    """Return the words of a text: without emphasis and escapes, with one space between them."""
    bare = _ESCAPED.sub(r"\1", unicodedata.normalize("NFC", text).translate(_SAME))
    return _EMPHASIS.sub(r"\2\3", " ".join(bare.split()))


def quoted(text: str) -> Quoted:
    """Return a quote as plain words; no sentence of it crosses an empty line."""
    parts = [words for part in _PARAGRAPH.split(text) if (words := plain(part))]
    spans: list[tuple[int, int]] = []
    whole = ""
    for part in parts:
        begin = len(whole) + 1 if whole else 0
        whole = f"{whole} {part}" if whole else part
        spans.extend(sentences(whole, begin, len(whole)))
    return Quoted(whole, tuple(spans))


def stands(wanted: str, quote: Quoted) -> bool:
    """Tell whether a quote says these plain words by themselves."""
    if wanted == quote.text:
        return True
    asks, words = "?" in _end_of(wanted), wanted[: -len(_end_of(wanted)) or None]
    return any(_is_said(quote, start, start + len(words), asks) for start in _hits(words, quote))


def _end_of(wanted: str) -> str:
    found = _END.search(wanted)
    return found[0] if found else ""


def _hits(words: str, quote: Quoted) -> Iterator[int]:
    """Yield where words begin in a quote; the first letter is large or small as the place demands."""
    for written in {words, words[:1].swapcase() + words[1:]} - {""}:
        start = quote.text.find(written)
        while start >= 0:
            yield start
            start = quote.text.find(written, start + 1)


def _is_said(quote: Quoted, start: int, end: int, asks: bool) -> bool:
    first = next(at for at, span in enumerate(quote.spans) if start < span[1])
    last = next(at for at, span in enumerate(quote.spans) if end <= span[1])
    before = quote.text[quote.spans[first][0] : start]
    after = quote.text[end : quote.spans[last][1]]
    is_whole = bool(_LEAD.fullmatch(before) and _TAIL.fullmatch(after))
    if ("?" in after) != asks or not (is_whole or _is_clause(quote, start, end, before, after)):
        return False
    return not _is_denied(quote, first, last)


def _is_clause(quote: Quoted, start: int, end: int, before: str, after: str) -> bool:
    """Tell whether a semicolon or a full stop parts these words from the rest of a sentence, which neither denies nor limits them."""
    # What follows "etc." may be a sentence of its own.
    begins = bool(_LEAD.fullmatch(before)) or before.endswith(("; ", ". "))
    ends = bool(_TAIL.fullmatch(after)) or after.startswith(("; ", ". "))
    limited = _LIMITS.search(before) or _LIMITS.search(after)
    return begins and ends and not limited and not _CONDITIONS.search(quote.text[start:end])


def _is_denied(quote: Quoted, first: int, last: int) -> bool:
    """Tell whether the sentence before these or the one after them says that they are not so."""
    before, after = quote.spans[:first][-1:], quote.spans[last + 1 :][:1]
    return any(_DENIED_BEFORE.search(quote.text[begin:end]) for begin, end in before) or any(
        _DENIED_AFTER.search(quote.text[begin:end]) for begin, end in after
    )
