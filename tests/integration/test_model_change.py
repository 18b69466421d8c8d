"""A run that was begun with one model goes on with another: what was accepted stays, and nothing leaves past its rules."""

from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest

from graph.runs import resume_run, start_run
from graph.runtime import Runtime
from ledger import audit, integrity, runs
from ledger.ids import new_run_id
from ledger.journal import Operation
from nodes.models.courses import RunPostponed
from nodes.options import BadInput
from tests.support.commands import perdure
from tests.support.mind import sensible
from tests.support.model_runs import asking, model_calls, thinking_runtime
from tests.support.moonshot.faults import Fault, FaultKind
from tests.support.moonshot.server import KEY, MoonshotServer, moonshot_server
from tests.support.runtimes import QUESTION, write_corpus

OTHER = "kimi-k3.1-pro"
RULE = '[{"name": "fish", "pattern": "fish"}]'


@pytest.fixture
def server() -> Iterator[MoonshotServer]:
    with moonshot_server(sensible) as server:
        yield server


async def events(runtime: Runtime, run_id: UUID) -> list[tuple[str, dict[str, str]]]:
    """Return who changed the model of a run, and how."""
    async with runtime.ledger.transaction() as tx:
        entries = await audit.entries(tx, run_id)
    return [(each.actor, each.detail) for each in entries if each.event == "model_changed"]


def made_with(calls: list[Operation], prompt: str) -> list[tuple[str, bool]]:
    """Return the model of each attempt at what was asked with a prompt, and whether its answer was accepted."""
    return [
        (attempt.settings["model"], attempt.accepted)
        for each in calls
        if each.request["prompt"] == prompt
        for attempt in each.attempts
    ]


async def test_the_next_calls_go_to_the_other_model_and_accepted_answers_stay(
    database_url: str, tmp_path: Path, server: MoonshotServer
) -> None:
    given, run_id = asking(write_corpus(tmp_path / "garden")), new_run_id()

    def gone(_: int, request: object) -> Fault | None:
        wants = getattr(request, "schema_name", None) == "synthesize"
        return Fault(FaultKind.QUOTA) if wants and server.calls[-1].chat.model != OTHER else None

    server.schedule = gone
    async with thinking_runtime(database_url, tmp_path / "home", server) as (runtime, _):
        with pytest.raises(RunPostponed, match="used up"):
            await start_run(runtime, QUESTION, given, run_id)
        before = {each.operation_id: each for each in await model_calls(runtime.ledger, run_id)}
        # The one that it had is gone from the endpoint, too: nobody asks for it.
        server.models = [OTHER]
        ended = await resume_run(runtime, run_id, model=OTHER, by="ada")
        assert ended.run.status == "completed"
        assert ended.run.options == {**given.model_dump(mode="json"), "model": OTHER}
        assert await events(runtime, run_id) == [("ada", {"from": "kimi-k3", "to": OTHER})]
        calls = await model_calls(runtime.ledger, run_id)
        async with runtime.ledger.transaction(one_moment=True) as tx:
            assert await integrity.damage(tx, run_id) == []
        assert ended.report_path is not None
        text = ended.report_path.read_text()
    assert made_with(calls, "synthesize") == [("kimi-k3", False), (OTHER, True)]
    for each in calls:
        if (known := before.get(each.operation_id)) and known.status == "accepted":
            assert each == known
    assert f"> More than one worked on this report: kimi-k3, then {OTHER}." in text


async def test_a_model_that_nobody_knows_changes_nothing(
    database_url: str, tmp_path: Path, server: MoonshotServer
) -> None:
    given = asking(write_corpus(tmp_path / "garden"), review="plan")
    async with thinking_runtime(database_url, tmp_path / "home", server) as (runtime, _):
        run = (await start_run(runtime, QUESTION, given)).run
        with pytest.raises(BadInput, match="kimi-k4"):
            await resume_run(runtime, run.run_id, model="kimi-k4", by="ada")
        with pytest.raises(BadInput, match="who decides"):
            await resume_run(runtime, run.run_id, model=OTHER, by="a\nb")
        # One of the family, and none of the endpoint's.
        server.models = ["kimi-k3"]
        with pytest.raises(
            BadInput, match=f"(knows no model|not among).*{OTHER}|{OTHER}.*not among"
        ):
            await resume_run(runtime, run.run_id, model=OTHER, by="ada")
        # The same model is no change.
        await resume_run(runtime, run.run_id, model="kimi-k3", by="ada")
        assert await events(runtime, run.run_id) == []
        async with runtime.ledger.transaction() as tx:
            assert (await runs.get(tx, run.run_id)).options == run.options


@pytest.fixture
def command(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: MoonshotServer
) -> pytest.MonkeyPatch:
    """Commands of an installation whose endpoint is the scripted server, and the settings that it has."""
    for name, value in {
        "DATABASE_URL": database_url,
        "HOME": str(tmp_path / "home"),
        "MODEL_BASE_URL": server.url,
        "MODEL_KEY": "env:CHANGE_TEST_KEY",
    }.items():
        monkeypatch.setenv(f"PERDURE_{name}", value)
    monkeypatch.setenv("CHANGE_TEST_KEY", KEY)
    return monkeypatch


def begun(tmp_path: Path, *arguments: str) -> str:
    """Begin a run that waits for the review of its sources, and return its id."""
    corpus, name = write_corpus(tmp_path / "garden"), str(new_run_id())
    ended = perdure(
        *("run", QUESTION, "--corpus", str(corpus), "--review", "sources", "--run-id", name),
        *arguments,
    )
    assert ended.code == 3, ended.messages
    return name


def approve(run_id: str) -> None:
    for review in perdure("reviews", run_id, "--json").json:
        if review["status"] == "open":
            assert perdure("review", review["review_id"], "--approve", "--as", "ada").code == 0


@pytest.mark.usefixtures("command")
def test_a_run_without_a_model_goes_on_with_one(tmp_path: Path, server: MoonshotServer) -> None:
    run_id = begun(tmp_path, "--model", "extractive")
    approve(run_id)
    ended = perdure("resume", run_id, "--model", "kimi-k3", "--as", "maria")
    assert ended.code == 0, ended.messages
    asked = [call.chat.schema_name for call in server.calls if call.chat.schema_name]
    assert "synthesize" in asked
    assert "extract" not in asked
    assert "extractive, then kimi-k3" in ended.text
    assert perdure("verify", run_id).code == 0
    ended = perdure("resume", run_id, "--model", "extractive")
    assert ended.code == 2
    assert "is completed and stays as it is" in ended.messages
    assert perdure("resume", run_id, "--as", "maria").code == 2


def test_what_was_found_here_does_not_leave_past_the_rules_of_the_run(
    tmp_path: Path, command: pytest.MonkeyPatch, server: MoonshotServer
) -> None:
    command.setenv("PERDURE_SENSITIVE", RULE)
    run_id = begun(tmp_path, "--model", "extractive")
    approve(run_id)
    # The rules are the run's own, whatever is set meanwhile.
    command.delenv("PERDURE_SENSITIVE")
    command.setenv("PERDURE_MODEL_BASE_URL", "https://models.example/v1")
    ended = perdure("resume", run_id, "--model", "kimi-k3")
    assert ended.code == 2
    assert "what its tasks t1, t2, t3 found was found on this machine" in ended.messages
    assert perdure("explain", run_id, "--json").json == []
    # A model on this machine may read it all.
    command.setenv("PERDURE_MODEL_BASE_URL", server.url)
    assert perdure("resume", run_id, "--model", "kimi-k3").code in {0, 3}
    assert server.calls


def test_nor_does_it_leave_when_the_same_model_is_elsewhere_later(
    tmp_path: Path, command: pytest.MonkeyPatch, server: MoonshotServer
) -> None:
    command.setenv("PERDURE_SENSITIVE", RULE)
    run_id = begun(tmp_path, "--model", "kimi-k3")
    approve(run_id)
    before = len(server.calls)
    address = server.url.replace("127.0.0.1", "127.0.0.2")
    command.setenv("PERDURE_MODEL_BASE_URL", address)
    ended = perdure("resume", run_id)
    assert ended.code == 4
    assert "would send it elsewhere" in ended.messages
    assert len(server.calls) == before
    command.setenv("PERDURE_MODEL_BASE_URL", server.url)
    assert perdure("resume", run_id).code in {0, 3}
