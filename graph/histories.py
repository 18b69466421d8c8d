"""A recorded run as one file, format 1: gzip over lines of canonical JSON (RFC 8785), each an object.

The first line is the header: `format`, the run's id, whether its texts are in it (`text`), the workflow that it was begun
with and, where the code that recorded it knew it, the topology. Then come, each under its own key and as often as there are,
`change` (a row of the ledger as a version of it left it, oldest first), `artifact` (bytes by digest; `text`, or `base64`) and
`checkpoint` (oldest first: state, pending writes, record). Times are ISO 8601, digests `sha256:` and 64 hex digits.
"""

import base64
import binascii
import gzip
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Final, Self, cast
from uuid import UUID

from langgraph.types import Interrupt, Send
from pydantic import AfterValidator, TypeAdapter
from typing_extensions import TypedDict

from ledger.canonical import Json, canonical, digest
from ledger.errors import LedgerError
from ledger.recordings import Change, Content

FORMAT: Final = 1
_SEND, _INTERRUPT = "$send", "$interrupt"


class HistoryUnreadable(LedgerError):
    """A file is no history, or one of a format that this version does not know."""


@dataclass(frozen=True, slots=True)
class Kept:
    """One checkpoint: LangGraph's checkpoint, metadata and pending writes as JSON, and what its record says."""

    ns: str
    checkpoint_id: str
    parent: str | None
    checkpoint: dict[str, Any]
    metadata: dict[str, Any]
    writes: list[list[Any]]
    record: dict[str, Any]


class _Header(TypedDict):
    """What is asked of a header before anything of the history is played."""

    run_id: Annotated[str, AfterValidator(UUID)]
    text: bool
    status: str
    workflow_version: int


class _Record(TypedDict):
    """The same of what the record of a checkpoint says."""

    workflow_version: int
    ledger_version: int | None


_CHANGE: Final = ("version", "table", "key", "row")
_HEADER, _CHANGES = TypeAdapter(_Header), TypeAdapter(list[Change])
_KEPT, _RECORD = TypeAdapter(list[Kept]), TypeAdapter(_Record)


@dataclass(frozen=True, slots=True)
class History:
    """What a run was: rows through time, artifacts, checkpoints of itself (namespace "") and of its branches."""

    header: Mapping[str, Any]
    changes: Sequence[Change]
    artifacts: Mapping[str, Content]
    checkpoints: Sequence[Kept]

    @property
    def run_id(self) -> UUID:
        """The run."""
        return UUID(self.header["run_id"])

    @property
    def roots(self) -> list[Kept]:
        """The run's own checkpoints, oldest first."""
        return [each for each in self.checkpoints if each.ns == ""]

    def packed(self) -> bytes:
        """Return the file; the same history makes the same bytes."""
        lines = b"\n".join(canonical(line) for line in self._lines())
        return gzip.compress(lines + b"\n", 9, mtime=0)

    def _lines(self) -> Iterator[Json]:
        yield cast("Json", {"format": FORMAT, **self.header})
        for change in self.changes:
            yield {"change": [change.version, change.table, change.key, change.row]}
        for name, kept in sorted(self.artifacts.items()):
            yield {
                "artifact": {"id": name, "media_type": kept.media_type, **_as_text(kept.content)}
            }
        for checkpoint in self.checkpoints:
            yield {"checkpoint": cast("Json", asdict(checkpoint))}

    @classmethod
    def read(cls, content: bytes) -> Self:
        """Return the history of a file; raises HistoryUnreadable."""
        try:
            lines = [json.loads(line) for line in gzip.decompress(content).splitlines()]
            header = lines[0]
            known = header["format"]
        except _NO_HISTORY as error:
            raise HistoryUnreadable(
                "it is no history of a run; `perdure record RUN --to FILE` writes one"
            ) from error
        if known != FORMAT:
            raise HistoryUnreadable(
                f"it is a history of format {known}, and this version of perdure reads format {FORMAT}: install a newer one"
            )
        try:
            return cls._parsed(header, lines[1:])
        except (LookupError, ValueError, TypeError) as error:
            raise HistoryUnreadable("it is a history that was cut short or edited") from error

    @classmethod
    def _parsed(cls, header: Mapping[str, Any], lines: Sequence[dict[str, Any]]) -> Self:
        changes = [
            dict(zip(_CHANGE, line["change"], strict=True)) for line in lines if "change" in line
        ]
        artifacts = [line["artifact"] for line in lines if "artifact" in line]
        found = {each["id"]: _content(each) for each in artifacts}
        kept = _KEPT.validate_python([line["checkpoint"] for line in lines if "checkpoint" in line])
        _HEADER.validate_python(header, strict=True)
        for each in kept:
            _RECORD.validate_python(each.record, strict=True)
        return cls(header, _CHANGES.validate_python(changes), found, kept)


#: What reading a file of anything may raise: a deep one does not fit the stack.
_NO_HISTORY = (OSError, EOFError, zlib.error, ValueError, LookupError, TypeError, RecursionError)


def plain(value: Any) -> Any:
    """Return a value of a checkpoint as JSON: what LangGraph sends and asks, too."""
    match value:
        case Send():
            return {_SEND: [value.node, plain(value.arg)]}
        case Interrupt():
            return {_INTERRUPT: [value.id, plain(value.value)]}
        case dict():
            items = cast("dict[str, Any]", value)
            return {name: plain(each) for name, each in items.items()}
        case list() | tuple():
            return [plain(each) for each in cast("Sequence[Any]", value)]
        case _:
            return value


def restored(value: Any) -> Any:
    """Return what `plain` was given, with lists for tuples."""
    match value:
        case {"$send": [node, arg]}:
            return Send(cast("str", node), restored(arg))
        case dict():
            items = cast("dict[str, Any]", value)
            return {name: restored(each) for name, each in items.items()}
        case list():
            return [restored(each) for each in cast("Sequence[Any]", value)]
        case _:
            return value


def _as_text(content: bytes) -> dict[str, str]:
    try:
        return {"text": content.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(content).decode()}


def _content(artifact: Mapping[str, Any]) -> Content:
    content, media_type = _as_bytes(artifact), artifact["media_type"]
    if digest(content) != artifact["id"]:
        raise ValueError("an artifact is not what its digest says")
    if not (isinstance(media_type, str) and media_type.isprintable()):
        raise TypeError("an artifact has no media type")
    return Content(content, media_type)


def _as_bytes(artifact: Mapping[str, Any]) -> bytes:
    if not isinstance(artifact.get("text", ""), str):
        raise TypeError("an artifact is no text")
    if "text" in artifact:
        return cast("str", artifact["text"]).encode()
    try:
        return base64.b64decode(artifact["base64"], validate=True)
    except binascii.Error as error:
        raise ValueError("an artifact is no base64") from error
