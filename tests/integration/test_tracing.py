"""What reaches LangSmith: nothing unless its variables ask for it, and no text unless ours asks for that."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langsmith import utils

from graph.runs import Outcome, decide, resume_run, start_run
from graph.runtime import open_runtime
from graph.settings import load_settings
from ledger.questions import Decision
from nodes.options import BadInput, RunOptions
from tests.support.langsmith_endpoint import Received, langsmith_endpoint

QUESTION = "What does the zebra statement raise?"
SENTENCE = "The zebra statement raises StripesError when its condition is false."


@pytest.fixture
def endpoint() -> Iterator[Received]:
    with langsmith_endpoint() as received:
        yield received


@pytest.fixture
def asked_for(endpoint: Received, monkeypatch: pytest.MonkeyPatch) -> Iterator[Received]:
    """Tracing switched on as LangSmith's documentation says."""
    for name, value in endpoint.variables.items():
        monkeypatch.setenv(name, value)
    forget_variables()
    yield endpoint
    monkeypatch.undo()
    forget_variables()


def forget_variables() -> None:
    """LangSmith reads each of its variables once per process."""
    remembering: Any = utils.get_env_var
    remembering.cache_clear()


async def worked(database_url: str, folder: Path, *, trace_documents: bool = False) -> Outcome:
    """Work a run with a plan review to its end; the process's tracing ends with it."""
    corpus = folder / "corpus"
    corpus.mkdir()
    (corpus / "zebra.md").write_text(f"# The zebra statement\n\n{SENTENCE}\n")
    settings = load_settings(
        database_url=database_url, home=folder / "home", trace_documents=trace_documents
    )
    async with open_runtime(settings) as runtime:
        options = RunOptions(corpus=(str(corpus),), review="plan")
        asked = await start_run(runtime, QUESTION, options)
        approved = Decision(choice="approve", decided_by="ada")
        await decide(runtime, asked.reviews[0].review_id, approved)
        return await resume_run(runtime, asked.run.run_id)


async def test_a_trace_names_run_and_task_and_holds_no_text(
    database_url: str, asked_for: Received, tmp_path: Path
) -> None:
    """Neither of the documents nor of the person who asks: that includes the plan shown at the review."""
    ended = await worked(database_url, tmp_path)

    assert ended.run.status == "completed"
    sent = "\n".join(asked_for.bodies)
    for text in ("zebra", "Zebra", "StripesError", "condition is false"):
        assert text not in sent
    assert {"plan", "review_plan", "search", "extract", "publish"} <= {
        step["name"] for step in asked_for.steps.values()
    }
    assert {one["perdure_run_id"] for one in asked_for.metadata} == {str(ended.run.run_id)}
    assert {one["perdure_task_id"] for one in asked_for.metadata if "perdure_task_id" in one} == {
        "t1"
    }
    counts = [(step.get("outputs") or {}).get("tasks") for step in asked_for.steps.values()]
    assert {"complete": 1} in counts


async def test_a_trace_holds_the_texts_when_they_are_asked_for(
    database_url: str, asked_for: Received, tmp_path: Path
) -> None:
    await worked(database_url, tmp_path, trace_documents=True)
    assert QUESTION in "\n".join(asked_for.bodies)


async def test_a_failed_step_shows_the_kind_of_its_error_and_not_what_it_quotes(
    database_url: str, asked_for: Received, tmp_path: Path
) -> None:
    settings = load_settings(database_url=database_url, home=tmp_path)
    (tmp_path / "secret-plans.md").touch()
    async with open_runtime(settings) as runtime:
        with pytest.raises(BadInput, match="secret-plans"):
            await start_run(
                runtime, QUESTION, RunOptions(corpus=(str(tmp_path / "secret-plans.md"),))
            )

    errors = [step["error"] for step in asked_for.steps.values() if step.get("error")]
    assert all(error.startswith("CorpusEmpty") for error in errors)
    assert errors
    assert "secret-plans" not in "\n".join(asked_for.bodies)


async def test_nothing_is_sent_unless_it_is_switched_on(
    database_url: str, endpoint: Received, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An address and a key alone switch nothing on."""
    monkeypatch.setenv("LANGSMITH_ENDPOINT", endpoint.url)
    monkeypatch.setenv("LANGSMITH_API_KEY", "key")
    await worked(database_url, tmp_path)
    assert endpoint.requests == 0
