"""A real HTTP server that stands in for LangSmith and keeps what reaches it."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from typing_extensions import override

# Whole batches as plain JSON; LangSmith's own server takes compressed multipart.
BATCHES = {
    "use_multipart_endpoint": False,
    "size_limit": 100,
    "size_limit_bytes": 20_000_000,
    "scale_up_nthreads_limit": 1,
    "scale_up_qsize_trigger": 1_000,
    "scale_down_nempty_trigger": 4,
}


@dataclass
class Received:
    """What came in: the traced steps by their ids, and every body as it was sent."""

    url: str = ""
    requests: int = 0
    bodies: list[str] = field(default_factory=list[str])
    steps: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])

    @property
    def variables(self) -> dict[str, str]:
        """LangSmith's own variables, as they switch tracing to here on."""
        return {
            "LANGSMITH_TRACING": "true",
            "LANGSMITH_API_KEY": "key",
            "LANGSMITH_ENDPOINT": self.url,
        }

    @property
    def metadata(self) -> list[dict[str, Any]]:
        return [step["extra"]["metadata"] for step in self.steps.values()]

    def take(self, body: bytes) -> None:
        batch = json.loads(body)
        # Written anew without escapes, so that a test can look for a text as it is.
        self.bodies.append(json.dumps(batch, ensure_ascii=False))
        for step in [*batch.get("post", []), *batch.get("patch", [])]:
            known = self.steps.setdefault(step["id"], {})
            known.update({name: value for name, value in step.items() if value is not None})


@contextmanager
def langsmith_endpoint() -> Iterator[Received]:
    """Serve until the block ends."""
    received = Received()

    class Endpoint(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            received.requests += 1
            self._answer({"batch_ingest_config": BATCHES})

        def do_POST(self) -> None:
            received.requests += 1
            received.take(self.rfile.read(int(self.headers["Content-Length"])))
            self._answer({})

        def _answer(self, value: dict[str, Any]) -> None:
            body = json.dumps(value).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        @override
        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Endpoint) as server:
        received.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield received
        finally:
            server.shutdown()
            thread.join()
