"""Runs with a language model from the command line: how they are started, how they end, what they say of their calls."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.commands import perdure
from tests.support.mind import sensible
from tests.support.moonshot.faults import Fault, FaultKind
from tests.support.moonshot.server import KEY, MoonshotServer, moonshot_server
from tests.support.runtimes import QUESTION, write_corpus


@pytest.fixture
def server(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[MoonshotServer]:
    """A model, a database and a home of this test's own, as a person would set them."""
    with moonshot_server(sensible) as running:
        monkeypatch.setenv("PERDURE_DATABASE_URL", database_url)
        monkeypatch.setenv("PERDURE_HOME", str(tmp_path / "home"))
        monkeypatch.setenv("PERDURE_MODEL", "kimi-k3")
        monkeypatch.setenv("PERDURE_MODEL_BASE_URL", running.url)
        monkeypatch.setenv("PERDURE_MODEL_KEY", "env:OUR_KEY")
        monkeypatch.setenv("PERDURE_MODEL_PATIENCE_SECONDS", "0.1")
        monkeypatch.setenv("OUR_KEY", KEY)
        yield running


@pytest.fixture
def corpus(tmp_path: Path) -> str:
    return str(write_corpus(tmp_path / "garden"))


def test_a_run_thinks_with_the_model_that_is_set_and_shows_what_it_used(
    server: MoonshotServer, corpus: str
) -> None:
    ended = perdure("run", QUESTION, "--corpus", corpus, "--review", "none")
    assert ended.code == 0, ended.messages
    assert "written by the language model kimi-k3" in ended.text
    shown = perdure("show", ended.run_id, "--json").json
    assert shown["usage"]["calls"] == len(server.calls)
    assert shown["usage"]["prompt_tokens"] + shown["usage"]["completion_tokens"] == (
        server.log.billed_tokens
    )
    assert shown["usage"]["cost_usd"] > 0
    said = perdure("show", ended.run_id).text
    assert (
        f"language model: {len(server.calls)} calls, {shown['usage']['prompt_tokens']} tokens in"
        in said
    )
    journal = perdure("journal", ended.run_id, "--json").json
    assert {each["kind"] for each in journal} >= {"model", "search", "read"}


@pytest.mark.parametrize(
    ("kind", "told", "goes_on_by_itself"),
    [
        (FaultKind.QUOTA, "balance or quota is used up", False),
        (FaultKind.FORBIDDEN, "does not permit this call", False),
        (FaultKind.TOKENS_PER_DAY, "tokens per day", True),
        (FaultKind.OVERLOADED, "is overloaded", True),
    ],
)
def test_an_endpoint_that_cannot_be_asked_ends_the_command_with_the_reason(
    server: MoonshotServer, corpus: str, kind: FaultKind, told: str, *, goes_on_by_itself: bool
) -> None:
    server.schedule = [Fault(kind)]
    ended = perdure("run", QUESTION, "--corpus", corpus, "--review", "none")
    assert ended.code == 4
    assert told in ended.messages
    assert ("not before" in ended.messages) is goes_on_by_itself
    assert "perdure resume" in ended.messages
    assert perdure("resume", ended.run_id).code == 0


def test_a_key_that_is_refused_ends_the_command_and_another_goes_on(
    server: MoonshotServer, corpus: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OUR_KEY", "sk-revoked")
    ended = perdure("run", QUESTION, "--corpus", corpus, "--review", "none")
    assert ended.code == 4
    assert "PERDURE_MODEL_KEY" in ended.messages
    assert "sk-revoked" not in ended.messages
    monkeypatch.setenv("OUR_KEY", KEY)
    assert perdure("resume", ended.run_id).code == 0


@pytest.mark.parametrize(
    ("variable", "value", "told"),
    [
        ("PERDURE_MODEL", "openai:", "openai:NAME"),
        ("PERDURE_MODEL_KEY", KEY, "env:NAME or file:PATH"),
        ("PERDURE_MODEL_EFFORT", "heroic", "PERDURE_MODEL_EFFORT"),
        ("PERDURE_MODEL_CALLS", "0", "PERDURE_MODEL_CALLS"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_without_telling_it(
    server: MoonshotServer,
    corpus: str,
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
    value: str,
    told: str,
) -> None:
    monkeypatch.setenv(variable, value)
    ended = perdure("run", QUESTION, "--corpus", corpus)
    assert (ended.code, server.calls) == (2, [])
    assert told in ended.messages
    assert KEY not in ended.messages


def test_a_budget_that_is_none_is_refused(server: MoonshotServer, corpus: str) -> None:
    ended = perdure("run", QUESTION, "--corpus", corpus, "--budget", "euros=5")
    assert (ended.code, server.calls) == (2, [])
    assert "--budget" in ended.messages
