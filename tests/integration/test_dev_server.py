"""LangGraph's dev server and everything else work the same runs: a thread is a run."""

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from tenacity import AsyncRetrying, stop_after_delay, wait_fixed

from graph.runs import decide, outcome, resume_run
from graph.runtime import Runtime, open_runtime
from graph.settings import load_settings
from graph.working import working
from ledger import reviews
from ledger.ids import new_run_id
from ledger.questions import Decision
from nodes.review import review_id_of
from tests.support.commands import Ended, end, start
from tests.support.dev_server import DevServer, dev_server
from tests.support.langsmith_endpoint import Received, langsmith_endpoint
from tests.support.postgres import temporary_database

QUESTION = "What does the assert statement do?"
DOCUMENT = """# The assert statement

Assert statements are a convenient way to insert debugging assertions into a program.
The assert statement raises AssertionError when its condition is false.
"""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    (folder / "assert.md").write_text(DOCUMENT)
    return folder


@pytest.fixture(scope="module")
def environment(
    server_url: str, template: str, corpus: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, str]]:
    """Where all workers of these tests look: one database, one home, one corpus."""
    with temporary_database(server_url, template=template) as url:
        yield {
            "PERDURE_DATABASE_URL": url,
            "PERDURE_HOME": str(tmp_path_factory.mktemp("shared-home")),
            "PERDURE_CORPUS": str(corpus),
        }


@pytest.fixture(scope="module")
def langsmith() -> Iterator[Received]:
    with langsmith_endpoint() as received:
        yield received


@pytest.fixture(scope="module")
def server(
    environment: dict[str, str], langsmith: Received, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[DevServer]:
    """One server for all tests that leave it alive, because it takes seconds to start; it is traced."""
    variables = {**environment, **langsmith.variables}
    with dev_server(tmp_path_factory.mktemp("server"), variables) as running:
        yield running


@pytest.fixture
async def command_line(environment: dict[str, str]) -> AsyncIterator[Runtime]:
    """What the command line opens, in this process."""
    settings = load_settings(
        database_url=environment["PERDURE_DATABASE_URL"],
        home=environment["PERDURE_HOME"],
        corpus=environment["PERDURE_CORPUS"],
    )
    async with open_runtime(settings) as runtime:
        yield runtime


def perdure(environment: dict[str, str], *arguments: str) -> Ended:
    """Run a command as a process of its own."""
    return end(start(*arguments, env={**os.environ, **environment}))


def report_of(environment: dict[str, str], run_id: str) -> str:
    """Return the report of a completed run."""
    shown = perdure(environment, "show", run_id, "--json").json
    assert shown["status"] == "completed"
    return str(shown["report_markdown"])


async def test_a_run_that_a_killed_server_left_at_its_review_is_finished_on_the_command_line(
    environment: dict[str, str], tmp_path: Path
) -> None:
    """The server forgets its threads when it dies within ten seconds; the run forgets nothing."""
    with dev_server(tmp_path / "doomed", environment) as doomed:
        thread_id = await doomed.new_thread()
        asked = await doomed.ask(thread_id, QUESTION, review="plan")
        doomed.kill()

    (waiting,) = asked["__interrupt__"]
    review_id = review_id_of(waiting["value"])
    assert perdure(environment, "review", review_id, "--approve", "--as", "ada").code == 0
    assert perdure(environment, "resume", thread_id).code == 0
    assert "raises AssertionError" in report_of(environment, thread_id)


async def test_a_run_begun_on_the_command_line_is_finished_through_the_server(
    server: DevServer, environment: dict[str, str]
) -> None:
    begun = perdure(environment, "run", QUESTION, "--review", "plan", "--json")
    thread_id = begun.json["run_id"]
    await server.adopt(thread_id)
    review_id = review_id_of((await server.interrupt(thread_id))["value"])
    assert perdure(environment, "review", review_id, "--approve", "--as", "ada").code == 0

    ended = await server.answer(thread_id, review_id)

    assert ended["step"]["name"] == "publish"
    assert "raises AssertionError" in report_of(environment, thread_id)


async def test_a_run_that_waits_in_the_server_is_paused_and_goes_on_when_studio_accepts(
    server: DevServer, command_line: Runtime
) -> None:
    """Studio answers with a HumanResponse; the decision is in the ledger all the same."""
    thread_id = await server.new_thread()
    await server.ask(thread_id, QUESTION, review="plan")
    paused = await outcome(command_line, UUID(thread_id))
    assert paused.run.status == "paused"

    await server.answer(thread_id, [{"type": "accept", "args": None}])

    assert (await outcome(command_line, UUID(thread_id))).run.status == "completed"
    async with command_line.ledger.transaction() as tx:
        decided = await reviews.get(tx, UUID(thread_id), paused.reviews[0].review_id)
    assert decided.decision == Decision(choice="approve", decided_by="studio")


async def test_an_answer_that_decides_nothing_is_asked_again_with_the_problem(
    server: DevServer, command_line: Runtime
) -> None:
    """LangGraph keeps the answer of a step that failed and ignores every later one, so the step must not fail."""
    thread_id = await server.new_thread()
    await server.ask(thread_id, QUESTION, review="plan")

    for answer, problem in (
        ("yes", "nobody has decided"),
        ({"type": "response", "args": " "}, "needs words"),
        ({"type": "edit", "args": {"args": {"tasks": "none"}}}, "edited plan"),
    ):
        await server.answer(thread_id, answer)
        assert problem in (await server.interrupt(thread_id))["value"]["description"]

    await server.answer(thread_id, {"type": "accept", "args": None})
    assert (await outcome(command_line, UUID(thread_id))).run.status == "completed"


async def test_an_answer_to_a_question_that_is_not_open_is_refused(
    server: DevServer, command_line: Runtime
) -> None:
    """A second click must not answer the next question; LangGraph passes it over in silence unless resume is strict."""
    thread_id = await server.new_thread()
    await server.ask(thread_id, QUESTION, review="plan,report")
    answered = (await server.interrupt(thread_id))["id"]
    accept = {"type": "accept", "args": None}
    await server.answer_to(thread_id, answered, accept)

    refused = await server.answer_to(thread_id, answered, accept)

    assert refused["__error__"]["error"] == "UnknownInterruptError"
    (review,) = (await outcome(command_line, UUID(thread_id))).reviews
    assert review.kind == "report"


async def test_a_rejected_plan_ends_the_run_cancelled(
    server: DevServer, command_line: Runtime
) -> None:
    thread_id = await server.new_thread()
    await server.ask(thread_id, QUESTION, review="plan")

    ended = await server.answer(thread_id, {"type": "ignore", "args": None})

    assert list(ended["step"]["decisions"].values()) == ["reject"]
    assert (await outcome(command_line, UUID(thread_id))).run.status == "cancelled"


async def test_a_question_or_option_that_cannot_be_used_is_refused_and_a_better_one_works(
    server: DevServer,
) -> None:
    thread_id = await server.new_thread()
    for question, problem in (
        ("", "is empty"),
        ("a\x00b", "a NUL character"),
        ("a" * 100_000, "100,000 characters"),
    ):
        failed = await server.ask(thread_id, question, review="plan")
        assert problem in failed["__error__"]["message"]

    failed = await server.ask(thread_id, QUESTION, branches=99)
    assert "branches" in failed["__error__"]["message"]

    asked = await server.ask(thread_id, QUESTION, review="plan")
    assert asked["__interrupt__"]


async def test_a_run_that_fails_in_the_server_is_marked_failed_with_its_reason(
    server: DevServer, command_line: Runtime
) -> None:
    thread_id = await server.new_thread()
    failed = await server.ask(thread_id, QUESTION, corpus=["/no/such/folder"])

    assert "/no/such/folder" in failed["__error__"]["message"]
    run = (await outcome(command_line, UUID(thread_id))).run
    assert run.status == "failed"
    assert "/no/such/folder" in (run.reason or "")


async def test_another_question_on_a_thread_is_refused_and_its_run_goes_on(
    server: DevServer, command_line: Runtime
) -> None:
    """LangGraph drops the open review when a thread gets new input; the run still has it."""
    thread_id = await server.new_thread()
    await server.ask(thread_id, QUESTION, review="plan")

    refused = await server.ask(thread_id, "What is a loop?", review="plan")

    assert "begin a new thread" in refused["__error__"]["message"]
    paused = await outcome(command_line, UUID(thread_id))
    assert paused.run.status == "paused"
    approved = Decision(choice="approve", decided_by="ada")
    await decide(command_line, paused.reviews[0].review_id, approved)
    ended = await resume_run(command_line, UUID(thread_id))
    assert ended.run.question == QUESTION
    assert ended.run.status == "completed"


async def test_a_run_that_another_process_works_is_refused_by_the_server(
    server: DevServer, command_line: Runtime
) -> None:
    run_id = new_run_id()
    await server.adopt(str(run_id))
    async with working(command_line, run_id):
        refused = await server.ask(str(run_id), QUESTION)
    assert "is being worked by" in refused["__error__"]["message"]


async def test_studio_gets_forms_that_fit_on_a_screen(server: DevServer) -> None:
    """Three schemas, made by the real server: on Python 3.11 it makes none from typing's own TypedDict."""
    async with server.client() as client:
        (assistant, *_) = await client.assistants.search(graph_id="perdure")
        schemas: dict[str, Any] = {**await client.assistants.get_schemas(assistant["assistant_id"])}
    assert sorted(schemas["input_schema"]["properties"]) == ["question"]
    assert sorted(schemas["output_schema"]["properties"]) == ["products", "step"]
    assert sorted(schemas["context_schema"]["properties"]) == [
        "at_deadline", "branch_budget", "branches", "budget", "corpus", "model", "notify", "publish", "review", "review_deadline", "sensitive",
        "two_persons",
    ]  # fmt: skip


async def test_each_step_says_what_it_did(server: DevServer) -> None:
    """What Studio shows of a step is its update: a name and what came of it, in a few words."""
    thread_id = await server.new_thread()
    async with server.client() as client:
        updates = [
            update
            async for event in client.runs.stream(
                thread_id,
                "perdure",
                input={"question": QUESTION},
                context={"review": "none"},
                stream_mode="updates",
                stream_subgraphs=True,
            )
            if event.event.startswith("updates")
            for update in event.data.items()
        ]
    said = {step: update["step"]["name"] for step, update in updates if update}
    assert said == {
        "plan": "plan", "dispatch": "dispatch", "search": "search", "read": "read", "extract": "extract",
        "assess": "assess", "branch": "assess", "collect": "collect", "compact": "compact",
        "synthesize": "synthesize", "check": "check", "intend": "intend", "publish": "publish",
    }  # fmt: skip


async def test_the_traces_of_the_server_hold_no_text(
    server: DevServer, langsmith: Received
) -> None:
    thread_id = await server.new_thread()
    await server.ask(thread_id, QUESTION, review="plan")

    async for attempt in AsyncRetrying(stop=stop_after_delay(30), wait=wait_fixed(0.1)):
        with attempt:
            assert any(
                step.get("name") == "review_plan"
                and step["extra"]["metadata"]["perdure_run_id"] == thread_id
                for step in langsmith.steps.values()
            )
    assert "assert statement" not in "\n".join(langsmith.bodies)
