"""A file that is given as a history may be anything: what is none is named as such, and ends no other one's replay."""

import gzip
import json
from typing import Any

import pytest

from graph.histories import History, HistoryUnreadable
from tests.golden.gate import FILES

REAL = min(FILES, key=lambda file: file.stat().st_size)
LINES = [json.loads(line) for line in gzip.decompress(REAL.read_bytes()).splitlines()]
ARTIFACT = next(number for number, line in enumerate(LINES) if "artifact" in line)
CHECKPOINT = next(number for number, line in enumerate(LINES) if "checkpoint" in line)


def packed(lines: list[Any]) -> bytes:
    return gzip.compress("\n".join(map(json.dumps, lines)).encode())


def forged(number: int, *place: str, value: Any) -> bytes:
    """A history in one of whose lines something else stands in a place."""
    lines = json.loads(json.dumps(LINES))
    part = lines[number]
    for name in place[:-1]:
        part = part[name]
    part[place[-1]] = value
    return packed(lines)


def without(number: int, *place: str) -> bytes:
    """A history in one of whose lines a place is missing."""
    lines = json.loads(json.dumps(LINES))
    part = lines[number]
    for name in place[:-1]:
        part = part[name]
    del part[place[-1]]
    return packed(lines)


def flipped(content: bytes) -> bytes:
    """A file in whose middle the bytes are others: what follows refers to what is not there."""
    middle = len(content) // 2
    return content[:middle] + bytes(byte ^ 0xFF for byte in content[middle:])


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"no gzip", id="text"),
        pytest.param(REAL.read_bytes()[:-9], id="cut"),
        pytest.param(flipped(REAL.read_bytes()), id="flipped"),
        pytest.param(gzip.compress(b"[" * 100_000), id="deep"),
        pytest.param(gzip.compress(b"1"), id="number"),
        pytest.param(gzip.compress(b"\xff\xfe"), id="no text"),
        pytest.param(packed([LINES[0], 1]), id="line"),
        *(
            pytest.param(without(0, name), id=f"no {name}")
            for name in ("run_id", "text", "status", "workflow_version")
        ),
        pytest.param(forged(0, "run_id", value="x"), id="run"),
        pytest.param(forged(0, "run_id", value=7), id="number for run"),
        pytest.param(forged(ARTIFACT, "artifact", "id", value=2**70), id="artifact id"),
        pytest.param(forged(ARTIFACT, "artifact", "text", value=[]), id="artifact text"),
        pytest.param(forged(ARTIFACT, "artifact", "text", value="other"), id="other bytes"),
        pytest.param(forged(ARTIFACT, "artifact", "media_type", value="\ud800"), id="media type"),
        pytest.param(forged(ARTIFACT, "artifact", "media_type", value=None), id="no media type"),
        pytest.param(
            without(CHECKPOINT, "checkpoint", "record", "ledger_version"), id="no ledger version"
        ),
        pytest.param(
            forged(CHECKPOINT, "checkpoint", "record", "workflow_version", value="2"), id="version"
        ),
        pytest.param(forged(CHECKPOINT, "checkpoint", "checkpoint", value=[]), id="checkpoint"),
    ],
)
def test_what_is_no_history_is_named_as_such(content: bytes) -> None:
    with pytest.raises(HistoryUnreadable):
        History.read(content)


def test_a_history_is_read_and_packed_to_the_same_bytes() -> None:
    """What is checked when it is read is what is written."""
    assert History.read(REAL.read_bytes()).packed() == REAL.read_bytes()
