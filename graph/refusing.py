"""Why this workflow cannot go on from what another one stored, as an error that a person can act on."""

import json
from typing import Any, Final, assert_never

from graph.checkpoints import stamp_of
from graph.compatibility import Compatible, Migratable, Newer, Same, Unknown, Verdict, judge
from graph.errors import NewerWorkflow, UnknownWorkflow
from graph.saver_records import STATE_VERSION_KEY
from graph.workflow import Definition
from ledger.errors import LedgerError, RecordTooNew
from ledger.stamps import Stamp
from ledger.stored_checkpoints import Stored
from nodes.state import STATE_VERSION

_NOT_BROUGHT_HERE: Final = "it was not migrated, as whole runs are: `perdure upgrade RUN` does that, and what it stores can be gone on from"


def refused(
    definition: Definition, subject: str, stamp: Stamp, verdict: Verdict
) -> LedgerError | None:
    """Return why a workflow cannot go on from something as it is; None where it can. `subject` names it."""
    match verdict:
        case Same() | Compatible():
            return None
        case Newer(version):
            return NewerWorkflow(subject, version, definition.version)
        case Unknown(differences):
            return UnknownWorkflow(subject, stamp.version, differences)
        case Migratable():
            return UnknownWorkflow(subject, stamp.version, (_NOT_BROUGHT_HERE,))
        case _:
            assert_never(verdict)


def check_loaded(definition: Definition, stored: Stored) -> None:
    """Refuse a checkpoint that was verified and that another workflow stored, or whose state has a newer form.

    Raises UnknownWorkflow, NewerWorkflow, RecordTooNew.
    """
    metadata: dict[str, Any] = json.loads(stored.metadata or "{}")
    if (newer := metadata.get(STATE_VERSION_KEY, 0)) > STATE_VERSION:
        raise RecordTooNew(stored.name, newer, STATE_VERSION)
    # Stored by LangGraph's own saver and adopted by a person: the run's row says whose it is.
    if (stamp := stamp_of(stored)) is None:
        return
    subject = f"checkpoint {stored.checkpoint_id} of {stored.thread_id}"
    error = refused(definition, subject, stamp, judge(stamp, definition))
    if error is not None:
        raise error
