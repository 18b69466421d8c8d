"""Records a run: everything that its steps were given and made, so that other code can be shown to do the same.

A run of any released version is read, through the schema of the database as it is now and verified as when it is loaded. What
belongs to this installation alone is left out: who held the run when, the chain of its audit log, the names of machines.
"""

import gzip
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Any, cast
from urllib.parse import unquote, urlsplit
from uuid import UUID

from pydantic import SecretStr

from graph.histories import History, Kept, plain
from graph.runtime import Runtime
from graph.saver_records import config_of
from graph.seal_keys import known_keys
from graph.secrets import CredentialMissing, resolved
from graph.settings import PREFIX, Settings
from ledger import recordings, records, runs
from ledger.canonical import canonical
from ledger.errors import CheckpointDamaged, LedgerError
from ledger.recordings import Change
from ledger.records import CheckpointRecord
from nodes.models.profile import KEY_VARIABLES

# A shorter one may be a word that a document has.
SECRET_CHARACTERS_MIN = 8


class SecretInHistory(LedgerError):
    """What would be written holds a secret of this installation."""


async def record(runtime: Runtime, run_id: UUID) -> History:
    """Return the history of a run.

    Raises NotFound, also for a run from before the history of rows was kept, CheckpointUnsealed, SealKeyMissing, SecretInHistory.
    """
    async with runtime.ledger.transaction(one_moment=True) as tx:
        run = await runs.get(tx, run_id)
        changes = await recordings.changes(tx, run_id)
        found = await records.newest_first(tx, run_id)
    kept = [each for one in found[::-1] if (each := await _kept(runtime, run_id, one))]
    told = canonical([[each.row for each in changes], [asdict(each) for each in kept]])
    async with runtime.ledger.transaction(one_moment=True) as tx:
        artifacts = await recordings.contents(tx, told.decode())
    same = run.fingerprint == runtime.resources.workflow.fingerprint
    header = {
        "run_id": str(run_id),
        "text": True,
        "status": run.status,
        "workflow_version": run.workflow_version,
        "fingerprint": run.fingerprint,
        "topology": runtime.definition.described() if same else None,
    }
    history = History(header, _without_machines(changes), artifacts, kept)
    refuse_secrets(runtime.settings, history)
    return history


async def _kept(runtime: Runtime, run_id: UUID, record: CheckpointRecord) -> Kept | None:
    """Return a checkpoint of the run, None for one that was rejected: nothing ever went on from it."""
    name = config_of(str(run_id), record.checkpoint_ns, record.checkpoint_id)
    try:
        found = await runtime.new_saver().aget_tuple(name)
    except CheckpointDamaged:
        return None
    assert found is not None, "its record was read"
    return Kept(
        ns=record.checkpoint_ns,
        checkpoint_id=record.checkpoint_id,
        parent=record.parent_checkpoint,
        checkpoint=plain(found.checkpoint),
        metadata=plain(found.metadata),
        writes=[
            [task, channel, plain(value)] for task, channel, value in found.pending_writes or ()
        ],
        record=record.model_dump(mode="json", include=_OF_THE_RECORD),
    )


_OF_THE_RECORD = {
    "schema_version", "workflow_version", "fingerprint", "boundary", "phase", "step", "created_at", "ledger_version",
}  # fmt: skip


def _without_machines(changes: Sequence[Change]) -> list[Change]:
    """Return the changes with workers that are numbered: their names tell of machines."""
    numbers: dict[str, str] = {}

    def told(change: Change) -> Change:
        if change.row is None or "worker" not in change.row or change.table == "tasks":
            return change
        number = numbers.setdefault(change.row["worker"], f"worker-{len(numbers) + 1}")
        return replace(change, row={**change.row, "worker": number})

    return [told(change) for change in changes]


def refuse_secrets(settings: Settings, history: History) -> None:
    """Raise SecretInHistory for a history that holds a secret of this installation."""
    content = gzip.decompress(history.packed())
    raw = [each.content for each in history.artifacts.values()]
    for name, secret in _secrets(settings):
        # In a text of JSON it may be spelled otherwise, and in bytes that are no text it is not to be read.
        spelled = canonical(secret)[1:-1]
        found = spelled in content or any(secret.encode() in each for each in raw)
        if len(secret) >= SECRET_CHARACTERS_MIN and found:
            raise SecretInHistory(
                f"the history of run {history.run_id} holds what {name} is set to, or a part of it, so it is not written;"
                " `--without-text` leaves out what people wrote and what was read"
            )


def _secrets(settings: Settings) -> Iterator[tuple[str, str]]:
    """Return what nobody may read, with the settings that it is of: also what they only refer to, and parts of URLs."""
    for name in type(settings).model_fields:
        value = getattr(settings, name)
        values = cast("Mapping[str, Any]", value).values() if isinstance(value, dict) else [value]
        for each in values:
            if isinstance(each, SecretStr):
                secret = each.get_secret_value()
                yield from ((f"{PREFIX}{name.upper()}", part) for part in _parts(secret))
    for _, key in known_keys(settings).keys:
        yield f"{PREFIX}SEAL_KEY", key.decode()
    for name in ("model_key", "search_key"):
        if (reference := getattr(settings, name)) is not None:
            with suppress(CredentialMissing):
                yield f"{PREFIX}{name.upper()}", resolved(reference, name)
    for name in KEY_VARIABLES:
        if secret := os.environ.get(name, "").strip():
            yield name, secret


def _parts(secret: str) -> Iterator[str]:
    yield secret
    if "://" in secret and (password := urlsplit(secret).password):
        yield from {password, unquote(password)}
