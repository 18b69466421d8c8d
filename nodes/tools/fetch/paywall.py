"""Whether a page says of itself that it is for those who pay: schema.org's `isAccessibleForFree`, as publishers state it.

Only what the page says of the whole is taken (Google Search Central, "Subscription and paywalled content"): a part of a
page that is not free is named below it, with `hasPart`, beside a whole that is not free either.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, cast

_PROPERTY = b"isAccessibleForFree"
# No `<` within a tag, so that a page of nothing but such beginnings is gone through once.
_OPENING = re.compile(rb"<script[^<>]{0,500}application/ld\+json[^<>]{0,500}>", re.IGNORECASE)
_CLOSING = re.compile(rb"</script", re.IGNORECASE)
# A page states itself in a few kB; what is longer states something else.
_SCRIPT_BYTES_MAX = 1024 * 1024
_FALSE = frozenset({"false", "http://schema.org/false", "https://schema.org/false"})


def is_paywalled(html: bytes) -> bool:
    """Whether the page says that it is not accessible for free."""
    if _PROPERTY not in html:
        return False
    return any(
        _is_false(item.get("isAccessibleForFree", True))
        for script in _scripts(html)
        for item in _items(script[:_SCRIPT_BYTES_MAX])
    )


def _scripts(html: bytes) -> Iterator[bytes]:
    position = 0
    while opening := _OPENING.search(html, position):
        closing = _CLOSING.search(html, opening.end())
        if closing is None:
            return
        yield html[opening.end() : closing.start()]
        position = closing.end()


def _items(script: bytes) -> Iterator[dict[str, Any]]:
    """Yield what a script states: one thing, several, or a graph of them."""
    try:
        stated: Any = json.loads(script)
    # RecursionError: what is nested deeper than the parser goes.
    except (ValueError, RecursionError):
        return
    for item in _objects(stated if isinstance(stated, list) else [stated]):
        yield item
        yield from _objects(item.get("@graph"))


def _objects(stated: Any) -> Iterator[dict[str, Any]]:
    for each in cast("list[object]", stated) if isinstance(stated, list) else []:
        if isinstance(each, dict):
            yield cast("dict[str, Any]", each)


def _is_false(value: Any) -> bool:
    return value is False or (isinstance(value, str) and value.strip().lower() in _FALSE)
