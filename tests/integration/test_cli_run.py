"""`perdure run` and `resume`: what they write, how they end, what they refuse."""

import json
import os
import subprocess
from pathlib import Path
from uuid import uuid4

import pytest
from pypdf import PdfWriter

from tests.support.commands import PERDURE, end, perdure, start

QUESTION = "Which lock does the ferry take?"
DOCUMENT = (
    "# Ferries\n\nThe ferry takes the northern lock at noon.\n\nBarges wait below the weir.\n"
)


@pytest.fixture(autouse=True)
def home(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A database and a home of this test's own, as a person would set them."""
    monkeypatch.setenv("PERDURE_DATABASE_URL", database_url)
    monkeypatch.setenv("PERDURE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def corpus(tmp_path: Path) -> str:
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "ferries.md").write_text(DOCUMENT)
    return str(folder)


def test_a_run_prints_its_report_and_where_it_was_saved(corpus: str, home: Path) -> None:
    ended = perdure("run", QUESTION, "--corpus", corpus)
    run_id = ended.run_id
    saved = home / "reports" / f"{run_id}.md"
    assert ended.code == 0
    assert "northern lock" in ended.text
    assert "[1]" in ended.text
    assert ended.text.strip() == saved.read_text().strip()
    assert f"report is in {saved}" in ended.messages
    assert f"perdure resume {run_id}" in ended.messages.splitlines()[0]
    assert "documents: 1 of 1" in ended.messages
    assert "t1 complete: 2 claims" in ended.messages
    assert "\x1b" not in ended.messages


def test_json_is_one_value_on_standard_output(corpus: str, home: Path) -> None:
    name = str(uuid4())
    ended = perdure("run", QUESTION, "--corpus", corpus, "--run-id", name, "--json")
    assert ended.code == 0
    assert ended.json == {
        "run_id": name,
        "status": "completed",
        "phase": "done",
        "report_path": str(home / "reports" / f"{name}.md"),
        "reviews": [],
    }


def test_a_question_that_the_material_does_not_answer_is_done_without_citations(
    corpus: str,
) -> None:
    ended = perdure("run", "Who painted the ceiling of the Sistine Chapel?", "--corpus", corpus)
    assert ended.code == 0
    assert "could be cited" in ended.text
    assert "[1]" not in ended.text


def test_the_question_is_read_from_standard_input(corpus: str) -> None:
    ended = perdure("run", "-", "--corpus", corpus, "--json", stdin=QUESTION.encode())
    assert ended.code == 0
    assert perdure("show", ended.json["run_id"], "--json").json["question"] == QUESTION


@pytest.mark.parametrize(
    ("stdin", "told"),
    [
        (b"", "the question is empty"),
        (b" \n\t ", "the question is empty"),
        (b"why? " * 20_000, "at most 8,000 are read"),
        (b"what is \x00?", "a NUL character at position 8"),
        (b"what is \xff\xfe?", "no valid text at position 8"),
    ],
    ids=["empty", "blank", "100 kB", "NUL", "no UTF-8"],
)
def test_a_question_that_cannot_be_researched_is_refused(stdin: bytes, told: str) -> None:
    ended = perdure("run", "-", "--corpus", "pydoc:topics", "--json", stdin=stdin)
    assert (ended.code, ended.output) == (2, b"")
    assert told in ended.messages
    assert perdure("runs", "--json").json == []


def test_bytes_that_are_no_text_are_refused_as_an_argument_too() -> None:
    ended = end(start("run", b"what is \xff?", "--corpus", "pydoc:topics"))
    assert (ended.code, ended.output) == (2, b"")
    assert "bytes that are no valid text at position 8" in ended.messages
    assert "Traceback" not in ended.messages


def test_a_long_argument_is_refused(corpus: str) -> None:
    ended = perdure("run", "why " * 25_000, "--corpus", corpus)
    assert ended.code == 2
    assert "--corpus" in ended.messages


def test_right_to_left_text_goes_through_unchanged(tmp_path: Path) -> None:
    page = tmp_path / "עברית.txt"
    page.write_text("המעבורת יוצאת בצהריים מהנמל הצפוני.\n")
    question = "המעבורת יוצאת מהנמל הצפוני"
    ended = perdure("run", question, "--corpus", str(page), "--json")
    assert ended.code == 0
    shown = perdure("show", ended.json["run_id"], "--json").json
    assert shown["question"] == question
    assert [citation["exact"] for citation in shown["citations"]] == [page.read_text().strip()]


def test_what_would_steer_a_terminal_is_shown_and_not_obeyed(tmp_path: Path) -> None:
    page = tmp_path / "page.txt"
    page.write_text(
        "The ferry takes the \x1b]0;owned\x07 northern [bold red]lock[/] \u202eat noon.\n"
    )
    ended = perdure("run", f"{QUESTION} \x1b\x9b", "--corpus", str(page))
    shown = perdure("show", ended.run_id)
    assert ended.code == shown.code == 0
    for written in (ended.text, ended.messages, shown.text, perdure("runs").text):
        assert not {"\x1b", "\x07", "\u202e"} & set(written)
    assert "bold red" in ended.text


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--corpus", "/does/not/exist"), "'/does/not/exist' does not exist"),
        ((), "there is nothing to research"),
        (("--corpus", "pydoc:topics", "--model", "hal"), "there is no model 'hal'"),
        (("--corpus", "pydoc:topics", "--review", "sometimes"), "--review: 'sometimes' is none of"),
        (("--corpus", "pydoc:topics", "--branches", "99"), "--branches"),
        (("--corpus", "pydoc:topics", "--run-id", "seven"), "--run-id"),
        (("--publisher", "file:x"), "No such option"),
        (("--corpus", "pydoc:topics", "--publish", "ftp:x"), "file:PATH, https://HOST/PATH"),
    ],
    ids=["no such path", "no corpus", "model", "review", "branches", "run id", "option", "target"],
)
def test_an_option_that_cannot_be_is_refused(arguments: tuple[str, ...], told: str) -> None:
    ended = perdure("run", QUESTION, *arguments)
    assert (ended.code, ended.output) == (2, b"")
    assert told in ended.messages


def test_an_empty_corpus_is_refused_with_what_was_skipped(tmp_path: Path) -> None:
    (tmp_path / "only.png").write_bytes(b"\x89PNG")
    ended = perdure("run", QUESTION, "--corpus", str(tmp_path), "--json")
    assert (ended.code, ended.output) == (2, b"")
    assert "no readable document" in ended.messages
    assert ".png" in ended.messages


def test_a_run_id_that_exists_is_refused_and_names_resume(corpus: str) -> None:
    name = perdure("run", QUESTION, "--corpus", corpus, "--json").json["run_id"]
    ended = perdure("run", QUESTION, "--corpus", corpus, "--run-id", name)
    assert ended.code == 2
    assert f"`perdure resume {name}`" in ended.messages


def test_a_finished_run_is_only_shown_by_resume(corpus: str) -> None:
    first = perdure("run", QUESTION, "--corpus", corpus)
    calls = perdure("journal", first.run_id, "--json").json
    ended = perdure("resume", first.run_id[:8])
    assert (ended.code, ended.text) == (0, first.text)
    assert perdure("journal", first.run_id, "--json").json == calls


def test_a_terminal_shows_tasks_live_on_standard_error_only(corpus: str) -> None:
    """A pseudo-terminal as standard error gets the display; standard output stays one JSON value."""
    ours, theirs = os.openpty()
    process = start(
        "run", f"\x1b]0;owned\x07{QUESTION}", "--corpus", corpus, "--json", stderr=theirs
    )
    os.close(theirs)
    drawn = b""
    try:
        while part := os.read(ours, 65_536):
            drawn += part
    except OSError:
        pass  # Linux: the other side is closed
    os.close(ours)
    ended = end(process)
    assert (ended.code, ended.json["status"]) == (0, "completed")
    assert b"documents" in drawn
    assert b"t1" in drawn
    assert b"complete" in drawn
    assert b"\x1b]0;" not in drawn


def test_no_color_is_honoured(corpus: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    ended = end(start("run", QUESTION, "--corpus", corpus))
    assert ended.code == 0
    assert b"\x1b" not in ended.output


def test_a_full_disk_behind_standard_output_is_an_error_and_no_traceback() -> None:
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(
            [PERDURE, "runs", "--json"], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert ended.returncode == 1
    assert b"No space left on device" in ended.stderr
    assert b"Traceback" not in ended.stderr


def test_unreadable_documents_are_listed_with_their_reasons(tmp_path: Path) -> None:
    folder = tmp_path / "mixed"
    folder.mkdir()
    (folder / "ferries.md").write_text(DOCUMENT)
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7\nnothing of a PDF follows")
    locked = PdfWriter()
    locked.add_blank_page(100, 100)
    locked.encrypt("secret")
    locked.write(folder / "locked.pdf")
    (folder / "gone.txt").symlink_to(folder / "nowhere")
    (folder / "picture.png").write_bytes(b"\x89PNG")
    (folder / "loop").symlink_to(folder)
    ended = perdure("run", QUESTION, "--corpus", str(folder), "--json")
    assert ended.code == 0
    skipped = perdure("show", ended.json["run_id"], "--json").json["skipped"]
    told = json.dumps(skipped)
    assert all(each["reason"] for each in skipped)
    for name in ("broken.pdf", "locked.pdf", "gone.txt", ".png", "loop"):
        assert name in told
    assert "broken.pdf" in perdure("show", ended.json["run_id"]).text
