"""Whether the rows of a run are those that were sealed, and the rows as they were at an earlier version.

Rows are held against their recorded history, the history against the seals, the seals against each other and against
the head. All of it reads one moment's view (`Ledger.transaction(one_moment=True)`); what is heavy is done by the
database, and whatever stands there, damage is told and never a traceback.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

from psycopg.rows import DictRow
from typing_extensions import override

from ledger import artifacts, audit
from ledger.db import Transaction
from ledger.errors import IllegalTransition, LedgerError, SealKeyMissing
from ledger.sealing import Anchor, parts
from ledger.sql import load

_SQL = load("integrity")
_ROWS, _CHANGES, _CHAIN, _HEAD = (
    _SQL["DamagedRows"],
    _SQL["DamagedChanges"],
    _SQL["ChainOfSeals"],
    _SQL["GetHead"],
)
_ARTIFACTS, _AS_OF = _SQL["DamagedArtifacts"], _SQL["RowsAsOf"]
_SEAL_OF = _SQL["SealOfVersion"]
_KEYS_OF_RUN = load("sealing")["KeysOfRun"]
_CORPUS, _WAS_SEALED, _ADOPT = _SQL["CorpusOfRun"], _SQL["WasSealed"], _SQL["AdoptRows"]


@dataclass(frozen=True, slots=True)
class Damage:
    """One thing that is not what was sealed: `part` names it, `problem` says what is wrong with it."""

    part: str
    problem: str

    @override
    def __str__(self) -> str:
        return f"{self.part}: {self.problem}"


#: All that can be said of the rows of a run from before the seals, until it is adopted.
OLDER = Damage("rows", "not recorded: the run is older than the seals")


async def damage(tx: Transaction, run_id: UUID, anchor: Anchor | None = None) -> list[Damage]:
    """Return everything that a run rests on and that is not what was sealed, rows and artifacts.

    `anchor` is a version that is known to have been there. Raises SealKeyMissing for a key that sealed here once and is
    not in the ring.
    """
    return await damaged_rows(tx, run_id, anchor) + await damaged_artifacts(tx, run_id)


async def damaged_rows(tx: Transaction, run_id: UUID, anchor: Anchor | None = None) -> list[Damage]:
    """Return the rows, the history and the seals of a run that are not what was sealed; raises as `damage` does.

    For a run that is older than the seals and was not adopted that is OLDER alone.
    """
    head = await tx.maybe(_HEAD, run_id=run_id)
    chain = await tx.many(_CHAIN, run_id=run_id)
    if head and not head["recorded"] and not chain and anchor is None:
        return [OLDER]
    found = [Damage(_row_name(row), row["problem"]) for row in await tx.many(_ROWS, run_id=run_id)]
    found += await _of_history(tx, run_id, chain)
    found += _of_head(head, chain[-1] if chain else None)
    found += _of_anchor(anchor, chain)
    return found


def _row_name(row: DictRow) -> str:
    return f"row {row['table_name']} {row['row_key']}".rstrip()


async def damaged_history(tx: Transaction, run_id: UUID, version: int) -> list[Damage]:
    """Return what is not as it was sealed of the history up to a version; the rows as they are now count for nothing."""
    chain = [row for row in await tx.many(_CHAIN, run_id=run_id) if row["version"] <= version]
    found = list(await _of_history(tx, run_id, chain, version))
    if not chain or chain[-1]["version"] != version:
        found.append(Damage(f"seal of version {version}", "missing"))
    return found


async def _of_history(
    tx: Transaction, run_id: UUID, chain: Sequence[DictRow], until: int | None = None
) -> list[Damage]:
    changed = [
        Damage(
            f"change {row['sequence']} of version {row['version']} ({_row_name(row)})", "changed"
        )
        for row in await tx.many(_CHANGES, run_id=run_id)
        if until is None or row["version"] <= until
    ]
    return [*changed, *_of_chain(tx, run_id, chain)]


async def foreign_changes(tx: Transaction, run_id: UUID) -> list[Damage]:
    """Return all damage of a run that somebody wrote to beside the ledger, [] where its newest version is sealed.

    Nothing can be written on top of such a change, so this is asked before a run is taken up. Cheap where all is well.
    """
    head = await tx.maybe(_HEAD, run_id=run_id)
    if head is None or not head["recorded"]:
        return []
    newest = await tx.many(_SEAL_OF, run_id=run_id, version=head["version"])
    if [row["seal"] for row in newest] == [head["seal"]]:
        return []
    return await damage(tx, run_id)


async def lost_anchor(tx: Transaction, run_id: UUID, anchor: Anchor | None) -> list[Damage]:
    """Return a damage where the ledger no longer holds a version that is known to have been there."""
    if anchor is None:
        return []
    return list(_of_anchor(anchor, await tx.many(_SEAL_OF, run_id=run_id, version=anchor[0])))


def _of_chain(tx: Transaction, run_id: UUID, chain: Sequence[DictRow]) -> Iterable[Damage]:
    version, before = 0, None
    for row in chain:
        if row["version"] != version + 1:
            yield Damage(f"versions {version + 1} to {row['version'] - 1}", "missing")
            before = None
        version = row["version"]
        problem = _of_version(tx, run_id, row, before)
        if problem:
            yield problem
        before = row["seal"]


def _of_version(tx: Transaction, run_id: UUID, row: DictRow, before: str | None) -> Damage | None:
    history, name = f"history of version {row['version']}", f"seal of version {row['version']}"
    if row["seal"] is None:
        by_hand = f": {row['rows']} changed by somebody else" if row["rows"] else ""
        return Damage(name, f"missing{by_hand}")
    if row["found"] is None:
        return Damage(history, "missing")
    if row["found"] != row["content"]:
        return Damage(history, "changed")
    if row["key_id"] not in tx.keys.ids and not row["registered"]:
        return Damage(name, "names a key that never was")
    over = parts(tx.tenant, run_id, row["version"], before, row["content"])
    if not tx.keys.verifies(row["key_id"], row["seal"], *over):
        return Damage(name, "does not verify")
    return None


def _of_head(head: DictRow | None, last: DictRow | None) -> Iterable[Damage]:
    if head is None:
        if last is not None:
            yield Damage("head", "missing")
        return
    newest = last or {"version": 0, "key_id": None, "seal": None}
    if (head["version"] or 0) > newest["version"]:
        yield Damage(f"versions {newest['version'] + 1} to {head['version']}", "missing")
    same = all(head[name] == newest[name] for name in ("version", "key_id", "seal"))
    if not (same and head["recorded"]):
        yield Damage("head", "changed")


def _of_anchor(anchor: Anchor | None, chain: Sequence[DictRow]) -> Iterable[Damage]:
    if anchor is None:
        return
    version, seal = anchor
    found = [row["seal"] for row in chain if row["version"] == version]
    if found != [seal]:
        problem = "not the one that was relied on" if found else "missing"
        yield Damage(f"seal of version {version}", problem)


async def damaged_artifacts(tx: Transaction, run_id: UUID) -> list[Damage]:
    """Return the artifacts that a run refers to and that are missing or do not match their digests."""
    run = await tx.maybe(_CORPUS, run_id=run_id)
    corpus = await corpus_artifacts(tx, run["corpus_artifact"] if run else None)
    rows = await tx.many(_ARTIFACTS, run_id=run_id, artifact_ids=corpus)
    return [Damage(f"artifact {row['artifact_id']}", row["problem"]) for row in rows]


async def corpus_artifacts(tx: Transaction, corpus_artifact: str | None) -> list[str]:
    """Return the artifacts that a corpus consists of; none of one that cannot be read, which is told anyway."""
    if corpus_artifact is None:
        return []
    try:
        manifest = json.loads(await artifacts.get(tx, corpus_artifact))
        return [
            str(document[name])
            for document in manifest["documents"]
            for name in ("content_artifact", "text_artifact")
        ]
    except (LedgerError, ValueError, LookupError, TypeError, RecursionError):
        return []


async def newest_version(tx: Transaction, run_id: UUID) -> Anchor | None:
    """Return the newest sealed version of a run's rows with its seal, unverified; None where nothing is sealed."""
    head = await tx.maybe(_HEAD, run_id=run_id)
    return (head["version"], head["seal"]) if head and head["seal"] else None


async def check_key(tx: Transaction, run_id: UUID) -> None:
    """Raise SealKeyMissing where a seal of a run was made with a key that is not here; reads only."""
    for row in await tx.many(_KEYS_OF_RUN, run_id=run_id):
        if row["key_id"] not in tx.keys.ids:
            raise SealKeyMissing(row["key_id"])


async def as_of(tx: Transaction, run_id: UUID, version: int) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of a run by table as they were when this version was sealed.

    Values read as PostgreSQL writes them in JSON, so that `jsonb_populate_record` makes rows of them again.
    """
    tables: dict[str, list[dict[str, Any]]] = {}
    for row in await tx.many(_AS_OF, run_id=run_id, version=version):
        tables.setdefault(row["table_name"], []).append(cast("dict[str, Any]", row["row"]))
    return tables


async def is_older(tx: Transaction, run_id: UUID) -> bool:
    """Whether a run is older than the seals and was not adopted."""
    head = await tx.maybe(_HEAD, run_id=run_id)
    return head is not None and not head["recorded"]


async def adopt_rows(tx: Transaction, run_id: UUID) -> int:
    """Vouch for the rows of a run that is older than the seals, as they are, and return their number.

    Raises IllegalTransition for a run that was ever sealed, or has no rows: what happened to that is damage, and nothing
    to be adopted.
    """
    sealed = (await tx.one(_WAS_SEALED, run_id=run_id))["sealed"]
    row = None if sealed else await tx.maybe(_ADOPT, run_id=run_id)
    if row is None:
        raise IllegalTransition(
            f"the rows of run {run_id} were sealed before, or were never there, so they are not adopted;"
            f" `perdure verify {run_id}` lists what is wrong with them"
        )
    await audit.append(tx, run_id, "rows_adopted", {"rows": row["rows"]})
    return int(row["rows"])
