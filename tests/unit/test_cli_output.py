"""What reaches a terminal, and what it costs to start."""

import subprocess
import sys
from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.cli import exits, shapes
from graph.cli.exits import Code, Interrupted, code_of, translated
from graph.cli.output import clean, one_line
from graph.cli.progress import Lines
from graph.errors import NewerWorkflow, StateInvalid, UnknownWorkflow, UpgradeNeeded
from ledger.errors import LeaseLost, LedgerError, NotFound, RunHeld
from ledger.journal import Attempt, Operation
from nodes.options import BadInput

RUN = UUID(int=7)


@given(st.text(st.characters(codec=None)))
def test_cleaned_text_can_be_written_and_steers_nothing(text: str) -> None:
    cleaned = clean(text)
    cleaned.encode()
    assert len(cleaned) == len(text)
    assert not any(ord(character) < 32 and character not in "\n\t" for character in cleaned)
    assert not set("\x7f\x9b\u202e\u2066") & set(cleaned)


def test_text_in_other_directions_and_scripts_stays_as_it_is() -> None:
    for text in ("מתי יוצאת המעבורת?", "متى تبحر العبارة؟", "e\u0301 \u200f 🛶", "a\tb\nc"):
        assert clean(text) == text


def test_one_line_is_one_line() -> None:
    assert one_line("a\n  b\r\n\tc\u2028d") == "a b c d"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (BadInput("x"), 2),
        (NotFound("x"), 2),
        (RunHeld(RUN, "other"), 5),
        (LeaseLost("other"), 5),
        (UnknownWorkflow("x", 1, []), 4),
        (NewerWorkflow("x", 3, 2), 4),
        (UpgradeNeeded(RUN, 1, 2), 4),
        (StateInvalid("plan", ["x"]), 4),
        (LedgerError("x"), 1),
        (OSError(28, "No space left on device", "/x"), 1),
        (Interrupted("0199"), 130),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_an_error_ends_with_its_code_and_one_message(
    error: Exception, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended, translated():
        raise error
    written = capsys.readouterr()
    assert (ended.value.code, written.out) == (code, "")
    assert written.err.startswith("perdure: ")
    assert len(written.err.splitlines()) == 1


def test_a_full_disk_says_what_to_free_and_how_to_go_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit), translated():
        raise OSError(28, "No space left on device", "/x/reports")
    told = capsys.readouterr().err
    assert "/x/reports" in told
    assert "free some space" in told
    assert "`perdure resume RUN`" in told


def test_a_defect_keeps_its_traceback() -> None:
    with pytest.raises(ZeroDivisionError), translated():
        raise ZeroDivisionError


def test_every_status_of_a_run_has_its_code() -> None:
    codes = {"completed": 0, "failed": 1, "cancelled": 1, "paused": 3, "blocked": 4, "running": 1}
    for status, code in codes.items():
        assert code_of(status) == code  # type: ignore[arg-type]
    assert str(int(Code.INTERRUPTED)) in (exits.__doc__ or "")


def test_a_long_ingest_is_told_in_ten_steps(capsys: pytest.CaptureFixture[str]) -> None:
    lines = Lines()
    for done in range(1, 5_001):
        lines.ingesting(done, 5_000, f"file:///{done}")
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 11
    assert told[-1] == "documents: 5000 of 5000"


def test_progress_remembers_the_run_that_it_was_told_of(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = Lines()
    assert lines.begun is None
    lines.phase(RUN, "begin", "")
    lines.task(RUN, "t1", "searching", "what\x1b[2J is\nthis?")
    assert lines.begun == RUN
    told = capsys.readouterr().err.splitlines()
    assert f"perdure resume {RUN}" in told[0]
    assert told[1:] == ["t1 searching: what�[2J is this?"]


def test_usage_counts_the_calls_of_a_model_only() -> None:
    usage = {"prompt_tokens": 5.0, "completion_tokens": 2.0, "cost_usd": 0.5}
    operations = [_operation("model", usage, usage), _operation("search", {})]
    assert shapes.usage_of(operations) == {
        "calls": 2,
        "prompt_tokens": 10,
        "completion_tokens": 4,
        "cached_tokens": 0,
        "cost_usd": 1.0,
    }


def test_looking_imports_neither_langgraph_nor_retrieval() -> None:
    """Listing runs must not wait seconds for what works them."""
    heavy = "langgraph langchain_core trafilatura bm25s numpy httpx pypdf"
    code = f"import sys, graph.cli.main; print([m for m in '{heavy}'.split() if m in sys.modules])"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert ended.stdout.strip() == b"[]", ended.stdout


def _operation(kind: str, *usages: dict[str, float]) -> Operation:
    return Operation(
        operation_id="op",
        task_id="t1",
        kind=kind,
        key="sha256:0",
        status="open",
        request={},
        attempts=tuple(
            Attempt(
                number=number,
                worker="w",
                fence=1,
                settings={},
                started_at=datetime(2026, 1, 1, tzinfo=UTC),
                ended_at=None,
                outcome="started",
                reason=None,
                response_id=None,
                usage=usage,
                received=False,
                accepted=False,
            )
            for number, usage in enumerate(usages, start=1)
        ),
    )
