"""PostgreSQL's wire protocol, as far as one must know it to tell where something becomes durable.

A client's messages are cut into groups, each of which ends with a Sync, a simple Query or a Flush. A group that ends the
transaction of which it is a part is a *boundary* if the transaction can have changed anything: before it reaches the
server nothing of the transaction is durable, after the server's ReadyForQuery all of it is.

What changes something is told by the text of a statement: INSERT, UPDATE, DELETE and MERGE, the session's advisory locks,
every statement that is no query (DDL), and a SELECT that calls a function of ours other than those in _READERS. All else
is a read, also the fence's check, which locks a row and leaves it as it was: a transaction of reads only is no boundary.
Nor is what a process does to find that its tables are there: CREATE IF NOT EXISTS under the lock of migrations.
"""

import re
import struct
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Literal, TypeAlias

#: SSLRequest and GSSENCRequest: a client asks whether the server would encrypt.
_ENCRYPTIONS = {80877103, 80877104}

Ends: TypeAlias = Literal["encryption", "startup", "sync", "flush"]

_INT = struct.Struct("!I")
_HEADER = 5
_READY = ord("Z")

_NO_CHANGE = re.compile(
    rb"(?:\s|--[^\n]*\n)*(?:SELECT|WITH|SHOW|SET|RESET|VALUES|TABLE|FETCH|DISCARD|BEGIN|START|COMMIT|END|ROLLBACK"
    rb"|SAVEPOINT|RELEASE|INSERT|UPDATE|DELETE|MERGE|$)",
    re.IGNORECASE,
)
_OPENS = re.compile(rb"\s*(?:BEGIN|START\s+TRANSACTION)\b", re.IGNORECASE)
_COMMITS = re.compile(rb"(?:^|;)\s*(?:COMMIT|END)\b", re.IGNORECASE)
_UNDOES = re.compile(rb"\s*ROLLBACK(?!\s+TO)\b", re.IGNORECASE)
_CHANGES = re.compile(
    rb"\b(?:INSERT\s+INTO|DELETE\s+FROM|MERGE\s+INTO|(?<!FOR )(?<!DO )(?<!KEY )UPDATE)\s+(?:ONLY\s+)?(?:\"?\w+\"?\.)?\"?(\w+)",
    re.IGNORECASE,
)
_LOCKS = re.compile(
    rb"\bpg_(?:try_)?(advisory_(?:un)?lock)\b(?!\(hashtextextended\('perdure migrations)"
)
_MIGRATES = re.compile(rb"\s*CREATE\s+(?:SCHEMA|TABLE)\s+IF\s+NOT\s+EXISTS\b")
_CALLS = re.compile(rb"\bledger\.(\w+)\(")
_READERS = {
    *(b"check_fence", b"check_not_cancelled", b"owner_is_connected", b"newest_fence", b"lease_key"),
    *(b"newest_checkpoint", b"stored_checkpoint", b"changed_versions", b"passes"),
}
#: A task's id as a parameter of its own: its length, and what follows it begins with a length, too.
_TASK = re.compile(rb"\0\0\0[\x02-\x09]((?:gap-)?t\d+)(?=\0)")


@dataclass(frozen=True, slots=True)
class Statement:
    """What a statement does to its transaction, and the names of what it changes."""

    opens: bool
    commits: bool
    undoes: bool
    changes: frozenset[str]


@cache
def read_statement(text: bytes) -> Statement:
    """Read a statement, or several in one simple Query."""
    found = set(_CHANGES.findall(text)) | set(_LOCKS.findall(text))
    if not found:
        # That a transaction is sealed at its end is no news of what it changed.
        found = set(_CALLS.findall(text)) - _READERS - {b"seal_version"}
    if not _NO_CHANGE.match(text) and not _MIGRATES.match(text):
        found.add(b"_".join(text.split()[:3]).lower())
    return Statement(
        opens=bool(_OPENS.match(text)),
        commits=bool(_COMMITS.search(text)),
        undoes=bool(_UNDOES.match(text)),
        changes=frozenset(name.decode() for name in found),
    )


@dataclass(frozen=True, slots=True)
class Group:
    """Messages that go to the server together; `label` names the boundary, None where there is none."""

    content: bytes
    ends: Ends
    label: str | None = None
    #: Whether the server is in the middle of a transaction once it has this.
    open: bool = False
    #: Whether a transaction begins with this.
    begins: bool = False


@dataclass
class ClientStream:
    """Cuts what a client sends into groups; the first messages, which ask for encryption or log in, have no kind."""

    role: str = ""
    #: Whether the server has been told to begin a transaction and not to end it.
    open: bool = False
    _begun: bool = False
    _buffer: bytearray = field(default_factory=bytearray)
    _at: int = 0
    _between: bool = True
    _said: bool = False
    _changes: set[str] = field(default_factory=set[str])
    _tasks: set[str] = field(default_factory=set[str])
    _named: dict[bytes, Statement] = field(default_factory=dict[bytes, Statement])

    def feed(self, data: bytes) -> Iterator[Group]:
        """Take bytes and yield the groups that are whole."""
        buffer = self._buffer
        buffer += data
        while not self._begun:
            if (yield from self._startup()):
                return
        while len(buffer) >= self._at + _HEADER:
            kind, start = buffer[self._at], self._at + _HEADER
            end = self._at + 1 + _INT.unpack_from(buffer, self._at + 1)[0]
            if len(buffer) < end:
                return
            self._at = end
            match kind:
                case 80:  # Parse
                    self._parse(bytes(buffer[start:end]))
                case 66:  # Bind
                    self._bind(bytes(buffer[start:end]))
                case 83:  # Sync
                    yield self._whole()
                case 81:  # Query
                    self._does(read_statement(bytes(buffer[start : end - 1])))
                    yield self._whole()
                case 68 | 69 | 67:  # Describe, Execute, Close
                    pass
                case _:  # Flush, a password, COPY's data, Terminate: nothing to wait for
                    yield self._cut("flush")

    def _startup(self) -> Generator[Group, None, bool]:
        """Yield the first message when it is whole; returns whether it is not."""
        buffer = self._buffer
        if len(buffer) < 8 or len(buffer) < (size := _INT.unpack_from(buffer)[0]):
            return True
        code = _INT.unpack_from(buffer, 4)[0]
        self._at = size
        self._begun = code not in _ENCRYPTIONS
        self.role = _role(bytes(buffer[:size]))
        yield self._cut("startup" if self._begun else "encryption")
        return False

    def _parse(self, body: bytes) -> None:
        name, text, _ = body.split(b"\0", 2)
        statement = read_statement(text)
        if name:
            self._named[name] = statement
        else:
            self._does(statement)

    def _bind(self, body: bytes) -> None:
        _, name, _ = body.split(b"\0", 2)
        if name in self._named:
            self._does(self._named[name])
        self._tasks.update(task.decode() for task in _TASK.findall(body))

    def _does(self, statement: Statement) -> None:
        self._said = True
        self._changes |= statement.changes
        self.open = (self.open or statement.opens) and not statement.commits
        if statement.undoes:
            self.open = False
            self._changes.clear()

    def _whole(self) -> Group:
        """End a group by its Sync, and name its boundary if it ends a transaction that changed something."""
        label = None
        if not self.open:
            if self._changes:
                label = f"{self.role} {'+'.join(sorted(self._changes))}"
                if len(self._tasks) == 1:
                    label += f" {next(iter(self._tasks))}"
            self._changes.clear()
            self._tasks.clear()
        return self._cut("sync", label)

    def _cut(self, ends: Ends, label: str | None = None) -> Group:
        content = bytes(self._buffer[: self._at])
        del self._buffer[: self._at]
        self._at = 0
        begins = self._between and self._said
        self._between = (self._between and not begins) or (ends == "sync" and not self.open)
        self._said = False
        return Group(content, ends, label, not self._between, begins)


def _role(startup: bytes) -> str:
    """Return whose connection it is: LangGraph's, the ledger's, or that of a target in another database."""
    if b"database\0other\0" in startup:
        return "other"
    return "langgraph" if b"search_path=langgraph" in startup else "ledger"


@dataclass
class ServerStream:
    """Counts the answers of a server: a ReadyForQuery ends each."""

    _header: bytes = b""
    _kind: int = 0
    _left: int = 0

    def feed(self, data: bytes) -> list[int]:
        """Take bytes and return where in them an answer ends."""
        ends: list[int] = []
        at, size = 0, len(data)
        while at < size:
            if self._left == 0:
                missing = _HEADER - len(self._header)
                self._header += data[at : at + missing]
                at = min(at + missing, size)
                if len(self._header) < _HEADER:
                    break
                # A message's length counts itself and not its kind.
                self._kind, self._left = (
                    self._header[0],
                    _INT.unpack_from(self._header, 1)[0] - _INT.size,
                )
                self._header = b""
            else:
                taken = min(self._left, size - at)
                at, self._left = at + taken, self._left - taken
                if self._left == 0 and self._kind == _READY:
                    ends.append(at)
        return ends
