"""Where ids are minted.

A run's id is new; everything inside a run is derived from what it names, so that a step that is run again finds its
own rows.
"""

import hashlib
from uuid import UUID

import uuid_utils

from ledger.canonical import Json, canonical

# 96 bits: no two ids of one run meet by chance, and a person can still compare them.
DERIVED_HEX_DIGITS = 24


def new_run_id() -> UUID:
    """Return a new run id (UUID version 7, RFC 9562: ordered by time)."""
    return UUID(int=uuid_utils.uuid7().int)


def new_worker_id(host: str, process: int) -> str:
    """Return a name for this process that no other process, before or after, has."""
    return f"{host}:{process}:{uuid_utils.uuid7().hex[-12:]}"


def derived_id(prefix: str, *parts: Json) -> str:
    """Return the id of what these parts name, the same in every process and on every replay."""
    name = hashlib.sha256(canonical(list(parts))).hexdigest()
    return f"{prefix}_{name[:DERIVED_HEX_DIGITS]}"
