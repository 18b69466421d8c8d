"""Commands that look: every field of the contract, exact bytes, and clear refusals. One finished run serves them all."""

import subprocess
from hashlib import sha256
from typing import Any

import pytest

from tests.support.commands import PERDURE, perdure

PAGE = b"<html><title>Ferries</title><body><p>The ferry takes the northern lock at noon.</p></body></html>"


def rows(*arguments: str) -> Any:
    ended = perdure(*arguments, "--json")
    assert ended.code == 0, ended.messages
    return ended.json


def test_runs_lists_the_fields_of_the_contract(finished: str) -> None:
    (row,) = rows("runs")
    assert set(row) == {
        *("run_id", "question", "status", "worker", "phase"),
        *("workflow_version", "created_at", "updated_at"),
    }
    assert row["run_id"] == finished
    assert finished in perdure("runs").text


def test_show_has_plan_findings_report_usage_citations_and_what_was_skipped(finished: str) -> None:
    shown = rows("show", finished)
    assert set(shown) == {
        *("run_id", "question", "status", "phase", "reason", "tasks", "findings"),
        *("report_markdown", "usage", "citations", "skipped"),
    }
    (task,) = shown["tasks"]
    assert set(task) == {"id", "question", "depends_on", "status", "attempts", "reason"}
    (finding,) = shown["findings"]
    assert set(finding) == {"finding_id", "task_id", "kind", "claim", "verdict", "evidence_ids"}
    assert shown["usage"] == {
        "calls": 0,
        "prompt_tokens": 0,
        "completion_tokens": 0,
        "cached_tokens": 0,
        "cost_usd": None,
    }
    (skipped,) = shown["skipped"]
    assert ".png" in skipped["reason"]
    text = perdure("show", finished[:13]).text
    assert "northern lock" in text
    assert ".png" in text


def test_a_citation_is_cut_from_the_artifact_that_it_names(finished: str) -> None:
    """Done when, 3: the text artifact cut at start:end is the quote, the content artifact is the file."""
    (citation,) = rows("show", finished)["citations"]
    assert set(citation) == {
        *("number", "evidence_id", "source_uri", "exact", "start", "end"),
        *("text_artifact", "content_artifact"),
    }
    text = perdure("artifact", citation["text_artifact"]).output.decode()
    assert text[citation["start"] : citation["end"]] == citation["exact"]
    assert perdure("artifact", citation["content_artifact"]).output == PAGE


def test_sources_names_the_bytes_and_the_text_of_each(finished: str) -> None:
    (source,) = rows("sources", finished)
    assert set(source) == {
        *("source_id", "uri", "canonical_uri", "title", "status", "retrieved_at"),
        *("content_artifact", "text_artifact", "extractor"),
    }
    assert source["content_artifact"] == f"sha256:{sha256(PAGE).hexdigest()}"
    assert source["source_id"] in perdure("sources", finished).text


def test_journal_has_every_attempt(finished: str) -> None:
    operations = rows("journal", finished)
    assert {operation["kind"] for operation in operations} == {"search", "read"}
    for operation in operations:
        assert set(operation) == {"operation_id", "task_id", "kind", "key", "status", "attempts"}
        (attempt,) = operation["attempts"]
        assert set(attempt) == {
            *(
                "number",
                "worker",
                "started_at",
                "ended_at",
                "outcome",
                "accepted",
                "reused",
                "reason",
            ),
        }
        assert attempt["accepted"]
    assert operations[0]["operation_id"] in perdure("journal", finished).text


def test_history_is_newest_first(finished: str) -> None:
    recorded = rows("history", finished)
    assert recorded[0]["boundary"] == "output_stored"
    assert recorded[-1]["boundary"] == "run_begun"
    assert {"checkpoint_id", "parent_checkpoint", "schema_version", "seal"} <= set(recorded[0])
    assert {record["seal"] for record in recorded} == {"valid"}
    places = {
        record["boundary"]: record["can_fork"] for record in recorded if not record["checkpoint_ns"]
    }
    # At the end there is no next step.
    assert not places.pop("output_stored")
    assert set(places.values()) == {True}
    assert {record["can_fork"] for record in recorded if record["checkpoint_ns"]} == {False}
    assert recorded[0]["checkpoint_id"] in perdure("history", finished).text


def test_a_finished_run_has_nothing_to_adopt(finished: str) -> None:
    assert "nothing to adopt" in perdure("adopt", finished, "--as", "ada").text
    assert rows("adopt", finished, "--as", "ada") == {"run_id": finished, "rows": 0, "adopted": 0}


def test_verify_finds_nothing_wrong_with_a_run_as_it_was_worked(finished: str) -> None:
    verified = rows("verify", finished)
    assert verified["ok"], verified
    assert [check["name"] for check in verified["checks"]] == [
        *(
            "rows",
            "artifacts",
            "quotes",
            "citations",
            "findings",
            "journal",
            "checkpoints",
            "effects",
            "audit log",
        ),
    ]
    assert all(set(check) == {"name", "ok", "detail"} for check in verified["checks"])
    assert "letter for letter" in perdure("verify", finished).text


@pytest.mark.parametrize("prefix", ["sha256:", ""], ids=["with sha256:", "without"])
def test_an_artifact_is_found_by_the_beginning_of_its_digest(finished: str, prefix: str) -> None:
    hexadecimal = sha256(PAGE).hexdigest()
    assert perdure("artifact", f"{prefix}{hexadecimal[:12]}").output == PAGE
    assert rows("artifact", f"{prefix}{hexadecimal}") == {
        "artifact_id": f"sha256:{hexadecimal}",
        "media_type": "text/html",
        "size_bytes": len(PAGE),
    }


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("show", "ffffffff"), "no run begins with 'ffffffff'"),
        (("show", "0b5cd5a2-6e3b-4c77-9a6e-3f1f6f2d9c11"), "no run begins with"),
        (("show", "../../etc"), "is no run id"),
        (("show", "%"), "is no run id"),
        (("show", ""), "is no run id"),
        (("show", "\udcff"), "no valid text at position 0"),
        (("resume", "ffffffff"), "`perdure runs` lists"),
        (("verify", "nonsense"), "`perdure runs` lists"),
        (("cancel", "nonsense"), "`perdure runs` lists"),
        (("reviews", "nonsense"), "`perdure runs` lists"),
        (("review", "rev_0"), "no review begins with 'rev_0'"),
        (("artifact", "sha256:0000000000000000"), "no artifact begins with"),
        (("artifact", "sha256:"), "is no digest"),
        (("artifact", "_"), "is no digest"),
    ],
    ids=lambda value: (
        " ".join(value).encode("ascii", "replace").decode() if isinstance(value, tuple) else ""
    ),
)
def test_a_name_that_nothing_has_is_refused(
    finished: str, arguments: tuple[str, ...], told: str
) -> None:
    ended = perdure(*arguments, *([] if arguments[0] == "artifact" else ["--json"]))
    assert (ended.code, ended.output) == (2, b"")
    assert ended.messages.startswith("perdure: ")
    assert told in ended.messages


def test_a_reader_that_leaves_early_causes_no_traceback(finished: str) -> None:
    digest = sha256(PAGE).hexdigest()
    process = subprocess.Popen(
        [PERDURE, "artifact", digest], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    messages = process.stderr.read()
    process.stderr.close()
    process.wait(60)
    assert messages == b""
