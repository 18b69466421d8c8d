"""Canonical bytes and digests: two equal values have one spelling (RFC 8785), and so one digest."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import rfc8785

from ledger.errors import NotText

#: A JSON value; read-only on purpose, so that narrower dicts and lists fit.
Json: TypeAlias = "Mapping[str, Json] | Sequence[Json] | str | int | float | bool | None"


def canonical(value: Json) -> bytes:
    """Return the RFC 8785 form of a JSON value.

    Raises NotText for strings with lone surrogates, NaN, infinities and integers beyond 2^53.
    """
    try:
        return rfc8785.dumps(value)  # pyright: ignore[reportArgumentType]  # its alias is invariant, ours is the same
    except (rfc8785.CanonicalizationError, UnicodeEncodeError) as error:
        raise NotText(f"a value has no canonical JSON form: {error}") from error


def digest(content: bytes) -> str:
    """Return the name of these bytes, `sha256:` and 64 hex digits."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
