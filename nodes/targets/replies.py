"""What a webhook's answers mean, by status code and body: pure, and the same for every server.

A status outside these tables leaves it open whether the request was carried out. Nothing that a server wrote stands in a
reason: reasons are recorded, and an answer may repeat what it was sent.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, Final, cast

import httpx

from nodes.targets.base import (
    Absent,
    Confirmed,
    Differs,
    Found,
    NoLookUp,
    NotSent,
    Refused,
    Sent,
    Unknown,
)

# A server that asks for more patience than a day is asked again after a day.
RETRY_AFTER_SECONDS_MAX = 86_400.0
# What another side calls a thing is a name, no document.
EXTERNAL_ID_CHARACTERS_MAX = 500

# The request was not carried out, and would not be another time (RFC 9110, 15.5; 428 and 431: RFC 6585).
_REFUSED: Final = frozenset(
    {400, 401, 402, 403, 404, 405, 406, 407, 410, 411, 413, 414, 415, 417, 426, 428, 431, 451}
)


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer that came whole; `content` is None where it was longer than is read, or compressed."""

    status: int
    headers: httpx.Headers
    content: bytes | None

    @property
    def retry_after_seconds(self) -> float | None:
        """How long the server asks to wait: seconds, or a date, which counts from the server's own."""
        value = self.headers.get("retry-after", "").strip()
        in_seconds = value.isascii() and value.isdigit()
        seconds = float(value[:10]) if in_seconds else _between(self.headers.get("date", ""), value)
        return None if seconds is None else min(max(seconds, 0.0), RETRY_AFTER_SECONDS_MAX)

    @property
    def fields(self) -> Mapping[str, Any]:
        """The JSON object in the body; empty for any other body."""
        try:
            found: Any = json.loads(self.content or b"")
        # RecursionError: what is nested deeper than the parser goes.
        except (ValueError, RecursionError):
            return {}
        return cast("dict[str, Any]", found) if isinstance(found, dict) else {}

    def external_id(self, key: str, secret: str | None) -> str:
        """Return the other side's name for what it made: JSON `id`, else `Location`, else the key."""
        for value in (self.fields.get("id"), self.headers.get("location")):
            if isinstance(value, bool) or not isinstance(value, str | int):
                continue
            text = str(value).strip()
            if _is_name(text) and not (secret and secret in text):
                return text
        return key


def sent(reply: Reply, key: str, secret: str | None) -> Sent:
    """Return what the answer to a POST says of it."""
    status, after = reply.status, reply.retry_after_seconds
    said = f"HTTP {status}"
    match status // 100, status:
        case 2, _:
            return Confirmed(reply.external_id(key, secret), {"status": status})
        case 3, _:
            place = _without_secrets(reply.headers.get("location", ""), secret)
            said = f"{said}: moved to {place}; a POST is never redirected, publish to that address"
            return Refused(said)
        case 4, 422:
            return Differs(f"{said}: this key was used with another request")
        case 4, 429:
            return NotSent(f"{said}: too many requests", after)
        case 4, 409:
            said = f"{said}: an earlier request with this key is being processed"
        case _:
            pass
    return Refused(said) if status in _REFUSED else Unknown(said, after)


def found(reply: Reply, key: str, request_digest: str, secret: str | None) -> Found:
    """Return what the answer to a GET says of the request with this key."""
    said = f"HTTP {reply.status} to the look-up"
    match reply.status:
        case 200:
            return _compared(reply, key, request_digest, secret)
        case 404:
            return Absent()
        case 405 | 501:
            return NoLookUp()
        case 202 | 409:
            said = f"{said}: the request is being processed"
        case _:
            pass
    return Unknown(said, reply.retry_after_seconds)


def _compared(
    reply: Reply, key: str, request_digest: str, secret: str | None
) -> Confirmed | Differs | Unknown:
    told = reply.fields.get("request_digest")
    if not isinstance(told, str):
        return Unknown(
            "the look-up found something without a request_digest, which may be anything"
        )
    if told != request_digest:
        return Differs("the other side has another request under this key")
    return Confirmed(reply.external_id(key, secret), {"status": reply.status})


def _between(now: str, then: str) -> float | None:
    try:
        return (parsedate_to_datetime(then) - parsedate_to_datetime(now)).total_seconds()
    # TypeError: one of them names no zone.
    except (ValueError, TypeError, OverflowError):
        return None


def _is_name(text: str) -> bool:
    return 0 < len(text) <= EXTERNAL_ID_CHARACTERS_MAX and text.isprintable()


def _without_secrets(place: str, secret: str | None) -> str:
    """Return an address without user, password, query and the token."""
    try:
        url = httpx.URL(place).copy_with(userinfo=b"", query=None, fragment=None)
    except (httpx.InvalidURL, UnicodeError):
        return "a place that is no URL"
    text = str(url)[:EXTERNAL_ID_CHARACTERS_MAX] or "no place"
    return text.replace(secret, "…") if secret else text
