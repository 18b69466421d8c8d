"""What researchers and tools exchange: documents, passages, claims, drafts.

Plain frozen values without behaviour. Positions are code points in the extracted text of a document, half open
(`text[start:end]`), as in the W3C TextPositionSelector. A researcher never writes a quote, a title or an address: it
points at positions and evidence ids, and code writes the rest.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Document:
    """One readable document: where it came from, and the digests of its bytes and of its extracted text."""

    uri: str
    title: str
    content_artifact: str
    text_artifact: str
    extractor: str


@dataclass(frozen=True, slots=True)
class Skipped:
    """One document that could not be read, and why, in words for the user."""

    uri: str
    reason: str


@dataclass(frozen=True, slots=True)
class Hit:
    """One place that a search pointed to; positions are None where the tool knows only the document."""

    uri: str
    title: str
    score: float
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The hits of one query, best first, and how rare each of its terms is in what was searched.

    `rarity` maps the stem of each query term to its inverse document frequency scaled to 0..1; a term that occurs
    nowhere has 1.0 and stands in `missing`. A tool that cannot know leaves both empty.
    """

    hits: tuple[Hit, ...]
    rarity: Mapping[str, float] = field(default_factory=dict[str, float])
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Passage:
    """A stretch of one document's extracted text: `text == extracted[start:end]`."""

    uri: str
    title: str
    text_artifact: str
    start: int
    end: int
    text: str
    score: float


@dataclass(frozen=True, slots=True)
class Quote:
    """The exact stretch `extracted[start:end]` of the text with this digest."""

    text_artifact: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class TaskDraft:
    """A task as a researcher proposes it; ids are unique within a plan and dependencies name them."""

    task_id: str
    question: str
    depends_on: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Task:
    """A task as a branch works it; `question` is the task's, `run_question` what the user asked."""

    task_id: str
    question: str
    run_question: str


@dataclass(frozen=True, slots=True)
class ClaimDraft:
    """What a branch claims and the exact quotes that it rests on; never without a quote."""

    text: str
    quotes: tuple[Quote, ...]
    confidence: float


@dataclass(frozen=True, slots=True)
class Claim:
    """A recorded claim: its finding id, the evidence ids, exact quotes and sources that support it."""

    finding_id: str
    task_id: str
    text: str
    evidence_ids: tuple[str, ...]
    quotes: tuple[str, ...]
    confidence: float
    source_ids: tuple[str, ...] = ()
    #: The findings that a statement of the working summary stands for; none for a claim that was recorded.
    sums_up: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Statement:
    """What a working summary says of findings of one task that a report has no room for."""

    task_id: str
    text: str
    finding_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Two findings that cannot both hold, and why they were paired."""

    finding_ids: tuple[str, str]
    reason: str


@dataclass(frozen=True, slots=True)
class Assessment:
    """Whether a branch is done: `queries` asks for another round, `gaps` names what stayed unanswered."""

    answered: bool
    queries: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DraftSentence:
    """One sentence of a report and the evidence that it cites."""

    text: str
    finding_id: str
    evidence_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DraftSection:
    """The part of a report that answers one task."""

    heading: str
    sentences: tuple[DraftSentence, ...]


@dataclass(frozen=True, slots=True)
class Draft:
    """A report before checking; empty sections mean that nothing was found."""

    sections: tuple[DraftSection, ...]
    disagreements: tuple[Disagreement, ...] = ()
    gaps: tuple[str, ...] = ()
    #: What could not be done in writing it, in words for the reader.
    notes: tuple[str, ...] = ()


class Verdict(StrEnum):
    """What checking a sentence against its evidence came to; an error is never a verdict."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    INSUFFICIENT = "insufficient"
    NOT_CHECKED = "not-checked"
