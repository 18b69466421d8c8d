"""Immutable bytes under the digest of what they say, verified on every read."""

from collections.abc import Collection
from dataclasses import dataclass

from psycopg.rows import DictRow

from ledger.canonical import Json, canonical, digest
from ledger.db import Transaction
from ledger.errors import Ambiguous, ArtifactCorrupt, NotFound
from ledger.sql import load

_SQL = load("artifacts")
_PUT, _GET, _FIND = _SQL["PutArtifact"], _SQL["GetArtifacts"], _SQL["FindArtifacts"]


@dataclass(frozen=True, slots=True)
class Description:
    """What is known of an artifact without reading it."""

    artifact_id: str
    media_type: str
    size_bytes: int


async def put(tx: Transaction, content: bytes, media_type: str) -> str:
    """Store bytes unless they are stored already, and return their id, `sha256:<hex>`."""
    artifact_id = digest(content)
    await put_many(tx, {artifact_id: (content, media_type)})
    return artifact_id


async def put_many(tx: Transaction, contents: dict[str, tuple[bytes, str]]) -> None:
    """Store many artifacts, by id, in one round trip."""
    # In order of their ids, so that two writers of the same artifacts cannot deadlock.
    await tx.run_each(
        _PUT, [_row(tx, artifact_id, *contents[artifact_id]) for artifact_id in sorted(contents)]
    )


async def put_json(tx: Transaction, value: Json) -> str:
    """Store the canonical form of a JSON value and return its id."""
    return await put(tx, canonical(value), "application/json")


async def get(tx: Transaction, artifact_id: str) -> bytes:
    """Return the bytes of an artifact; raises NotFound, or ArtifactCorrupt if they no longer match their digest."""
    return (await get_many(tx, [artifact_id]))[artifact_id]


async def get_many(tx: Transaction, artifact_ids: Collection[str]) -> dict[str, bytes]:
    """Return the bytes of many artifacts by id, in one round trip; raises as `get` does."""
    rows = {row["artifact_id"]: row for row in await tx.many(_GET, artifact_ids=list(artifact_ids))}
    return {name: _verified(tx, name, rows.get(name)) for name in artifact_ids}


def _verified(tx: Transaction, artifact_id: str, row: DictRow | None) -> bytes:
    if row is None:
        raise NotFound(f"no artifact {artifact_id}; `perdure sources RUN` lists those of a run")
    content = tx.codec.decode(row["key_id"], row["body"])
    if digest(content) != artifact_id:
        raise ArtifactCorrupt(
            f"the stored bytes of {artifact_id} no longer match it; `perdure verify RUN` lists all damage"
        )
    return content


async def find(tx: Transaction, prefix: str) -> Description:
    """Return the one artifact whose digest begins so, with or without `sha256:`; raises NotFound or Ambiguous."""
    # A report shows digests cut short, with an ellipsis.
    wanted = prefix.strip().lower().removeprefix("sha256:").rstrip("….")
    if not wanted or set(wanted) - set("0123456789abcdef"):
        raise NotFound(
            f"{prefix[:80]!r} is no digest: an artifact is named by sha256: and 64 hex digits;"
            " `perdure sources RUN --json` has those of a run"
        )
    rows = await tx.many(_FIND, prefix=f"sha256:{wanted}")
    if not rows:
        raise NotFound(
            f"no artifact begins with sha256:{wanted[:64]}; `perdure sources RUN` lists those of a run"
        )
    if len(rows) > 1:
        raise Ambiguous(
            f"more than one artifact begins with sha256:{wanted}; give more of the digest"
        )
    return Description(**rows[0])


async def get_texts(tx: Transaction, artifact_ids: Collection[str]) -> dict[str, str]:
    """Return the texts of many text artifacts by id; raises as `get` does."""
    return {name: content.decode() for name, content in (await get_many(tx, artifact_ids)).items()}


async def get_text(tx: Transaction, artifact_id: str) -> str:
    """Return the text of a text artifact; raises as `get` does."""
    return (await get(tx, artifact_id)).decode()


def _row(tx: Transaction, artifact_id: str, content: bytes, media_type: str) -> dict[str, object]:
    key_id, body = tx.codec.encode(content)
    return {
        "artifact_id": artifact_id,
        "media_type": media_type,
        "size_bytes": len(content),
        "key_id": key_id,
        "body": body,
    }
