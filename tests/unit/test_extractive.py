"""The researcher without a model quotes what answers and is silent about what does not."""

import pytest

from nodes.material import Claim, ClaimDraft, Document, Task, Verdict
from nodes.researchers.extractive import ROUNDS_MAX, ExtractiveResearcher
from nodes.researchers.keywords import read_question
from nodes.tools.index import CorpusIndex, search_texts
from nodes.tools.passages import Readable, widen
from tests.support.evaluate import Answerable, Place, ask, evaluate, questions

TEXT = """# Connections

`max_connections`

Determines the maximum number of concurrent connections to the server. The default is
typically 100 connections.

`port`

The TCP port the server listens on; 5432 by default.

# Memory

`shared_buffers`

A reasonable starting value is 25% of the memory of the machine.
"""
DOCUMENT = Document("config.html", "Server configuration", "bytes:1", "text:1", "test 1")
READABLE = Readable(DOCUMENT, TEXT)
RESEARCHER = ExtractiveResearcher()


def task(question: str) -> Task:
    return Task("t1", question, question)


def claim(number: int, text: str, task_id: str = "t1") -> Claim:
    return Claim(f"f{number}", task_id, text, (f"e{number}",), (text,), 0.9)


async def claims_for(question: str) -> tuple[ClaimDraft, ...]:
    found = search_texts([READABLE], await RESEARCHER.queries(task(question)), 12)
    passages = widen(found.hits, {DOCUMENT.uri: READABLE})
    return await RESEARCHER.extract(task(question), passages, found.rarity)


async def test_the_answering_sentence_is_quoted_first_and_exactly() -> None:
    best = (await claims_for("Which port does the server listen on?"))[0]
    quote = best.quotes[0]
    assert " ".join(TEXT[quote.start : quote.end].split()) == best.text
    assert best.text == "`port` The TCP port the server listens on; 5432 by default."


async def test_a_quote_goes_on_to_the_sentence_with_the_number() -> None:
    best = (await claims_for("How many concurrent connections are allowed by default?"))[0]
    assert best.text.endswith("The default is typically 100 connections.")


@pytest.mark.parametrize(
    "question",
    [
        "What is the capital of Mongolia?",
        "What does io_method do?",
        "What is the difference between is and ==?",
        "",
        "¿?",
        "ما هو المنفذ؟",
        "the",
    ],
)
async def test_what_the_documents_do_not_say_is_not_claimed(question: str) -> None:
    assert await claims_for(question) == ()


async def test_no_passages_give_no_claims() -> None:
    assert await RESEARCHER.extract(task("Which port?"), (), {}) == ()


async def test_the_same_material_gives_the_same_claims() -> None:
    question = "How much memory should shared_buffers have?"
    assert await claims_for(question) == await claims_for(question)


async def test_every_task_is_searched_in_more_than_one_way() -> None:
    queries = await RESEARCHER.queries(task("How can I change max_connections?"))
    assert queries == ("change max_connections", "max_connections")
    assert await RESEARCHER.queries(task("who?")) == ("who?",)


async def test_an_unanswered_task_is_tried_once_more_and_then_named_as_a_gap() -> None:
    asked = task("Which zebra port listens?")
    first = await RESEARCHER.assess(asked, [], 1)
    last = await RESEARCHER.assess(asked, [], ROUNDS_MAX)
    assert not first.answered
    assert "zebra port" in first.queries
    assert (last.queries, last.gaps) == ((), (f"The documents do not answer: {asked.question}",))
    assert (await RESEARCHER.assess(asked, [claim(1, "It listens.")], 1)).answered
    assert await RESEARCHER.gap_tasks(asked.question, last.gaps, 3) == ()


async def test_a_report_has_a_section_for_each_task_and_says_each_thing_once() -> None:
    tasks = [Task("t1", "First?", "q"), Task("t2", "Second?", "q"), Task("t3", "Third?", "q")]
    given = [claim(1, "One."), claim(2, "One.", "t2"), claim(3, "Two.", "t2")]
    draft = await RESEARCHER.synthesize("q", tasks, given, ["a gap"])
    told = [(section.heading, [s.text for s in section.sentences]) for section in draft.sections]
    assert told == [("First?", ["One."]), ("Second?", ["Two."])]
    assert draft.sections[1].sentences[0].evidence_ids == ("e3",)
    assert draft.gaps == ("a gap",)


async def test_a_report_without_claims_is_empty() -> None:
    draft = await RESEARCHER.synthesize("q", [task("q")], [], [])
    assert draft.sections == ()


async def test_its_own_claims_are_supported_by_their_quotes() -> None:
    for found in await claims_for("Which port does the server listen on?"):
        quotes = [TEXT[quote.start : quote.end] for quote in found.quotes]
        assert await RESEARCHER.check(found.text, quotes) is Verdict.SUPPORTED


async def test_the_report_says_that_no_model_made_it() -> None:
    assert "without a language model" in RESEARCHER.disclosure


def test_the_question_set_is_large_enough_and_asks_nothing_twice() -> None:
    answerable, unanswerable = questions()
    asked = [item.question for item in answerable] + list(unanswerable)
    assert len(answerable) >= 46
    assert len(unanswerable) >= 12
    assert len(set(asked)) == len(asked)


async def test_figures_count_answers_and_silence() -> None:
    index = CorpusIndex.build([(DOCUMENT, TEXT)])
    corpus = {DOCUMENT.uri: READABLE}
    port = Answerable("Which port?", (Place("config.html", "5432 by default", 1),))
    memory = Answerable("Which port?", (Place("config.html", "25% of the memory", 1),))
    figures = await evaluate(RESEARCHER, index, corpus, [port, memory], ["Who is Napoleon?"])
    assert (figures.answered, figures.unanswered) == (1, ("Which port?",))
    assert (figures.abstained, figures.invented) == (1, ())
    assert await ask(RESEARCHER, index, corpus, "Who is Napoleon?") == []


async def test_a_part_that_named_no_subject_is_asked_again_with_that_of_the_whole() -> None:
    question = "What is the autovacuum launcher and how often are workers started?"
    gap = "The documents do not answer: how often are workers started?"
    (again,) = await RESEARCHER.gap_tasks(question, [gap], 5)
    assert again.question == "how often are workers started? (autovacuum launcher)"


async def test_a_part_that_named_the_subject_is_not_asked_again() -> None:
    question = "What does the autovacuum launcher do?"
    assert (
        await RESEARCHER.gap_tasks(question, [f"The documents do not answer: {question}"], 5) == ()
    )


@pytest.mark.parametrize(
    ("question", "counted"),
    [
        ("How much memory does a desktop need?", {"memori"}),
        ("how many worker threads does a pool use by default?", {"worker", "thread"}),
        ("How many times is it tried?", set()),
        ("What is a lock?", set()),
    ],
)
def test_what_a_question_counts_is_told_from_what_it_is_about(
    question: str, counted: set[str]
) -> None:
    assert read_question(question).counted == counted
