"""The researcher that needs no language model: it finds the sentences that answer and says where they stand.

It claims nothing in words of its own: each claim is a stretch of a document. Everything here is a pure function of the
arguments, the same in every process.
"""

from collections.abc import Mapping, Sequence

from typing_extensions import override

from nodes.material import (
    Assessment,
    Claim,
    ClaimDraft,
    Disagreement,
    Draft,
    DraftSection,
    DraftSentence,
    Hit,
    Passage,
    Quote,
    Statement,
    Task,
    TaskDraft,
    Verdict,
)
from nodes.researchers.base import MATERIAL_CHARACTERS_MAX, Researcher
from nodes.researchers.contradictions import disagreeing
from nodes.researchers.facets import plan_tasks, subject_of
from nodes.researchers.keywords import Keyword, read_question
from nodes.researchers.relevance import Candidate, best_quotes
from nodes.researchers.verdicts import judge

NAME, VERSION = "extractive", "1"
_DISCLOSURE = "This report was made without a language model: its sentences were extracted from the documents word for word."
# What a reader compares at a glance. On the question set one answer in three comes first, one in eight fifth or sixth.
CLAIMS_MAX = 6
# A second round asks in other words; a third would only repeat them.
ROUNDS_MAX = 2
# Searches of a second round, each without one of the keywords.
_RELAXED_MAX = 4
_GAP = "The documents do not answer: "


class ExtractiveResearcher(Researcher):
    """Researches by the words of question and documents alone."""

    @property
    @override
    def name(self) -> str:
        """The name that a run is started with."""
        return NAME

    @property
    @override
    def version(self) -> str:
        """The version of its rules."""
        return VERSION

    @property
    @override
    def disclosure(self) -> str:
        """Say that no model wrote the report."""
        return _DISCLOSURE

    @property
    @override
    def material_characters(self) -> int:
        """Return as much as people read."""
        return MATERIAL_CHARACTERS_MAX

    @property
    @override
    def notes(self) -> Sequence[str]:
        """Say nothing: what it can do, it does."""
        return ()

    @property
    @override
    def outside(self) -> bool:
        """Say no: it runs in this process and calls nobody."""
        return False

    @override
    async def used_up(self) -> str | None:
        """Say nothing: it costs nothing."""
        return None

    @override
    async def plan(
        self, question: str, tasks_max: int, instruction: str | None = None
    ) -> tuple[TaskDraft, ...]:
        """Split a question into its facets, and a comparison into its sides; an instruction is asked besides."""
        if instruction is None:
            return plan_tasks(question, tasks_max)
        asked = plan_tasks(question, tasks_max - 1)
        more = plan_tasks(instruction, tasks_max - len(asked))
        names = {draft.task_id: f"t{len(asked) + at}" for at, draft in enumerate(more, start=1)}
        return asked + tuple(
            TaskDraft(
                names[draft.task_id],
                draft.question,
                tuple(names[name] for name in draft.depends_on),
            )
            for draft in more
        )

    @override
    async def queries(self, task: Task) -> tuple[str, ...]:
        """Return all keywords, those of the subject only, and the names only."""
        keywords = read_question(task.question).keywords
        subject = [keyword for keyword in keywords if not keyword.is_asking]
        names = [keyword for keyword in keywords if keyword.is_name]
        asked = (_query(keywords), _query(subject), _query(names))
        return tuple(dict.fromkeys(query for query in asked if query)) or (task.question,)

    @override
    async def choose(self, task: Task, hits: Sequence[Hit]) -> tuple[str, ...]:
        """Take the order of the search: it ranks by the same words."""
        return tuple(dict.fromkeys(hit.uri for hit in hits))

    @override
    async def extract(
        self, task: Task, passages: Sequence[Passage], rarity: Mapping[str, float]
    ) -> tuple[ClaimDraft, ...]:
        """Return the best quotes, or none where no passage covers what was asked."""
        asked = read_question(task.question)
        return tuple(_claim(quote) for quote in best_quotes(asked, passages, rarity, CLAIMS_MAX))

    @override
    async def assess(self, task: Task, claims: Sequence[Claim], round_number: int) -> Assessment:
        """Be content with any claim; else ask once more with fewer words, then name the gap."""
        if claims:
            return Assessment(answered=True)
        relaxed = _relaxed(task.question) if round_number < ROUNDS_MAX else ()
        gap = f"{_GAP}{task.question}"
        return Assessment(answered=False, queries=relaxed, gaps=(gap,))

    @override
    async def gap_tasks(
        self, question: str, gaps: Sequence[str], tasks_max: int
    ) -> tuple[TaskDraft, ...]:
        """Ask what one part of the question asked without naming the subject of the whole once more, with it."""
        subject = subject_of(question)
        unnamed = [gap for gap in gaps if subject.casefold() not in gap.casefold()]
        return tuple(
            TaskDraft(f"t{number}", f"{gap.removeprefix(_GAP)} ({subject})")
            for number, gap in enumerate(unnamed[:tasks_max], start=1)
        )

    @override
    async def disagreements(self, claims: Sequence[Claim]) -> tuple[Disagreement, ...]:
        """Return pairs that say the same with another number or with a "not"."""
        return disagreeing(claims)

    @override
    async def condense(self, question: str, claims: Sequence[Claim], keep: int) -> tuple[str, ...]:
        """Keep the order: by task, the most confident first."""
        return tuple(claim.finding_id for claim in claims)

    @override
    async def summarize(self, task: Task, claims: Sequence[Claim]) -> tuple[Statement, ...]:
        """Say nothing: what it says stands in a document word for word."""
        return ()

    @override
    async def synthesize(
        self, question: str, tasks: Sequence[Task], claims: Sequence[Claim], gaps: Sequence[str]
    ) -> Draft:
        """Give each task that found something a section, and say each thing once."""
        said: set[str] = set()
        sections: list[DraftSection] = []
        for task in tasks:
            own = [claim for claim in claims if claim.task_id == task.task_id]
            # A part whose answer another part has given already gives it again: it was asked.
            new = [claim for claim in own if claim.text not in said] or own
            said.update(claim.text for claim in new)
            if new:
                sections.append(
                    DraftSection(task.question, tuple(_sentence(claim) for claim in new))
                )
        answered = [section.heading for section in sections]
        left = [
            gap for gap in gaps if not _is_closed(gap, answered) and not _is_repeated(gap, gaps)
        ]
        return Draft(tuple(sections), disagreeing(claims), tuple(left))

    @override
    async def check(self, sentence: str, quotes: Sequence[str]) -> Verdict:
        """Compare the words of a sentence with those of its quotes."""
        return judge(sentence, quotes)


def _is_closed(gap: str, answered: Sequence[str]) -> bool:
    """Tell whether a question that stayed open was answered when it was asked again, with more words."""
    return any(heading.startswith(gap.removeprefix(_GAP)) for heading in answered)


def _is_repeated(gap: str, gaps: Sequence[str]) -> bool:
    """Tell whether a question that stayed open was one that had been asked before, with fewer words."""
    return any(gap != other and gap.startswith(other) for other in gaps)


def _query(keywords: Sequence[Keyword]) -> str:
    return " ".join(keyword.word for keyword in keywords)


def _relaxed(question: str) -> tuple[str, ...]:
    """Return searches that each leave one keyword out, because one word may be what the documents say otherwise."""
    keywords = [keyword for keyword in read_question(question).keywords if not keyword.is_asking]
    without = (_query([*keywords[:at], *keywords[at + 1 :]]) for at in range(len(keywords)))
    return tuple(dict.fromkeys(query for query in without if query))[:_RELAXED_MAX]


def _claim(quote: Candidate) -> ClaimDraft:
    where = Quote(quote.passage.text_artifact, quote.start, quote.end)
    return ClaimDraft(quote.text, (where,), min(max(quote.score, 0.0), 1.0))


def _sentence(claim: Claim) -> DraftSentence:
    return DraftSentence(claim.text, claim.finding_id, claim.evidence_ids)
