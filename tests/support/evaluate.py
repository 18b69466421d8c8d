"""Measures a researcher on the question set, in one process and without a database.

Works each task as a branch does: queries, search, merge, widen, extract, assess, and a second round where that asks for
one. A question is answered if one of its passages (each of them where `every` is set) overlaps a quote.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nodes.material import Claim, ClaimDraft, Task
from nodes.researchers.base import Researcher
from nodes.tools.index import CorpusIndex, merge_results
from nodes.tools.passages import Readable, widen

HITS_MAX = 12
TASKS_MAX = 6
ROUNDS_MAX = 2
QUESTIONS = Path(__file__).parent / "questions.toml"


@dataclass(frozen=True, slots=True)
class Answerable:
    """A question and where its answer stands: pairs of the end of an address and a stretch of its text."""

    question: str
    passages: tuple[tuple[str, str], ...]
    every: bool


@dataclass(frozen=True, slots=True)
class Figures:
    """What came of the question set; questions that failed are listed in order."""

    answered: int
    unanswered: tuple[str, ...]
    abstained: int
    invented: tuple[str, ...]


def questions() -> tuple[tuple[Answerable, ...], tuple[str, ...]]:
    """Read the question set: the answerable ones and those that the corpus does not answer."""
    data = tomllib.loads(QUESTIONS.read_text(encoding="utf-8"))
    answerable = tuple(
        Answerable(
            item["question"],
            tuple((file, passage) for file, passage in item["passages"]),
            item.get("every", False),
        )
        for item in data["answerable"]
    )
    return answerable, tuple(item["question"] for item in data["unanswerable"])


def normalised(text: str) -> str:
    """Return a text without markup and with white space collapsed, as passages are compared."""
    return " ".join(re.sub(r"[`*\\]", "", text).split())


async def evaluate(
    researcher: Researcher,
    index: CorpusIndex,
    corpus: Mapping[str, Readable],
    answerable: Sequence[Answerable],
    unanswerable: Sequence[str],
) -> Figures:
    """Ask every question and count."""
    missed = [
        item.question
        for item in answerable
        if not answers(item, await ask(researcher, index, corpus, item.question), corpus)
    ]
    invented = [
        question for question in unanswerable if await ask(researcher, index, corpus, question)
    ]
    return Figures(
        len(answerable) - len(missed),
        tuple(missed),
        len(unanswerable) - len(invented),
        tuple(invented),
    )


async def ask(
    researcher: Researcher, index: CorpusIndex, corpus: Mapping[str, Readable], question: str
) -> list[ClaimDraft]:
    """Return the claims that all tasks of a question come to."""
    claims: list[ClaimDraft] = []
    for draft in await researcher.plan(question, TASKS_MAX):
        task = Task(draft.task_id, draft.question, question)
        claims += await work(researcher, index, corpus, task)
    return claims


async def work(
    researcher: Researcher, index: CorpusIndex, corpus: Mapping[str, Readable], task: Task
) -> Sequence[ClaimDraft]:
    """Work one task as a branch does."""
    queries = await researcher.queries(task)
    for round_number in range(1, ROUNDS_MAX + 1):
        found = merge_results([index.search(query, HITS_MAX) for query in queries], HITS_MAX)
        read = {hit.uri: corpus[hit.uri] for hit in found.hits}
        drafts = await researcher.extract(task, widen(found.hits, read), found.rarity)
        claims = [_recorded(task, number, draft) for number, draft in enumerate(drafts)]
        assessment = await researcher.assess(task, claims, round_number)
        if assessment.answered or not assessment.queries:
            return drafts
        queries = assessment.queries
    return ()


def answers(item: Answerable, claims: Sequence[ClaimDraft], corpus: Mapping[str, Readable]) -> bool:
    """Tell whether the quotes of the claims overlap what answers the question."""
    by_artifact = {readable.document.text_artifact: readable for readable in corpus.values()}
    quotes = [quote for claim in claims for quote in claim.quotes]
    cited = [
        (
            by_artifact[quote.text_artifact].document.uri,
            by_artifact[quote.text_artifact].text[quote.start : quote.end],
        )
        for quote in quotes
    ]
    found = [
        any(uri.endswith(file) and overlap(passage, text) for uri, text in cited)
        for file, passage in item.passages
    ]
    return all(found) if item.every else any(found)


def overlap(passage: str, quote: str) -> bool:
    """Tell whether a quote holds the passage, lies within it, or shares at least half of it."""
    wanted, given = normalised(passage), normalised(quote)
    half = max(len(wanted) // 2, 1)
    return wanted in given or given in wanted or wanted[:half] in given or wanted[-half:] in given


def _recorded(task: Task, number: int, draft: ClaimDraft) -> Claim:
    return Claim(
        f"f{number}", task.task_id, draft.text, (f"e{number}",), (draft.text,), draft.confidence
    )
