"""Material as a model is shown it: numbered sentences of documents, and numbered claims."""

from collections.abc import Sequence
from dataclasses import dataclass

from ledger.canonical import Json
from nodes.material import Claim, Passage, Quote
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


def claim_lines(claims: Sequence[Claim]) -> list[str]:
    """Return claims as numbered lines, with the quotes that they rest on."""
    return [
        f"F{at} (task {claim.task_id}): {claim.text}\n    rests on: {' | '.join(claim.quotes)}"
        for at, claim in enumerate(claims, start=1)
    ]
