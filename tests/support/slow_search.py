"""A real search service that answers when it is told to: a run that waits for it can be met in the middle."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from typing_extensions import override


class SlowSearch:
    """`asked` is set by the first request; requests wait for `released` and then find nothing."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.released = threading.Event()
        self.url = ""


@contextmanager
def slow_search() -> Iterator[SlowSearch]:
    """Serve on a free port of this machine until the block ends."""
    service = SlowSearch()

    class Answering(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            service.asked.set()
            service.released.wait()
            content = b'{"results": []}'
            try:
                self.send_response(200)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)
            except OSError:
                pass  # whoever asked was interrupted

        @override
        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    service.url = f"http://127.0.0.1:{server.server_port}/search"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield service
    finally:
        service.released.set()
        server.shutdown()
        thread.join()
        server.server_close()
