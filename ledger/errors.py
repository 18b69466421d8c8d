"""What can go wrong in the ledger. Each error is named for what happened; its text says why and which command helps.

LedgerError
├── DatabaseUnavailable     not reachable, refused, restarted too long
├── DatabaseFull            the disk of the database is full; nothing was written
├── WriteConflict           another transaction was in the way; the same again may succeed
├── SchemaOutdated          migrations are missing; `perdure migrate` applies them
├── MigrationDrift          an applied migration differs from the file of that number
├── NotFound                no such run, artifact, review
├── Ambiguous               a prefix that fits several runs
├── RunExists               a run id that is taken
├── RunHeld                 another worker holds the run
├── TakeoverBlocked         a dead worker's transaction is in the way, and may not be ended
├── RunDrained              the worker was told to end, and stopped between two steps
├── LeaseLost               another worker took the run over; nothing was written
├── RunCancelled            the run was cancelled; nothing was written
├── SealKeyMissing          a seal needs a key that this process does not hold
├── LedgerDamaged           what is recorded of a run does not match its seals; nothing was written
├── CheckpointDamaged       a stored checkpoint is not what was sealed; it is never resumed
├── CheckpointUnsealed      a checkpoint that LangGraph's plain saver wrote; `perdure adopt` seals it
├── RecordTooNew            a checkpoint that a newer version of perdure recorded
├── IllegalTransition       a row was not in the state that the change leaves
├── ReviewClosed            a review that takes no decision, or not this one
│   └── ReviewDecided, ReviewStale, ReviewLate, ReviewForeign, AlreadyVoted: why
├── EffectKeyTaken          an idempotency key that stands for another request
├── EffectClosed            an effect that nobody can say this of any more
├── EffectsUnsettled        the run waits: nobody knows yet what became of an effect, or it was refused
├── ArtifactCorrupt         stored bytes no longer match their digest
├── QuoteMismatch           a quote that its text does not hold
├── DeliveryRefused         a table of the user's own takes no such row; nothing was written
├── DeliveryInDoubt         the connection broke while a row was written elsewhere; nobody can tell
├── NotText                 text that is no valid Unicode
└── OperationFailed         an outside call failed; `transient` says whether trying again may help
    └── CredentialRefused   a service knows us no more; the run waits for a valid key
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID


class LedgerError(Exception):
    """Anything that the ledger refuses or cannot do."""


class DatabaseUnavailable(LedgerError):
    """The database cannot be reached or refuses this user."""


class DatabaseFull(LedgerError):
    """The disk of the database is full; the transaction changed nothing."""


class WriteConflict(LedgerError):
    """Another transaction was in the way and this one was rolled back; the same again may succeed."""


class SchemaOutdated(LedgerError):
    """The database lacks migrations that this code needs, or has some that it does not know."""


class MigrationDrift(LedgerError):
    """A migration that was applied differs from the file of that number."""


class NotFound(LedgerError):
    """Nothing is stored under this id."""


class Ambiguous(LedgerError):
    """A prefix that fits several runs."""


class RunExists(LedgerError):
    """The run id is taken."""


class RunHeld(LedgerError):
    """Another worker holds the run."""

    def __init__(
        self,
        run_id: UUID,
        owner: str,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> None:
        begun = f" since {_in_utc(since)}" if since else ""
        ends = f", whose lease runs out at {_in_utc(until)} unless it is renewed" if until else ""
        super().__init__(
            f"run {run_id} is being worked by {owner}{begun}{ends}; wait for it, or stop that process"
        )
        self.run_id = run_id
        self.owner = owner


class TakeoverBlocked(LedgerError):
    """The lease is free, but a transaction of the worker that had it stands in the way."""

    def __init__(self, run_id: UUID, owner: str) -> None:
        super().__init__(
            f"run {run_id} cannot be taken over: a transaction of {owner} stands in the way, and this database user may"
            " not end it, or it does not end. Stop that process, or end its sessions (pg_terminate_backend) as a user"
            f" who may; then `perdure resume {run_id}`"
        )
        self.run_id = run_id
        self.owner = owner


class RunDrained(LedgerError):
    """The worker was told to end: the step that was running is finished and saved, the next one not begun."""

    def __init__(self, run_id: UUID) -> None:
        super().__init__(
            f"told to end; the running step is finished and saved: `perdure resume {run_id}` goes on"
        )
        self.run_id = run_id


class LeaseLost(LedgerError):
    """Another worker took the run over; this one's write changed nothing."""

    def __init__(self, owner: str) -> None:
        super().__init__(
            f"another worker took this run over ({owner}), or this one never had it; it wrote nothing more"
        )
        self.owner = owner


class RunCancelled(LedgerError):
    """The run was cancelled while it was worked; the write changed nothing."""


class SealKeyMissing(LedgerError):
    """A seal needs a key that this process does not hold; nothing was written."""

    def __init__(self, key_id: str | None) -> None:
        which = f"the seal key {key_id}" if key_id else "a seal key"
        super().__init__(
            f"this needs {which}, which is not set here: put the key that sealed into PERDURE_SEAL_KEY, or bring back"
            " the file seal.key of PERDURE_HOME from a backup; `perdure doctor` names the keys that are in use"
        )
        self.key_id = key_id


class LedgerDamaged(LedgerError):
    """What is recorded of a run does not match its seals; nothing was written on top of it."""

    def __init__(self, run_id: UUID, what: str) -> None:
        super().__init__(
            f"what is recorded of run {run_id} was changed from outside ({what}), so nothing more was written;"
            f" `perdure verify {run_id}` lists all damage"
        )
        self.run_id = run_id


class CheckpointDamaged(LedgerError):
    """A stored checkpoint, or a pending write of it, is not what was sealed; `tasks` names whose writes those are."""

    def __init__(
        self, name: tuple[str, str, str], problems: Sequence[str], tasks: Sequence[str] = ()
    ) -> None:
        self.thread_id, self.checkpoint_ns, self.checkpoint_id = name
        self.problems, self.tasks = tuple(problems), tuple(tasks)
        super().__init__(
            f"checkpoint {self.checkpoint_id} of {self.thread_id} is damaged: {'; '.join(problems)}. It is not"
            f" resumed; `perdure verify {self.thread_id}` looks into the rest, `perdure resume` goes on from an earlier one"
        )


class CheckpointUnsealed(LedgerError):
    """A checkpoint that LangGraph's plain saver, or an earlier version, wrote: nobody can say that it is unchanged."""

    def __init__(self, name: tuple[str, str, str]) -> None:
        self.thread_id, self.checkpoint_ns, self.checkpoint_id = name
        super().__init__(
            f"checkpoint {self.checkpoint_id} of {self.thread_id} was never sealed: LangGraph's plain saver or an"
            f" earlier version wrote it. If you trust this database, `perdure adopt {self.thread_id} --as YOU` seals it"
        )


class RecordTooNew(LedgerError):
    """A checkpoint that a newer version of perdure recorded."""

    def __init__(self, name: tuple[str, str, str], version: int, known: int) -> None:
        self.thread_id, self.checkpoint_ns, self.checkpoint_id = name
        super().__init__(
            f"checkpoint {self.checkpoint_id} of {self.thread_id} has a record of version {version}, and this"
            f" installation knows up to {known}: resume it with the version of perdure that wrote it"
        )


class IllegalTransition(LedgerError):
    """A row was not in the state that the change leaves."""


class ReviewClosed(LedgerError):
    """A review takes no decision, or not this one; nothing was recorded."""


class ReviewDecided(ReviewClosed):
    """Somebody was quicker; the text says who, and what they decided."""


class ReviewStale(ReviewClosed):
    """What the review showed has changed since, or its run has ended."""


class ReviewLate(ReviewClosed):
    """The deadline of the review has passed."""


class ReviewForeign(ReviewClosed):
    """The answer is to another review than the one that is asked."""


class AlreadyVoted(ReviewClosed):
    """Two people have to say the same of this review, and this one has spoken."""


class EffectKeyTaken(LedgerError):
    """An idempotency key stands for another request; it is never sent with a second one."""

    def __init__(self, key: str) -> None:
        super().__init__(
            f"the idempotency key {key} stands for another request already, or for one whose record was deleted, so nothing"
            " was recorded or sent under it; ask in a new run, whose keys are its own: `perdure run`"
        )


class EffectClosed(LedgerError):
    """An effect is not in a state in which a person can say this of it."""

    def __init__(self, key: str, status: str) -> None:
        super().__init__(
            f"effect {key} is {status}: only one that is in doubt or refused can be settled;"
            " `perdure effects RUN` shows how each stands"
        )


class EffectsUnsettled(LedgerError):
    """The run waits for a person, or for a target that did not answer; `unsettled` has key, status and reason of each."""

    def __init__(self, run_id: UUID, unsettled: Sequence[tuple[str, str, str | None]]) -> None:
        told = "; ".join(f"{key} is {status} ({reason})" for key, status, reason in unsettled)
        asks = any(status in {"failed", "awaiting_person"} for _, status, _ in unsettled)
        advice = (
            "find out what happened there, say so with `perdure effects settle KEY`, then"
            if asks
            else "when the target answers again,"
        )
        super().__init__(
            f"the report of run {run_id} is written, and not all of it was published: {told}. `perdure effects {run_id}`"
            f" shows them; {advice} `perdure resume {run_id}` goes on"
        )
        self.unsettled = tuple(unsettled)


class ArtifactCorrupt(LedgerError):
    """Stored bytes no longer match the digest that names them."""


class QuoteMismatch(LedgerError):
    """A quote that its text does not hold at the stated place."""


class DeliveryRefused(LedgerError):
    """A table of the user's own takes no such row, and would not another time; nothing was written."""


class DeliveryInDoubt(LedgerError):
    """The connection broke while a row was written in another database: only a look-up tells whether it is there."""


class NotText(LedgerError):
    """Text that is no valid Unicode, so that it can be neither stored nor digested."""


class OperationFailed(LedgerError):
    """An outside call failed; the attempt is recorded with the reason."""

    def __init__(self, reason: str, *, transient: bool) -> None:
        super().__init__(reason)
        self.reason = reason
        self.transient = transient


class CredentialRefused(OperationFailed):
    """A service knows us no more: a key has expired or was revoked. The run waits until there is another."""

    def __init__(self, place: str, status: int, setting: str) -> None:
        super().__init__(
            f"{place} refuses our credentials (HTTP {status}): a key may have expired; put a valid one into {setting},"
            " then `perdure resume` goes on",
            transient=False,
        )


def _in_utc(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(sep=" ", timespec="seconds")
