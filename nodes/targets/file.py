"""Target `file:PATH`: the report as a file that appears whole or not at all, and never in the place of another.

A folder (one that exists, or a path that ends in /) gets the report as RUN_ID.md. The content is written under a name of its
own beside the place, synced, and linked there: a link is refused where something stands already, so of two senders only
one makes the file, and the other one compares.

Each attempt writes under another temporary name. With one name per key, a sender that was frozen before its link would
link what the next one is just writing under that name. What a killed sender left is removed by the next send of its key;
if that one was only frozen, its link finds nothing to link, and it reports what it sees in the place.
"""

import asyncio
import contextlib
import errno
import hashlib
import os
import secrets
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from ledger.canonical import Json, digest
from ledger.contracts import Contract
from nodes.options import BadInput
from nodes.targets.base import (
    Absent,
    Confirmed,
    Differs,
    Found,
    NotSent,
    Publication,
    Refused,
    Sending,
    Sent,
    Unknown,
)

DEFAULT_CONTRACT = Contract(kind="conditional", request_seconds=30)
KINDS: Final = frozenset({"conditional"})

# Hex digits of the key's digest in a temporary name: enough that no two keys meet in one folder.
_KEY_DIGITS = 24
# The same again would fail again until somebody changes the place: permissions, folders, kinds of file systems.
_FOR_A_PERSON: Final = frozenset(
    {
        errno.EACCES,
        errno.EPERM,
        errno.EROFS,
        errno.ENOENT,
        errno.ENOTDIR,
        errno.EISDIR,
        errno.ENAMETOOLONG,
        errno.ELOOP,
        errno.EINVAL,
        errno.EFBIG,
        errno.EMLINK,
        errno.ENOTSUP,
        errno.EOPNOTSUPP,
        errno.ENOSYS,
    }
)


@dataclass(frozen=True, slots=True)
class FileTarget:
    """One place in the file system; `path` is absolute, `is_folder` says that the file in it is named by the run."""

    path: Path
    is_folder: bool
    contract: Contract = DEFAULT_CONTRACT
    kind: str = field(default="file", init=False)

    @property
    def address(self) -> str:
        """The absolute path; a folder's ends in /, so that it stays one for whoever opens it again."""
        return f"file:{self.path}{'/' if self.is_folder and self.path.name else ''}"

    def request(self, publication: Publication) -> dict[str, Json]:
        """Return the place and the digest of what is to stand there."""
        path = self.path / f"{publication.run_id}.md" if self.is_folder else self.path
        return {
            "target": self.kind,
            "path": str(path),
            "digest": digest(publication.content),
            "bytes": len(publication.content),
        }

    async def check(self) -> str:
        """Say whether a file can be made there; raises BadInput."""
        return await asyncio.to_thread(self._check)

    async def send(self, sending: Sending) -> Sent:
        """Make the file, unless something stands there."""
        try:
            async with asyncio.timeout(self.contract.request_seconds):
                return await asyncio.to_thread(_send, sending)
        except TimeoutError:
            return Unknown("the file system did not answer in time")

    async def look_up(self, sending: Sending) -> Found:
        """Compare what stands there."""
        try:
            async with asyncio.timeout(self.contract.request_seconds):
                return await asyncio.to_thread(_look_up, sending)
        except TimeoutError:
            return Unknown("the file system did not answer in time")

    def _check(self) -> str:
        folder = self.path if self.is_folder else self.path.parent
        if not folder.is_dir():
            raise BadInput(
                f"there is no folder {folder}; make it first (mkdir -p), or name another: --publish file:PATH"
            )
        if not self.is_folder and self.path.is_dir():
            raise BadInput(
                f"{self.path} is a folder by now; write file:{self.path}/ for a file in it"
            )
        if not os.access(folder, os.W_OK | os.X_OK):
            raise BadInput(f"no file can be made in {folder}: permission denied to this user")
        return f"a file can be made in {folder}"


def file_target(text: str, contract: Contract) -> FileTarget:
    """Return the target for the part of an address behind `file:`; raises BadInput.

    The path is taken as it is typed, nothing in it is decoded; `file:///path` is understood, too.
    """
    if text.startswith("//"):
        if not text.startswith("///"):
            raise BadInput(f"file:{text} names another machine; write file:PATH, or file:///PATH")
        text = text.removeprefix("//")
    if not text or "\x00" in text:
        raise BadInput("file: needs a path behind it: file:report.md, file:/srv/reports/")
    try:
        path = Path(text).expanduser().absolute()
    except RuntimeError as error:
        raise BadInput(f"file:{text} names nobody's home; write the path in full") from error
    return FileTarget(path, is_folder=text.endswith("/") or path.is_dir(), contract=contract)


def _send(sending: Sending) -> Sent:
    path = Path(str(sending.request["path"]))
    temporary = None
    try:
        _remove_leftovers(path, sending.key)
        temporary = _write(path, sending)
        return _link(temporary, path, sending)
    except OSError as error:
        return _failed(error)
    finally:
        if temporary is not None:
            _unlink(temporary)


def _failed(error: OSError) -> Refused | NotSent:
    """Say what it means that no link was made."""
    reason = f"no file could be made: {os.strerror(error.errno or errno.EIO)}"
    return Refused(reason) if error.errno in _FOR_A_PERSON else NotSent(reason)


def _prefix(path: Path, key: str) -> str:
    return f".perdure-{hashlib.sha256(f'{path.name} {key}'.encode()).hexdigest()[:_KEY_DIGITS]}."


def _remove_leftovers(path: Path, key: str) -> None:
    prefix = _prefix(path, key)
    with os.scandir(path.parent) as entries:
        left = [Path(entry.path) for entry in entries if entry.name.startswith(prefix)]
    for one in left:
        _unlink(one)


def _write(path: Path, sending: Sending) -> Path:
    """Return a new file beside the place that holds the report, on the disk; what was begun is removed if it fails."""
    temporary = path.with_name(f"{_prefix(path, sending.key)}{secrets.token_hex(8)}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(temporary, flags, 0o666), "wb") as file:
        try:
            file.write(sending.publication.content)
            file.flush()
            os.fsync(file.fileno())
        except OSError:
            _unlink(temporary)
            raise
    return temporary


def _link(temporary: Path, path: Path, sending: Sending) -> Sent:
    try:
        path.hardlink_to(temporary)
    except (FileExistsError, FileNotFoundError) as error:
        # Nothing to link: another sender of this key took us for dead and removed it. What it did stands there, or does not.
        found = _look_up(sending)
        if not isinstance(found, Absent):
            return found
        if path.parent.is_dir():
            return NotSent("another sender of the same file, or who removed it, was faster")
        return _failed(error)
    except OSError as error:
        return _failed(error)
    return _seen(path, sending)


def _seen(path: Path, sending: Sending) -> Confirmed | Unknown:
    # Whoever made it may have died before its name was on the disk.
    try:
        _sync_folder(path.parent)
    except OSError as error:
        return Unknown(f"the file is there, and its folder is not on the disk: {error.strerror}")
    request = sending.request
    return Confirmed(str(path), {"digest": request["digest"], "bytes": request["bytes"]})


def _look_up(sending: Sending) -> Confirmed | Absent | Differs | Unknown:
    path = Path(str(sending.request["path"]))
    try:
        # Without waiting for whoever might write into a pipe of this name.
        opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return Differs("a link that leads nowhere stands there") if path.is_symlink() else Absent()
    except OSError as error:
        return Unknown(f"what stands there cannot be read: {error.strerror}")
    try:
        difference = _difference(opened, sending)
    except OSError as error:
        return Unknown(f"what stands there cannot be read: {error.strerror}")
    finally:
        os.close(opened)
    return Differs(difference) if difference else _seen(path, sending)


def _difference(opened: int, sending: Sending) -> str | None:
    """Return what is different about an open file; nothing if it is the report, which is then on the disk."""
    if not stat.S_ISREG(os.fstat(opened).st_mode):
        return "what stands there is no file"
    with os.fdopen(opened, "rb", closefd=False) as file:
        found = f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"
    if found != sending.request["digest"]:
        return "a file with other content stands there"
    os.fsync(opened)
    return None


def _sync_folder(folder: Path) -> None:
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _unlink(temporary: Path) -> None:
    # One that cannot be removed lies there under a name that nobody else has.
    with contextlib.suppress(OSError):
        temporary.unlink()
