"""What `perdure doctor` finds out about the endpoint of a model, and what a recovery asks of it again; the server counts."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ledger.ids import new_run_id
from nodes.models.outcomes import QUESTIONS
from nodes.models.probes import ROOM_TOKENS
from tests.support.commands import Ended, perdure
from tests.support.mind import sensible
from tests.support.moonshot.faults import Fault, FaultKind
from tests.support.moonshot.server import KEY, MoonshotServer, moonshot_server
from tests.support.runtimes import QUESTION, write_corpus

UNREACHABLE = "postgresql://maria:secret@127.0.0.1:1/perdure"
ALL = ["model", *(f"model: {question}" for question in QUESTIONS[1:])]
TODAY = r"verified \d{4}-\d\d-\d\d"


@pytest.fixture
def server(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[MoonshotServer]:
    """A server that the settings name, with its key."""
    with moonshot_server(sensible) as server:
        monkeypatch.setenv("PERDURE_DATABASE_URL", database_url)
        monkeypatch.setenv("PERDURE_HOME", str(tmp_path / "home"))
        monkeypatch.setenv("PERDURE_MODEL", "kimi-k3")
        monkeypatch.setenv("PERDURE_MODEL_BASE_URL", server.url)
        monkeypatch.setenv("PERDURE_MODEL_KEY", "env:DOCTOR_TEST_KEY")
        monkeypatch.setenv("DOCTOR_TEST_KEY", KEY)
        yield server


def checks(ended: Ended) -> dict[str, dict[str, Any]]:
    assert KEY not in ended.text + ended.messages
    return {check["name"]: check for check in ended.json["checks"]}


def failed(ended: Ended) -> set[str]:
    return {name for name, check in checks(ended).items() if not check["ok"]}


def details(ended: Ended) -> dict[str, str]:
    return {name: check["detail"] for name, check in checks(ended).items()}


def test_all_that_is_documented_of_kimi_is_verified_by_five_short_calls(
    server: MoonshotServer,
) -> None:
    ended = perdure("doctor", "--json")
    assert (ended.code, failed(ended)) == (0, set()), ended.text
    told = checks(ended)
    assert [name for name in told if name.startswith("model")] == ALL
    assert all(told[name]["verified"] and told[name]["checked_at"] for name in ALL)
    assert all(re.search(TODAY, told[name]["detail"]) for name in ALL)
    assert "verified" not in told["database"]
    # Those that were refused cost nothing; of the others, so much was allowed.
    answers = [each.outcome.answer for each in server.calls if each.outcome]
    assert [answer is not None for answer in answers] == [True, True, True, False, False]
    assert sum(answer.usage.prompt for answer in answers if answer) < 6_000
    rooms = [each.chat.completion_tokens_max for each in server.calls]
    assert max(room or 0 for room in rooms) == ROOM_TOKENS


def test_what_was_verified_is_still_known_when_the_endpoint_is_away(
    server: MoonshotServer,
) -> None:
    assert perdure("doctor").code == 0
    with server.away():
        ended = perdure("doctor", "--json")
    assert (ended.code, failed(ended)) == (1, {"model"})
    told = checks(ended)
    assert not any(told[name]["verified"] for name in ALL)
    for name in ALL:
        assert re.search(rf"not verified: .* \({TODAY} before\)", told[name]["detail"])
    assert "does not answer" in told["model"]["detail"]
    assert told["database"]["ok"]


def test_a_refused_key_is_told_once_and_nothing_more_is_asked(
    server: MoonshotServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCTOR_TEST_KEY", "sk-revoked")
    ended = perdure("doctor", "--json")
    assert (ended.code, failed(ended)) == (1, {"model", "model: key"})
    assert "refuses our key (HTTP 401)" in details(ended)["model: key"]
    assert details(ended)["model: structured output"].startswith("not verified: ")
    assert "sk-revoked" not in ended.text
    assert (len(server.calls), server.log.billed_tokens) == (1, 0)


def test_without_a_key_nobody_is_asked(
    server: MoonshotServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PERDURE_MODEL_KEY")
    ended = perdure("doctor", "--json")
    assert (ended.code, failed(ended)) == (1, {"model", "model: key"})
    assert "put a valid one where PERDURE_MODEL_KEY says that it is" in details(ended)["model: key"]
    assert server.requests == []


@pytest.mark.parametrize("reference", ["env:DOCTOR_NO_KEY", "file:/nowhere/key"])
def test_a_key_that_is_not_where_it_is_said_to_be_is_a_check_that_failed(
    server: MoonshotServer, monkeypatch: pytest.MonkeyPatch, reference: str
) -> None:
    monkeypatch.setenv("PERDURE_MODEL_KEY", reference)
    ended = perdure("doctor", "--json")
    assert ended.code == 1, ended.messages
    told = [each["detail"] for each in checks(ended).values() if not each["ok"]]
    assert any(f"there is no key at {reference}" in each for each in told)
    assert checks(ended)["database"]["ok"]
    assert server.requests == []


def test_what_another_path_of_the_server_is_says_nothing_of_this_one(
    server: MoonshotServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert perdure("doctor").code == 0
    monkeypatch.setenv("PERDURE_MODEL_BASE_URL", f"{server.url}/elsewhere")
    assert perdure("doctor").code == 1
    monkeypatch.setenv("PERDURE_MODEL_BASE_URL", server.url)
    with server.away():
        told = details(perdure("doctor", "--json"))
    assert re.search(rf"not verified: .* \({TODAY} before\)", told["model"])


def test_a_model_that_is_neither_listed_nor_answers_to_its_name_is_unknown(
    server: MoonshotServer,
) -> None:
    server.models = ["kimi-k4", "kimi-k5"]
    ended = perdure("doctor", "--json")
    assert (ended.code, failed(ended)) == (1, {"model", "model: listing"})
    assert "is not among the 2 models that are listed" in details(ended)["model: listing"]
    assert "knows no model kimi-k3" in details(ended)["model"]
    assert server.log.billed_tokens == 0


@pytest.mark.parametrize(
    ("kind", "names", "seen"),
    [
        (FaultKind.SCHEMA_BROKEN, {"model: structured output"}, "lacks word"),
        (FaultKind.MALFORMED_CONTENT, {"model: structured output"}, "it is no JSON"),
        (FaultKind.EMPTY_CONTENT, {"model: structured output"}, "the answer is empty"),
        (FaultKind.LENGTH, set[str](), "used up its room"),
        (FaultKind.OVERLOADED, {"model"}, "is overloaded"),
        (FaultKind.TOKENS_PER_DAY, {"model"}, "limit of tokens per day"),
        (FaultKind.SERVER_ERROR, {"model"}, "does not answer: HTTP 500"),
        (FaultKind.CUT_IN_STREAM, {"model"}, "before it was complete"),
        (FaultKind.BODY_NOT_JSON, {"model"}, "malformed"),
        (FaultKind.QUOTA, {"model"}, "balance or quota is used up"),
    ],
)
def test_a_call_that_fails_hides_no_other_question(
    server: MoonshotServer, kind: FaultKind, names: set[str], seen: str
) -> None:
    server.schedule = (Fault(kind),)
    ended = perdure("doctor", "--json")
    assert failed(ended) == names
    assert ended.code == bool(names)
    told = checks(ended)
    assert seen in told["model: structured output"]["detail"]
    assert not told["model: structured output"]["verified"]
    if kind is not FaultKind.QUOTA:
        for name in ("listing", "tool calls", "unknown model", "sampling values", "balance"):
            assert told[f"model: {name}"]["verified"], told[f"model: {name}"]


def test_sampling_that_the_endpoint_refuses_is_found(
    server: MoonshotServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Kimi model that is set up as if it were any other."""
    monkeypatch.setenv("PERDURE_MODEL", "openai:kimi-k3")
    ended = perdure("doctor", "--json")
    assert failed(ended) == {"model", "model: structured output"}
    assert "it fixes a sampling value that was sent" in details(ended)["model"]
    assert "model: balance" not in checks(ended)
    assert server.log.billed_tokens == 0


def test_a_context_that_is_smaller_than_we_count_on_is_told(server: MoonshotServer) -> None:
    server.window_tokens = 65_536
    ended = perdure("doctor", "--json")
    assert failed(ended) == {"model: context"}
    assert "set PERDURE_MODEL_CONTEXT=65536" in details(ended)["model: context"]


def test_the_endpoint_is_asked_where_there_is_no_database_to_keep_it(
    server: MoonshotServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERDURE_DATABASE_URL", UNREACHABLE)
    ended = perdure("doctor", "--json")
    assert (ended.code, failed(ended)) == (1, {"database"})
    told = checks(ended)
    assert all(told[name]["verified"] and told[name]["checked_at"] is None for name in ALL)
    assert server.log.billed_tokens > 0


@pytest.fixture
def paused(server: MoonshotServer, tmp_path: Path) -> str:
    """A run that waits for the review of its plan."""
    assert server.calls == []
    corpus = write_corpus(tmp_path / "garden")
    name = str(new_run_id())
    ended = perdure(
        *("run", QUESTION, "--corpus", str(corpus), "--review", "plan", "--run-id", name)
    )
    assert ended.code == 3, ended.messages
    return name


def model_asked(run_id: str) -> tuple[bool, str]:
    """Return what the newest recovery of a run was told of its model."""
    newest = perdure("explain", run_id, "--json").json[0]
    (asked,) = [each for each in newest["asked"] if each["name"] == "model"]
    return asked["ok"], asked["detail"]


def approve(run_id: str) -> None:
    (review,) = perdure("reviews", run_id, "--json").json
    assert perdure("review", review["review_id"], "--approve", "--as", "ada").code == 0


def test_a_run_whose_key_was_revoked_waits_for_another(
    server: MoonshotServer, paused: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    approve(paused)
    server.keys = {"sk-new"}
    before = len(server.calls)
    ended = perdure("resume", paused)
    assert ended.code == 4
    assert "refuses our key (HTTP 401)" in ended.messages
    assert "PERDURE_MODEL_KEY" in ended.messages
    assert len(server.calls) == before
    assert model_asked(paused)[0] is False
    monkeypatch.setenv("DOCTOR_TEST_KEY", "sk-new")
    assert perdure("doctor").code == 0
    ended = perdure("resume", paused)
    assert ended.code == 0, ended.messages
    ok, detail = model_asked(paused)
    assert ok
    assert "listed there now" in detail
    assert re.search(rf"structured output {TODAY}", detail)


def test_a_run_whose_model_is_gone_waits(server: MoonshotServer, paused: str) -> None:
    approve(paused)
    models, server.models = server.models, ["kimi-k4"]
    ended = perdure("resume", paused)
    assert ended.code == 4
    assert "knows no model kimi-k3" in ended.messages
    billed = server.log.billed_tokens
    server.models = models
    assert perdure("resume", paused).code == 0
    assert server.log.billed_tokens > billed


def test_an_endpoint_that_is_away_keeps_no_run_from_going_on(
    server: MoonshotServer, paused: str
) -> None:
    with server.away():
        ended = perdure("resume", paused)
    # The review is still open, and nothing was asked of the model.
    assert ended.code == 3, ended.messages
    ok, detail = model_asked(paused)
    assert ok
    assert "not known to be there now" in detail
    assert "does not answer" in detail
    assert "structured output not verified" in detail
