"""Runs the command `perdure`: in this process where that is enough, as a process of its own where processes matter."""

import json
import signal
import subprocess
import sys
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any
from unittest import mock
from uuid import UUID

from graph.cli.main import main

PERDURE = str(Path(sys.executable).parent / "perdure")
# A run of these tests takes two seconds on an idle machine.
SECONDS_MAX = 120


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended and what it wrote."""

    code: int
    output: bytes
    messages: str

    @property
    def text(self) -> str:
        return self.output.decode()

    @property
    def run_id(self) -> str:
        """The run that the command told of, first of all, on standard error."""
        return str(UUID(self.messages.split()[1]))

    @property
    def json(self) -> Any:
        return json.loads(self.output)


def perdure(*arguments: str, stdin: bytes = b"") -> Ended:
    """Run a command in this process; its settings are this process's environment."""
    output, messages = (TextIOWrapper(BytesIO(), "utf-8", write_through=True) for _ in range(2))
    before = signal.getsignal(signal.SIGTERM)
    with ExitStack() as stack:
        stack.callback(signal.signal, signal.SIGTERM, before)
        stack.enter_context(redirect_stdout(output))
        stack.enter_context(redirect_stderr(messages))
        stack.enter_context(mock.patch("sys.stdin", TextIOWrapper(BytesIO(stdin), "utf-8")))
        code = _code_of(arguments)
    return Ended(code, _written(output), _written(messages).decode())


def start(*arguments: str | bytes, **options: Any) -> "subprocess.Popen[bytes]":
    """Begin a command as a process of its own, in this process's environment."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}
    return subprocess.Popen([PERDURE, *arguments], **{**pipes, **options})


def end(process: "subprocess.Popen[bytes]") -> Ended:
    """Wait for a command's end."""
    output, messages = process.communicate(timeout=SECONDS_MAX)
    return Ended(process.returncode, output, (messages or b"").decode())


def _code_of(arguments: tuple[str, ...]) -> int:
    try:
        main(arguments)
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


def _written(stream: TextIOWrapper) -> bytes:
    stream.flush()
    assert isinstance(stream.buffer, BytesIO)
    return stream.buffer.getvalue()
