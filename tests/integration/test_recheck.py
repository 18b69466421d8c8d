"""A recheck reads the documents again and says what became of each quote; what the run kept, and its report, stay."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import perdure

BEANS = (
    "# Beans\n\nRunner beans climb a pole that is two metres high. They are sown in May, after the last frost. A bean"
    " plant fixes nitrogen from the air with the help of bacteria in its roots.\n"
)
QUESTION = "When are runner beans sown?"


@pytest.fixture
def page(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PERDURE_DATABASE_URL", database_url)
    monkeypatch.setenv("PERDURE_HOME", str(tmp_path / "home"))
    path = tmp_path / "corpus" / "sown beans.md"
    path.parent.mkdir()
    path.write_text(BEANS)
    return path


def rows(*arguments: str) -> Any:
    ended = perdure(*arguments, "--json")
    assert ended.code == 0, ended.messages
    return ended.json


def run_over(page: Path) -> str:
    run_id: str = rows("run", QUESTION, "--corpus", str(page.parent), "--review", "none")["run_id"]
    return run_id


def rechecked(run_id: str) -> tuple[dict[str, Any], dict[str, Any]]:
    (source,) = rows("sources", run_id, "--recheck")
    assert set(source) == {"source_id", "uri", "state", "reason", "citations"}
    (quote,) = [each for each in source["citations"] if "sown in May" in each["exact"]]
    assert set(quote) == {
        *("number", "evidence_id", "exact", "state", "start", "end", "similarity"),
    }
    return source, quote


def status_of(run_id: str) -> str:
    (source,) = rows("sources", run_id)
    status: str = source["status"]
    return status


def test_what_is_as_it_was_is_told_so_and_every_recheck_is_recorded(page: Path) -> None:
    run_id = run_over(page)
    for times in (1, 2):
        source, quote = rechecked(run_id)
        assert (source["state"], quote["state"], status_of(run_id)) == ("same", "same", "retained")
        kinds = [each["kind"] for each in rows("journal", run_id)]
        assert kinds.count("recheck") == times
    assert perdure("verify", run_id).code == 0


def test_a_document_that_changed_is_told_with_its_quotes_and_the_report_stays(page: Path) -> None:
    run_id = run_over(page)
    shown = rows("show", run_id)
    page.write_text("# Peas\n\nPeas are sown in March.\n\n" + BEANS)
    source, quote = rechecked(run_id)
    assert (source["state"], quote["state"], quote["similarity"]) == ("changed", "moved", 100.0)
    page.write_text(BEANS.replace("in May", "in June"))
    _, quote = rechecked(run_id)
    assert quote["state"] == "changed"
    assert 0 < quote["similarity"] < 100
    assert status_of(run_id) == "changed"
    page.write_text("# Beans\n\nNothing is known of beans.\n")
    _, quote = rechecked(run_id)
    assert (quote["state"], quote["start"], quote["similarity"]) == ("gone", None, None)
    assert rows("show", run_id) == shown
    text = perdure("artifact", rows("sources", run_id)[0]["text_artifact"]).text
    assert "sown in May" in text, "the bytes that were read stay citable"
    assert perdure("verify", run_id).code == 0


def test_a_document_that_is_gone_is_unavailable_until_it_is_there_again(page: Path) -> None:
    run_id = run_over(page)
    page.unlink()
    (source,) = rows("sources", run_id, "--recheck")
    assert (source["state"], source["citations"]) == ("unavailable", [])
    assert "no such file" in source["reason"]
    assert status_of(run_id) == "unavailable"
    told = perdure("sources", run_id, "--recheck")
    assert "unavailable" in told.text
    page.write_text(BEANS)
    assert rechecked(run_id)[0]["state"] == "same"
    assert status_of(run_id) == "retained"
    assert perdure("verify", run_id).code == 0
