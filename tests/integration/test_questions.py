"""The question set, through the command line, over three manuals of Debian: what is answered, and what is let be.

Each question was written from the manuals with the passages that answer it; those at odd positions were never tuned on.
The figures are printed; the README has them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from tests.support.commands import perdure
from tests.support.debian_docs import DEBIAN_POLICY, POSTGRESQL_DOC, PYTHON_DOC, debian_docs
from tests.support.evaluate import Answerable, Place, locate, questions
from tests.support.postgres import temporary_database

ANSWERED_SHARE_MIN = 0.8

ANSWERABLE, UNANSWERABLE = questions()


@dataclass(frozen=True, slots=True)
class Asked:
    """The citations that each question came to."""

    answerable: dict[str, list[dict[str, Any]]]
    unanswerable: dict[str, list[dict[str, Any]]]

    def citations(self) -> list[dict[str, Any]]:
        """Return all citations of all reports."""
        reports = [*self.answerable.values(), *self.unanswerable.values()]
        return [citation for report in reports for citation in report]


@pytest.fixture(scope="module")
def asked(
    server_url: str, template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Asked]:
    """Ask every question once, in one database, over all three manuals."""
    manuals = [debian_docs(package) for package in (POSTGRESQL_DOC, PYTHON_DOC, DEBIAN_POLICY)]
    if None in manuals:
        pytest.skip("Debian's documentation packages cannot be had here")
    corpus = [argument for manual in manuals for argument in ("--corpus", str(manual))]
    with (
        temporary_database(server_url, template=template) as url,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("PERDURE_DATABASE_URL", url)
        patch.setenv("PERDURE_HOME", str(tmp_path_factory.mktemp("home")))
        yield Asked(
            {item.question: _citations(item.question, corpus) for item in ANSWERABLE},
            {question: _citations(question, corpus) for question in UNANSWERABLE},
        )


def _citations(question: str, corpus: list[str]) -> list[dict[str, Any]]:
    ended = perdure("run", question, *corpus, "--review", "none", "--json")
    assert ended.code == 0, ended.messages
    shown = perdure("show", ended.json["run_id"], "--json").json
    citations: list[dict[str, Any]] = shown["citations"]
    return citations


def test_the_set_is_large_enough() -> None:
    assert len(ANSWERABLE) >= 40
    assert len(UNANSWERABLE) >= 10


def test_most_questions_are_answered_with_a_passage_that_answers(asked: Asked) -> None:
    missed = [item.question for item in ANSWERABLE if not _is_answered(item, asked)]
    unseen = [item.question for item in ANSWERABLE[1::2] if item.question in missed]
    answered = len(ANSWERABLE) - len(missed)
    print(
        f"\nanswered {answered} of {len(ANSWERABLE)}; of those never tuned on, {len(unseen)} missed"
    )
    print("\n".join(f"missed: {question}" for question in missed))
    assert answered >= ANSWERED_SHARE_MIN * len(ANSWERABLE)


def test_what_the_manuals_do_not_answer_is_never_answered(asked: Asked) -> None:
    invented = {question: cited for question, cited in asked.unanswerable.items() if cited}
    print(f"\nlet be {len(UNANSWERABLE) - len(invented)} of {len(UNANSWERABLE)}")
    assert invented == {}


def test_every_citation_is_cut_from_the_artifacts_that_it_names(asked: Asked) -> None:
    cited = asked.citations()
    assert cited
    texts = {
        name: perdure("artifact", name).text for name in {each["text_artifact"] for each in cited}
    }
    for citation in cited:
        text = texts[citation["text_artifact"]]
        assert text[citation["start"] : citation["end"]] == citation["exact"]
    files = {each["content_artifact"]: _path(each["source_uri"]) for each in cited}
    for name, path in files.items():
        assert perdure("artifact", name).output == path.read_bytes()


def _is_answered(item: Answerable, asked: Asked) -> bool:
    cited = asked.answerable[item.question]
    met = {
        place.part for place in item.places if any(_meets(place, citation) for citation in cited)
    }
    return met == {place.part for place in item.places}


def _meets(place: Place, citation: dict[str, Any]) -> bool:
    """Tell whether a citation overlaps a passage."""
    if not citation["source_uri"].endswith(place.file):
        return False
    found = locate(place.passage, perdure("artifact", citation["text_artifact"]).text)
    return found is not None and found[0] < citation["end"] and citation["start"] < found[1]


def _path(uri: str) -> Path:
    return Path(unquote(urlsplit(uri).path))
