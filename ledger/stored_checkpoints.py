"""One checkpoint as the database holds it, whatever was changed or is missing."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Stored:
    """One checkpoint as `ledger.stored_checkpoint` finds it, whatever is missing."""

    thread_id: str
    checkpoint_ns: str
    checkpoint_id: str
    has_row: bool
    parent: str | None
    row_type: str | None
    checkpoint: str | None
    metadata: str | None
    blob_channels: list[str] | None
    blob_types: list[str] | None
    blobs: list[bytes | None] | None
    write_tasks: list[str] | None
    write_idxs: list[int] | None
    write_paths: list[str | None] | None
    write_channels: list[str | None] | None
    write_types: list[str | None] | None
    writes: list[bytes | None] | None
    write_found: list[bool] | None
    write_key_ids: list[str | None] | None
    write_seals: list[str | None] | None
    key_id: str | None
    seal: str | None
    parts: str | None
    has_parent: bool
    parent_seal: str | None
    record: str | None
    rejected: str | None
    thread_sealed: bool

    @property
    def name(self) -> tuple[str, str, str]:
        """What it is called."""
        return (self.thread_id, self.checkpoint_ns, self.checkpoint_id)

    @property
    def has_trace(self) -> bool:
        """Whether any table knows of it."""
        return self.has_row or self.seal is not None or self.record is not None
