"""The keys that seals are made with: HMAC-SHA256 (RFC 2104), so that whoever can write the database cannot seal.

A key is named by an id that says nothing about it. The first key of a ring signs; all of them verify, so that a key is
replaced by putting the new one in front. Keys never enter the database; ids do.
"""

import hashlib
import hmac
import json
from collections.abc import Iterable
from dataclasses import dataclass

from ledger.errors import SealKeyMissing

# 48 bits: enough to tell the keys of one installation apart, and short enough to read out.
ID_HEX_DIGITS = 12


@dataclass(frozen=True, slots=True, repr=False)
class KeyRing:
    """Keys by their ids, the one that signs first; an empty ring can neither sign nor verify."""

    keys: tuple[tuple[str, bytes], ...] = ()

    @classmethod
    def of(cls, secrets: Iterable[str]) -> "KeyRing":
        """Return the ring of these secrets, any text; the first signs."""
        return cls(tuple((_id_of(secret), secret.encode()) for secret in secrets))

    @property
    def ids(self) -> frozenset[str]:
        """The ids of all keys."""
        return frozenset(name for name, _ in self.keys)

    @property
    def key_id(self) -> str:
        """The id of the key that signs; raises SealKeyMissing for an empty ring."""
        return self._signing()[0]

    def sign(self, *parts: str) -> tuple[str, str]:
        """Return the id of the key and the seal over these parts, 64 hex digits; raises SealKeyMissing."""
        key_id, key = self._signing()
        return key_id, _seal(key, parts)

    def verifies(self, key_id: str, seal: str, *parts: str) -> bool:
        """Say whether this seal was made over these parts; raises SealKeyMissing for a key that is not here."""
        for name, key in self.keys:
            if name == key_id:
                # Compares bytes: a seal that was tampered with may hold anything.
                return hmac.compare_digest(_seal(key, parts).encode(), seal.encode())
        raise SealKeyMissing(key_id)

    def _signing(self) -> tuple[str, bytes]:
        if not self.keys:
            raise SealKeyMissing(None)
        return self.keys[0]


def _id_of(secret: str) -> str:
    return f"k_{hashlib.sha256(b'perdure seal key ' + secret.encode()).hexdigest()[:ID_HEX_DIGITS]}"


def _seal(key: bytes, parts: tuple[str, ...]) -> str:
    # A list in JSON says where each part ends, so that no two lists of parts read the same.
    return hmac.digest(key, json.dumps(parts).encode(), "sha256").hex()
