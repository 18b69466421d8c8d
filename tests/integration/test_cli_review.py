"""Reviews on the command line: shown in full, decided once, refused clearly."""

import json
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from tests.support.commands import Ended, perdure

QUESTION = "Which lock does the ferry take, and when do barges wait?"
DOCUMENT = (
    "The ferry takes the northern lock at noon.\n\nBarges wait below the weir when it rains.\n"
)
Paused = Callable[..., Ended]


@pytest.fixture
def paused(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Paused:
    """Start a run that stops for reviews and return how the command ended."""
    monkeypatch.setenv("PERDURE_DATABASE_URL", database_url)
    monkeypatch.setenv("PERDURE_HOME", str(tmp_path / "home"))
    page = tmp_path / "page.md"
    page.write_text(DOCUMENT)

    def run(kinds: str = "plan", *options: str) -> Ended:
        return perdure("run", QUESTION, "--corpus", str(page), "--review", kinds, *options)

    return run


def open_review(run_id: str) -> str:
    found = perdure("reviews", run_id, "--json").json
    (name,) = [review["review_id"] for review in found if review["status"] == "open"]
    return str(name)


def test_a_paused_run_says_what_to_decide_and_how(paused: Paused) -> None:
    ended = paused("plan")
    (review,) = perdure("reviews", "--json").json
    assert (ended.code, ended.output) == (3, b"")
    assert f"perdure review {review['review_id']} --approve --as YOU" in ended.messages
    assert f"perdure resume {review['run_id']}" in ended.messages
    assert set(review) == {
        *("review_id", "run_id", "kind", "status", "shown_digest", "asked_at"),
        *("decided_by", "decision", "shown"),
    }
    assert review["review_id"] in perdure("reviews").text


def test_json_of_a_paused_run_has_its_reviews(paused: Paused) -> None:
    ended = paused("plan", "--json")
    assert ended.code == 3
    assert ended.json["status"] == "paused"
    assert ended.json["report_path"] is None
    (review,) = ended.json["reviews"]
    assert review["status"] == "open"
    # Nothing was decided, so resuming changes nothing.
    again = perdure("resume", ended.json["run_id"], "--json")
    assert (again.code, again.json) == (3, ended.json)


def test_a_run_goes_through_all_its_reviews(paused: Paused) -> None:
    run_id = paused("plan,sources,report", "--json").json["run_id"]
    for kind in ("plan", "sources", "report"):
        name = open_review(run_id)
        shown = perdure("review", name)
        assert shown.code == 0
        assert f"of the {kind} of run {run_id}: open" in shown.text
        decided = perdure("review", name[:10], "--approve", "--as", "maria", "--json")
        assert decided.code == 0
        assert (decided.json["decision"], decided.json["decided_by"]) == ("approve", "maria")
        assert f"`perdure resume {run_id}` goes on" in decided.messages
        ended = perdure("resume", run_id)
        assert ended.code == (0 if kind == "report" else 3), ended.messages
    assert "northern lock" in perdure("show", run_id).text
    assert perdure("verify", run_id).code == 0


def test_a_rejected_run_is_cancelled(paused: Paused) -> None:
    run_id = paused("plan", "--json").json["run_id"]
    assert perdure("review", open_review(run_id), "--reject", "--as", "maria").code == 0
    ended = perdure("resume", run_id, "--json")
    assert (ended.code, ended.json["status"]) == (1, "cancelled")


def test_a_plan_is_edited_from_a_file_and_from_standard_input(
    paused: Paused, tmp_path: Path
) -> None:
    plan = {
        "tasks": [{"id": "t1", "question": "Which lock does the ferry take?", "depends_on": []}]
    }
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(plan))
    for argument, stdin in ((str(file), b""), ("-", file.read_bytes())):
        run_id = paused("plan", "--json").json["run_id"]
        name = open_review(run_id)
        decided = perdure("review", name, "--edit", argument, "--as", "maria", stdin=stdin)
        assert decided.code == 0, decided.messages
        assert perdure("resume", run_id).code == 0
        shown = perdure("show", run_id, "--json").json
        worked = [task["question"] for task in shown["tasks"] if task["status"] != "superseded"]
        assert worked == ["Which lock does the ferry take?"]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"{tasks: 1}", "is no JSON"),
        (b"\xff\xfe\xff", "is no JSON"),
        (b"[" * 200_000, "is no JSON"),
        (b"7", "perdure: "),
        (b'{"tasks": [{"id": "t1", "question": "\\ud800", "depends_on": []}]}', "perdure: "),
        (b" " * 2_000_000, "more than 1,000,000 bytes"),
    ],
    ids=["no JSON", "no UTF-8", "too deep", "no plan", "lone surrogate", "too long"],
)
def test_an_edit_that_cannot_be_used_is_refused_and_the_review_stays_open(
    paused: Paused, content: bytes, told: str
) -> None:
    run_id = paused("plan", "--json").json["run_id"]
    name = open_review(run_id)
    ended = perdure("review", name, "--edit", "-", "--as", "maria", "--json", stdin=content)
    assert (ended.code, ended.output) == (2, b"")
    assert told in ended.messages
    assert open_review(run_id) == name


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--approve",), "add --as NAME"),
        (("--approve", "--as", " "), "add --as NAME"),
        (("--approve", "--reject", "--as", "maria"), "one decision, not --approve and --reject"),
        (("--as", "maria"), "belong to a decision"),
        (("--approve", "--as", "\udcff"), "no valid text at position 0"),
        (("--edit", "/does/not/exist", "--as", "maria"), "No such file"),
        (("--respond", " ", "--as", "maria"), "an answer needs words"),
    ],
    ids=["no one", "blank", "two decisions", "none", "no text", "no file", "no words"],
)
def test_options_that_are_no_decision_are_refused(
    paused: Paused, options: tuple[str, ...], told: str
) -> None:
    name = open_review(paused("plan", "--json").json["run_id"])
    ended = perdure("review", name, *options)
    assert ended.code == 2
    assert told in ended.messages


def test_a_decided_review_is_refused_with_what_was_decided(paused: Paused) -> None:
    run_id = paused("plan", "--json").json["run_id"]
    name = open_review(run_id)
    assert perdure("review", name, "--approve", "--as", "maria").code == 0
    ended = perdure("review", name, "--reject", "--as", "paul", "--json")
    assert (ended.code, ended.output) == (2, b"")
    assert "was decided already (approve by maria)" in ended.messages
    assert f"`perdure resume {run_id}`" in ended.messages


def test_a_stale_review_is_refused(paused: Paused, database_url: str) -> None:
    run_id = paused("plan", "--json").json["run_id"]
    name = open_review(run_id)
    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE ledger.reviews SET status = 'stale'")
    ended = perdure("review", name, "--approve", "--as", "maria")
    assert ended.code == 2
    assert "is stale" in ended.messages
    assert f"`perdure reviews {run_id}`" in ended.messages
