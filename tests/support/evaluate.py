"""Measures a researcher on the question set, in one process and without a database.

Works each task as a branch does: queries, search, merge, widen, extract, assess, and a second round where that asks for
one. A question is answered if for each of its parts one of that part's passages overlaps a quote.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nodes.material import Claim, ClaimDraft, Quote, Task
from nodes.researchers.base import Researcher
from nodes.tools.index import CorpusIndex, merge_results
from nodes.tools.passages import Readable, widen

HITS_MAX = 12
TASKS_MAX = 6
ROUNDS_MAX = 2
QUESTIONS = Path(__file__).parent / "questions.toml"


@dataclass(frozen=True, slots=True)
class Place:
    """Where an answer stands: the end of a file's address, a stretch of its text, and the part that it answers."""

    file: str
    passage: str
    part: int


@dataclass(frozen=True, slots=True)
class Answerable:
    """A question and all the places that answer it."""

    question: str
    places: tuple[Place, ...]


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
            tuple(
                Place(file, passage, *(part or [1])) for file, passage, *part in item["passages"]
            ),
        )
        for item in data["answerable"]
    )
    return answerable, tuple(item["question"] for item in data["unanswerable"])


def locate(passage: str, text: str) -> tuple[int, int] | None:
    """Return where a passage stands in a text, whatever the markup and white space, or None."""
    letters = (
        re.escape(letter) for letter in passage if letter not in "`*\\" and not letter.isspace()
    )
    match = re.search(r"[\s`*\\]*".join(letters), text)
    return match.span() if match else None


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
    """Tell whether the quotes of the claims answer all parts of a question."""
    quotes = [quote for claim in claims for quote in claim.quotes]
    met = {
        place.part for place in item.places if any(_at(place, quote, corpus) for quote in quotes)
    }
    return met == {place.part for place in item.places}


def _at(place: Place, quote: Quote, corpus: Mapping[str, Readable]) -> bool:
    """Tell whether a quote overlaps a place."""
    for readable in corpus.values():
        document = readable.document
        if document.text_artifact == quote.text_artifact and document.uri.endswith(place.file):
            found = locate(place.passage, readable.text)
            return found is not None and found[0] < quote.end and quote.start < found[1]
    return False


def _recorded(task: Task, number: int, draft: ClaimDraft) -> Claim:
    return Claim(
        f"f{number}", task.task_id, draft.text, (f"e{number}",), (draft.text,), draft.confidence
    )
