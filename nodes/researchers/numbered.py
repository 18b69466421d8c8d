"""Material as a model is shown it: numbered sentences of documents, and numbered claims."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ledger.canonical import Json
from nodes.material import Claim, Hit, Passage, Quote
from nodes.tools.sentences import sentences


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of a document and where it stands."""

    text: str
    quote: Quote

    @property
    def body(self) -> Json:
        """What names it: the text's digest and the position."""
        return [self.quote.text_artifact, self.quote.start, self.quote.end]


def sentences_of(passages: Sequence[Passage]) -> list[Sentence]:
    """Return the sentences of passages, in the order of the passages, each once."""
    found: dict[Quote, Sentence] = {}
    for passage in passages:
        for start, end in sentences(passage.text, 0, len(passage.text)):
            quote = Quote(passage.text_artifact, passage.start + start, passage.start + end)
            found.setdefault(quote, Sentence(" ".join(passage.text[start:end].split()), quote))
    return list(found.values())


def one_line(text: str) -> str:
    """Return text on one line: a line of its own could pass for another numbered piece."""
    return " ".join(text.split())


def hit_lines(uris: Sequence[str], found: Mapping[str, Hit]) -> list[str]:
    """Return the documents at these addresses as numbered lines."""
    return [
        f"D{at}: {one_line(found[uri].title)} <{one_line(uri)}>"
        for at, uri in enumerate(uris, start=1)
    ]


def quote_lines(quotes: Sequence[str]) -> list[str]:
    """Return quotes as numbered lines."""
    return [f"Quote {at}: {one_line(quote)}" for at, quote in enumerate(quotes, start=1)]


def claim_lines(claims: Sequence[Claim]) -> list[str]:
    """Return claims as numbered lines, with the quotes that they rest on."""
    return [
        f"F{at} (task {claim.task_id}): {one_line(claim.text)}\n    {_rests_on(claim)}"
        for at, claim in enumerate(claims, start=1)
    ]


def named(claim: Claim) -> Json:
    """Return what names a claim: its finding, or what a statement sums up and its words."""
    return [*claim.sums_up, claim.text] if claim.sums_up else claim.finding_id


def _rests_on(claim: Claim) -> str:
    if claim.sums_up:
        return f"sums up {len(claim.sums_up)} claims that are not shown"
    return f"rests on: {' | '.join(map(one_line, claim.quotes))}"
