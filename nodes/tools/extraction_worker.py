"""The process that reads documents for `nodes.tools.extractors`: requests on standard input, answers on standard output.

It says `ready` when it is. A message is one line of JSON and then the bytes that it announces: `{"media_type", "size"}` and the document in,
`{"title", "size"}` and its text or `{"reason"}` out. It ends when its standard input does, even while it reads a
document, so that it does not outlive a parent that was killed. It catches nothing: an unforeseen error, too little
memory among them, ends it, and the parent takes that as the answer.
"""

import json
import logging
import os
import resource
import sys
import warnings
from queue import SimpleQueue
from threading import Thread
from typing import BinaryIO

from nodes.tools.documents import Unreadable
from nodes.tools.extract import extract

# Ordinary documents take a twentieth of this. Some crafted pages take memory that grows with the square of their
# length (200,000 short elements in one paragraph: 40 GB), and must not take the machine's.
MEMORY_BYTES_MAX = 2 * 1024**3

READY = b"ready\n"

# A parser may quote the document in its complaint.
REASON_CHARACTERS_MAX = 300


def main() -> None:
    """Answer requests until standard input ends."""
    _limit_memory()
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    requests: SimpleQueue[tuple[str, bytes]] = SimpleQueue()
    Thread(target=_receive, args=(sys.stdin.buffer, requests), daemon=True).start()
    # Whatever a library prints must not come between the answers.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    answers.write(READY)
    answers.flush()
    while True:
        header, body = _answer(*requests.get())
        answers.write(json.dumps(header).encode() + b"\n" + body)
        answers.flush()


def _limit_memory() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    soft = MEMORY_BYTES_MAX if hard == resource.RLIM_INFINITY else min(MEMORY_BYTES_MAX, hard)
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _receive(source: BinaryIO, requests: SimpleQueue[tuple[str, bytes]]) -> None:
    while line := source.readline():
        header = json.loads(line)
        requests.put((header["media_type"], source.read(header["size"])))
    # The parent is gone or wants no more. The main thread may be deep in a parser, and nobody waits for its answer.
    os._exit(0)


def _answer(media_type: str, content: bytes) -> tuple[dict[str, str | int], bytes]:
    try:
        extracted = extract(content, media_type)
    except Unreadable as refusal:
        return {"reason": refusal.reason[:REASON_CHARACTERS_MAX]}, b""
    text = extracted.text.encode()
    return {"title": extracted.title, "size": len(text)}, text


if __name__ == "__main__":
    main()
