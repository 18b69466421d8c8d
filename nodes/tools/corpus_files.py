"""Finds the documents of a corpus and reads their bytes: files, folders, and what ships inside Python.

Everything that is found is either read or skipped with a reason; nothing blocks, however odd the file. The order is that
of the paths given, sorted within a folder by the bytes of the names, and each path is listed once.
"""

import os
import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from pydoc_data.topics import topics
from urllib.parse import quote, unquote, unquote_to_bytes

from nodes.material import Skipped
from nodes.options import BadInput
from nodes.tools.documents import DOCUMENT_BYTES_MAX, MEDIA_TYPES, RST, Unreadable, media_type_of

# The language reference that every Python has inside.
PYDOC_TOPICS = "pydoc:topics"

# Sphinx puts the source of every page beside the pages; every sentence would be found twice.
COPIES = {"_sources": "it holds the sources of the pages beside it; name it itself to read them"}


class CorpusMissing(BadInput):
    """A path of the corpus does not exist."""

    def __init__(self, path: str) -> None:
        super().__init__(
            f"The corpus {path!r} does not exist. Give --corpus a file, a folder or {PYDOC_TOPICS}."
        )
        self.path = path


class CorpusEmpty(BadInput):
    """Nothing in the corpus can be read; `skipped` says why."""

    def __init__(self, skipped: Sequence[Skipped]) -> None:
        reasons = "".join(f"\n  {each.uri}: {each.reason}" for each in skipped[:5])
        super().__init__(
            f"The corpus has no readable document. These are read: {' '.join(MEDIA_TYPES)}.{reasons}"
        )
        self.skipped = tuple(skipped)


@dataclass(frozen=True, slots=True)
class Found:
    """One document of a corpus that is yet to be read; `topic` is set for a topic of `pydoc:topics`."""

    uri: str
    path: Path
    bytes_expected: int
    topic: str | None = None

    @property
    def name(self) -> str:
        """Return what to call the document if it has no title; never what UTF-8 cannot hold."""
        return os.fsencode(self.path.name).decode("utf-8", "replace")

    def read(self) -> tuple[bytes, str]:
        """Return (bytes, media type); raises `Unreadable`. Never blocks, never reads more than the limit."""
        if self.topic is not None:
            return topics[self.topic].encode(), RST
        content = _stable_content(self.path)
        return content, media_type_of(self.path.name, content)


@dataclass(slots=True)
class _Walk:
    found: dict[str, Found] = field(default_factory=dict[str, Found])
    skipped: list[Skipped] = field(default_factory=list[Skipped])
    #: The folders that were read: device and inode to the name under which.
    folders: dict[tuple[int, int], Path] = field(default_factory=dict[tuple[int, int], Path])


def find(paths: Sequence[str]) -> tuple[list[Found], list[Skipped]]:
    """Return the documents of a corpus and what in it is not read; raises `CorpusMissing`.

    A file that is named itself is tried whatever its suffix. In folders only the suffixes of `MEDIA_TYPES` are, and
    hidden entries are not; both are counted and told once per kind.
    """
    walk = _Walk()
    for given in paths:
        if given == PYDOC_TOPICS:
            walk.found.update((found.uri, found) for found in _pydoc())
            continue
        path, status = _existing(given)
        if stat.S_ISDIR(status.st_mode):
            _walk_folder(path, status, walk)
        else:
            walk.found.setdefault(uri_of(path), Found(uri_of(path), path, status.st_size))
    return list(walk.found.values()), walk.skipped


def _existing(given: str) -> tuple[Path, os.stat_result]:
    path = Path(os.path.abspath(given))  # noqa: PTH100 - absolute() keeps "..", resolve() follows links
    try:
        # What was given, because an empty path would be the working folder.
        return path, os.stat(given)  # noqa: PTH116
    except (OSError, ValueError) as error:
        raise CorpusMissing(given) from error


def uri_of(path: Path) -> str:
    """Return the `file:` URI of an absolute path; bytes that are not UTF-8 are percent-encoded too (RFC 8089)."""
    return "file://" + quote(os.fsencode(path))


def at(uri: str) -> Found | None:
    """Return the document at an address that `find` gave, there or not; None for a topic that is not in this Python."""
    if uri.startswith(f"{PYDOC_TOPICS}#"):
        topic = unquote(uri.partition("#")[2])
        return Found(uri, Path(topic), len(topics[topic]), topic) if topic in topics else None
    return Found(uri, Path(os.fsdecode(unquote_to_bytes(uri.removeprefix("file://")))), 0)


def _pydoc() -> Iterator[Found]:
    for topic in sorted(topics):
        uri = f"{PYDOC_TOPICS}#{quote(topic)}"
        yield Found(uri, Path(topic), len(topics[topic]), topic)


def _walk_folder(root: Path, status: os.stat_result, walk: _Walk) -> None:
    kinds: Counter[str] = Counter()
    # Explicit, because a folder may be nested deeper than Python's stack; last in, first out keeps the order.
    waiting = [(root, status)]
    while waiting:
        folder, status = waiting.pop()
        known_as = walk.folders.setdefault((status.st_dev, status.st_ino), folder)
        if known_as != folder:
            reason = f"the same folder is read as {uri_of(known_as)}"
            walk.skipped.append(Skipped(uri_of(folder), reason))
            continue
        below = list(_walk_entries(folder, walk, kinds))
        # Links wait until all real folders were read, so that a document has its real name where it has two.
        waiting[:0] = [entry for entry in reversed(below) if entry[0].is_symlink()]
        waiting.extend(entry for entry in reversed(below) if not entry[0].is_symlink())
    for kind, count in sorted(kinds.items()):
        reason = f"{count} {'entry' if count == 1 else 'entries'} of kind {kind}: not read"
        walk.skipped.append(Skipped(uri_of(root), reason))


def _walk_entries(
    folder: Path, walk: _Walk, kinds: Counter[str]
) -> Iterator[tuple[Path, os.stat_result]]:
    """Note the files of one folder and yield its subfolders."""
    try:
        names = sorted(os.listdir(folder), key=os.fsencode)  # noqa: PTH208 - names are sorted, not paths
    except OSError as error:
        walk.skipped.append(Skipped(uri_of(folder), _told(error)))
        return
    for name in names:
        path = folder / name
        if name.startswith("."):
            kinds["hidden"] += 1
            continue
        try:
            status = path.stat()
        except OSError as error:
            # A dangling link to something that is not read anyway is only counted.
            if path.suffix.lower() in MEDIA_TYPES:
                walk.skipped.append(Skipped(uri_of(path), _told(error)))
            else:
                kinds[_kind(path)] += 1
            continue
        if stat.S_ISDIR(status.st_mode):
            if name in COPIES and "_static" in names:
                walk.skipped.append(Skipped(uri_of(path), COPIES[name]))
            else:
                yield path, status
        elif path.suffix.lower() in MEDIA_TYPES:
            walk.found.setdefault(uri_of(path), Found(uri_of(path), path, status.st_size))
        else:
            kinds[_kind(path)] += 1


def _kind(path: Path) -> str:
    # A suffix is a few printable characters; what else comes after a dot is part of a name.
    suffix = path.suffix.lower()
    return suffix if suffix[1:].isalnum() and suffix.isascii() else "without suffix"


def _stable_content(path: Path) -> bytes:
    try:
        # O_NONBLOCK: opening a FIFO that nobody writes to would wait for ever.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise Unreadable(_told(error)) from error
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        before = os.fstat(descriptor)
        if not stat.S_ISREG(before.st_mode):
            raise Unreadable("it is not a regular file")
        if before.st_size > DOCUMENT_BYTES_MAX:
            raise Unreadable(f"it is larger than {DOCUMENT_BYTES_MAX // 1024**2} MB")
        try:
            content = _all_of(file.fileno(), before.st_size)
        except OSError as error:
            raise Unreadable(_told(error)) from error
        after = os.fstat(descriptor)
    changed = (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns)
    if changed or len(content) != before.st_size:
        raise Unreadable("it changed while it was read")
    return content


def _all_of(descriptor: int, size: int) -> bytes:
    """Read one byte more than there should be, to see growth without following it."""
    parts: list[bytes] = []
    wanted = size + 1
    while wanted and (part := os.read(descriptor, wanted)):
        parts.append(part)
        wanted -= len(part)
    return b"".join(parts)


def _told(error: OSError) -> str:
    return f"it cannot be read ({(error.strerror or str(error)).lower()})"
