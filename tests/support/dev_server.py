"""LangGraph's real dev server, as a process of its own that is killed whatever happens."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.schema import Command, Context
from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

ROOT = Path(__file__).parents[2]

# It is up in 5 s on an idle machine; this is when a test gives up on a busy one.
START_SECONDS_MAX = 90


@dataclass(frozen=True)
class DevServer:
    """A running server."""

    process: subprocess.Popen[bytes]
    url: str

    def client(self) -> LangGraphClient:
        return get_client(url=self.url)

    def kill(self) -> None:
        """Stop it and its children as a crash does."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    async def new_thread(self) -> str:
        async with self.client() as client:
            return str((await client.threads.create(graph_id="perdure"))["thread_id"])

    async def ask(self, thread_id: str, question: str, **context: Any) -> dict[str, Any]:
        """Run a thread with a question; a run that failed gives {"__error__": …}."""
        return await self._run(thread_id, input={"question": question}, context=context or None)

    async def answer(self, thread_id: str, answer: Any) -> dict[str, Any]:
        """Resume a thread that waits for one review with an answer, by the id of its interrupt."""
        waiting = await self.interrupt(thread_id)
        return await self.answer_to(thread_id, waiting["id"], answer)

    async def answer_to(self, thread_id: str, interrupt_id: str, answer: Any) -> dict[str, Any]:
        """Resume a thread with an answer to this interrupt, whether it is open or not."""
        return await self._run(thread_id, command={"resume": {interrupt_id: answer}})

    async def interrupt(self, thread_id: str) -> Any:
        """Return the one interrupt that a thread waits at."""
        async with self.client() as client:
            state = await client.threads.get_state(thread_id)
        (waiting,) = [one for task in state["tasks"] for one in task["interrupts"]]
        return waiting

    async def adopt(self, thread_id: str) -> None:
        """Make a thread known that was begun elsewhere."""
        async with self.client() as client:
            await client.threads.create(
                thread_id=thread_id, if_exists="do_nothing", graph_id="perdure"
            )

    async def _run(
        self,
        thread_id: str,
        *,
        input: dict[str, Any] | None = None,  # noqa: A002
        command: Command | None = None,
        context: Context | None = None,
    ) -> dict[str, Any]:
        async with self.client() as client:
            answer = await client.runs.wait(
                thread_id,
                "perdure",
                input=input,
                command=command,
                context=context,
                raise_error=False,
                durability="sync",
            )
        assert isinstance(answer, dict)
        return answer


@contextmanager
def dev_server(folder: Path, environment: Mapping[str, str]) -> Iterator[DevServer]:
    """Start the server in `folder`, with the environment of the tests and this, and kill it at the end."""
    folder.mkdir(parents=True, exist_ok=True)
    # It reads its paths, and keeps its own memory, in the folder that it is started in: not in a developer's.
    for name in ("langgraph.json", "graph"):
        (folder / name).symlink_to(ROOT / name)
    port = _free_port()
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(
            [
                *(str(Path(sys.executable).parent / "langgraph"), "dev", "--no-browser"),
                *("--no-reload", "--port", str(port)),
            ],
            cwd=folder,
            env={**os.environ, **SERVER_ENVIRONMENT, **environment},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        server = DevServer(process, f"http://127.0.0.1:{port}")
        try:
            _wait_until_up(server, folder / "server.log")
            yield server
        finally:
            server.kill()


SERVER_ENVIRONMENT = {
    "LANGGRAPH_STRICT_MSGPACK": "true",
    "LANGGRAPH_NO_VERSION_CHECK": "true",
    "LANGGRAPH_CLI_NO_ANALYTICS": "1",
}


def _wait_until_up(server: DevServer, log: Path) -> None:
    for attempt in Retrying(
        retry=retry_if_exception_type(httpx.TransportError),
        stop=stop_after_delay(START_SECONDS_MAX),
        wait=wait_fixed(0.1),
        reraise=True,
    ):
        with attempt:
            assert server.process.poll() is None, log.read_text(errors="replace")
            httpx.get(f"{server.url}/ok").raise_for_status()


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
