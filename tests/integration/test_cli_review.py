"""Reviews on the command line: shown in full, decided once, refused clearly."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.support.commands import Ended, perdure
from tests.support.postgres import temporary_database

QUESTION = "Which lock does the ferry take, and when do barges wait?"
DOCUMENT = (
    "The ferry takes the northern lock at noon.\n\nBarges wait below the weir when it rains.\n"
)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    page = tmp_path_factory.mktemp("corpus") / "page.md"
    page.write_text(DOCUMENT)
    return str(page)


@pytest.fixture(scope="module")
def waiting(
    server_url: str, template: str, tmp_path_factory: pytest.TempPathFactory, page: str
) -> Iterator[tuple[str, Ended]]:
    """The name of a database in which a run waits for the review of its plan, and how its command ended."""
    with (
        temporary_database(server_url, template=template) as url,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("PERDURE_DATABASE_URL", url)
        patch.setenv("PERDURE_HOME", str(tmp_path_factory.mktemp("home")))
        ended = perdure(
            "run", QUESTION, "--corpus", page, "--review", "plan,sources,report", "--json"
        )
        yield urlsplit(url).path.removeprefix("/"), ended


@pytest.fixture
def database(
    server_url: str, waiting: tuple[str, Ended], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """A copy of that database for one test."""
    with temporary_database(server_url, template=waiting[0]) as url:
        monkeypatch.setenv("PERDURE_DATABASE_URL", url)
        monkeypatch.setenv("PERDURE_HOME", str(tmp_path / "home"))
        yield url


@pytest.fixture
def run_id(database: str, waiting: tuple[str, Ended]) -> str:
    """The run that waits in it."""
    assert database
    name: str = waiting[1].json["run_id"]
    return name


def open_review(run_id: str) -> str:
    found = perdure("reviews", run_id, "--json").json
    (name,) = [review["review_id"] for review in found if review["status"] == "open"]
    return str(name)


def test_a_paused_run_says_what_to_decide_and_how(waiting: tuple[str, Ended], run_id: str) -> None:
    """As one JSON value, and in words on standard error."""
    ended = waiting[1]
    (review,) = perdure("reviews", "--json").json
    assert ended.code == 3
    assert ended.json == {
        "run_id": run_id,
        "status": "paused",
        "phase": "plan",
        "report_path": None,
        "reviews": [review],
    }
    assert set(review) == {
        *("review_id", "run_id", "kind", "status", "shown_digest", "asked_at"),
        *("decided_by", "decision", "shown"),
    }
    assert f"perdure review {review['review_id']} --as YOU   with --approve or" in ended.messages
    assert f"perdure resume {run_id}" in ended.messages
    assert review["review_id"] in perdure("reviews").text


def test_resuming_an_undecided_run_changes_nothing(waiting: tuple[str, Ended], run_id: str) -> None:
    again = perdure("resume", run_id)
    assert (again.code, again.output) == (3, b"")
    assert perdure("resume", run_id, "--json").json == waiting[1].json


def test_a_run_goes_through_all_its_reviews(run_id: str) -> None:
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


def test_a_rejected_run_is_cancelled(run_id: str) -> None:
    assert perdure("review", open_review(run_id), "--reject", "--as", "maria").code == 0
    ended = perdure("resume", run_id, "--json")
    assert (ended.code, ended.json["status"]) == (1, "cancelled")


@pytest.mark.parametrize("from_file", [True, False], ids=["file", "standard input"])
def test_an_edited_plan_is_worked_as_edited(run_id: str, tmp_path: Path, from_file: bool) -> None:
    task = {"id": "t1", "question": "Which lock does the ferry take?", "depends_on": []}
    file = tmp_path / "plan.json"
    file.write_text(json.dumps({"tasks": [task]}))
    given, stdin = (str(file), b"") if from_file else ("-", file.read_bytes())
    name = open_review(run_id)
    decided = perdure("review", name, "--edit", given, "--as", "maria", stdin=stdin)
    assert decided.code == 0, decided.messages
    assert perdure("resume", run_id).code == 3
    shown = perdure("show", run_id, "--json").json
    worked = [each["question"] for each in shown["tasks"] if each["status"] == "complete"]
    assert worked == [task["question"]]


def editor(folder: Path, before: str, after: str) -> str:
    """Return an editor that puts one text in the place of another."""
    program = folder / "editor.py"
    program.write_text(
        "import pathlib, sys\n"
        "file = pathlib.Path(sys.argv[-1])\n"
        f"file.write_text(file.read_text().replace({before!r}, {after!r}))\n"
    )
    return f"{sys.executable} {program}"


def test_a_plan_is_edited_in_an_editor_and_the_change_is_shown(
    run_id: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDITOR", editor(tmp_path, "when do barges wait", "when do barges go"))
    monkeypatch.delenv("VISUAL", raising=False)
    name = open_review(run_id)
    decided = perdure("review", name, "--edit", "--as", "maria", "--comment", "not wait")
    assert decided.code == 0, decided.messages
    shown = perdure("review", name).text
    for told in (decided.messages, shown):
        assert any(line.startswith("-") and "barges wait" in line for line in told.splitlines())
        assert any(line.startswith("+") and "barges go" in line for line in told.splitlines())
    assert "edit by maria" in shown
    assert "comment: not wait" in shown


def test_nobody_edits_what_is_decided_already_or_where_there_is_no_terminal(
    run_id: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = open_review(run_id)
    for variable in ("VISUAL", "EDITOR"):
        monkeypatch.delenv(variable, raising=False)
    ended = perdure("review", name, "--edit", "--as", "maria")
    assert (ended.code, "give --edit FILE" in ended.messages) == (2, True), ended.messages
    assert perdure("review", name, "--approve", "--as", "maria").code == 0
    opened = tmp_path / "opened"
    monkeypatch.setenv("EDITOR", f"touch {opened}")
    ended = perdure("review", name, "--edit", "--as", "maria")
    assert (ended.code, "was decided already" in ended.messages) == (2, True), ended.messages
    assert not opened.exists()


def test_an_editor_that_changes_nothing_or_fails_records_nothing(
    run_id: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = open_review(run_id)
    monkeypatch.delenv("VISUAL", raising=False)
    for program, told in (
        (editor(tmp_path, "zebra", "okapi"), "nothing was changed"),
        (f"{sys.executable} -c exit(3)", "set EDITOR, or give a file"),
    ):
        monkeypatch.setenv("EDITOR", program)
        ended = perdure("review", name, "--as", "maria", "--edit")
        assert (ended.code, told in ended.messages) == (2, True), ended.messages
    assert open_review(run_id) == name


def test_the_text_of_a_report_is_edited_checked_and_asked_for_again(
    run_id: str, tmp_path: Path
) -> None:
    for _ in ("plan", "sources"):
        assert perdure("review", open_review(run_id), "--approve", "--as", "maria").code == 0
        assert perdure("resume", run_id).code == 3
    name = open_review(run_id)
    text = perdure("review", name, "--json").json["form"]["text"]
    file = tmp_path / "report.md"
    file.write_text(text.replace("northern lock", "southern lock") + "\n\nBye. [9]\n")
    refused = perdure("review", name, "--edit", str(file), "--as", "maria")
    assert refused.code == 0, "behind the list of citations nothing is read"
    assert perdure("resume", run_id).code == 3
    again = perdure("review", open_review(run_id), "--json").json
    assert "southern lock" in again["form"]["text"]
    assert "*(the quotes do not support this:" in again["form"]["text"]
    wrong = tmp_path / "wrong.md"
    wrong.write_text("# Lock\n\nIt is. [9]\n")
    refused = perdure("review", again["review_id"], "--edit", str(wrong), "--as", "maria")
    assert (refused.code, "cites [9]" in refused.messages) == (2, True), refused.messages
    assert perdure("review", again["review_id"], "--approve", "--as", "maria").code == 0
    assert perdure("resume", run_id).code == 0
    report = perdure("show", run_id, "--json").json
    assert "southern lock" in report["report_markdown"]
    assert report["citations"]
    assert perdure("verify", run_id).code == 0


def test_two_people_decide_where_two_are_wanted(database: str, page: str) -> None:
    assert database
    begun = perdure(
        "run", QUESTION, "--corpus", page, "--review", "plan", "--two-persons", "plan", "--json"
    )
    (review,) = begun.json["reviews"]
    name = review["review_id"]
    first = perdure("review", name, "--approve", "--as", "maria")
    assert (first.code, "2 different people" in first.messages) == (0, True)
    assert "vote: approve by maria" in perdure("review", name).text
    again = perdure("review", name, "--approve", "--as", "Maria")
    assert (again.code, "has spoken" in again.messages) == (2, True)
    assert perdure("review", name, "--approve", "--as", "paul").code == 0
    assert perdure("resume", begun.json["run_id"]).code == 0


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
    run_id: str, content: bytes, told: str
) -> None:
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
    run_id: str, options: tuple[str, ...], told: str
) -> None:
    name = open_review(run_id)
    ended = perdure("review", name, *options)
    assert ended.code == 2
    assert told in ended.messages


def test_a_decided_review_is_refused_with_what_was_decided(run_id: str) -> None:
    name = open_review(run_id)
    assert perdure("review", name, "--approve", "--as", "maria").code == 0
    ended = perdure("review", name, "--reject", "--as", "paul", "--json")
    assert (ended.code, ended.output) == (2, b"")
    assert "was decided already (approve by maria)" in ended.messages
    assert f"`perdure resume {run_id}`" in ended.messages


def test_a_stale_review_is_refused(run_id: str) -> None:
    name = open_review(run_id)
    assert perdure("cancel", run_id).code == 0
    ended = perdure("review", name, "--approve", "--as", "maria")
    assert ended.code == 2
    assert "is stale" in ended.messages
    assert f"`perdure reviews {run_id}`" in ended.messages
