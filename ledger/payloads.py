"""The one codec that every stored payload passes.

A payload is stored as the pair (key id, bytes). Today there is one codec, which stores the bytes as they are; encryption
is another codec with another key id, and rows of both can stand side by side.
"""

import json
from typing import Protocol, cast

from ledger.canonical import Json, canonical
from ledger.errors import LedgerError


class Codec(Protocol):
    """Turns plain bytes into stored bytes and back."""

    def encode(self, plain: bytes) -> tuple[str, bytes]:
        """Return the key id and the bytes to store."""
        ...

    def decode(self, key_id: str, stored: bytes) -> bytes:
        """Return the plain bytes; raises UnknownKey for a key id that this codec does not hold."""
        ...


class UnknownKey(LedgerError):
    """A payload was stored under a key that this process does not hold."""


class PlainCodec:
    """Stores payloads as they are, under the key id `plain`."""

    key_id = "plain"

    def encode(self, plain: bytes) -> tuple[str, bytes]:
        """Return the bytes unchanged."""
        return self.key_id, plain

    def decode(self, key_id: str, stored: bytes) -> bytes:
        """Return the bytes unchanged; raises UnknownKey for any other key id."""
        if key_id != self.key_id:
            raise UnknownKey(
                f"a payload was stored under the key {key_id!r}, which this process does not hold"
            )
        return stored


def pack(codec: Codec, value: Json) -> tuple[str, bytes]:
    """Return a JSON value as a payload."""
    return codec.encode(canonical(value))


def unpack(codec: Codec, key_id: str, stored: bytes) -> Json:
    """Return the JSON value of a payload."""
    return cast("Json", json.loads(codec.decode(key_id, stored)))
