"""What an endpoint sends instead of an answer, and what can be read from it.

An endpoint says what is wrong by a status, a type and a text, and no two agree: Moonshot tells four limits apart only in
the text, servers of open models tell an overflow of the context only there. The texts are read here and go no further,
because they may repeat a key or a prompt.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, cast

from nodes.models.errors import Limit

# Moonshot; llama.cpp; vLLM; SGLang; OpenAI and its imitators; LM Studio.
_OVERFLOW = re.compile(
    r"exceeded model token limit|input token length too long"
    r"|exceeds? the available context size"
    r"|maximum context length|longer than the maximum model length"
    r"|longer than the model's context length"
    r"|exceeds? (?:the )?context (?:window|length|limit)|prompt is too long"
    r"|context the overflows",
    re.IGNORECASE,
)
_CONTEXT_LIMIT = re.compile(
    r"token limit: ?(\d+)|(?:context|model) length (?:is|of) (?:only )?(\d+)"
    r"|context (?:length|size) \((\d+)",
    re.IGNORECASE,
)
_REQUESTED = re.compile(
    r"\(requested: ?(\d+)\)|requested (?:a total of )?(\d+) tokens|(?:input|request) \((\d+) tokens"
    r"|has (\d+) input tokens|prompt \(length (\d+)\)",
    re.IGNORECASE,
)
# The four limits that share one type at Moonshot.
_LIMITS: tuple[tuple[Limit, re.Pattern[str]], ...] = (
    ("tpd", re.compile(r"\bTPD\b|tokens per day", re.IGNORECASE)),
    ("tpm", re.compile(r"\bTPM\b|tokens per min", re.IGNORECASE)),
    ("rpm", re.compile(r"\bRPM\b|requests per min", re.IGNORECASE)),
    ("concurrency", re.compile(r"concurren", re.IGNORECASE)),
)
_AGAIN_AFTER = re.compile(
    r"again (?:after|in) (\d+(?:\.\d+)?) ?(milliseconds?|ms|minutes?|min|m|hours?|h|seconds?|sec|s)\b",
    re.IGNORECASE,
)
# No account's window is longer than a day, and what is longer is no time that a database can hold.
RETRY_AFTER_SECONDS_MAX = 86_400.0
# More digits than any number of tokens has.
_DIGITS_MAX = 12
_UNIT_SECONDS = (("mil", 0.001), ("ms", 0.001), ("m", 60.0), ("h", 3_600.0), ("s", 1.0))


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error as an endpoint sent it; `status` is None for one that came in the middle of a stream."""

    status: int | None
    body: object
    headers: Mapping[str, str]

    @property
    def types(self) -> frozenset[str]:
        """What it calls the error, in small letters: its type, and the code that other endpoints say beside it."""
        said = (self._member("type"), self._member("code"))
        return frozenset(value.lower() for value in said if isinstance(value, str))

    @property
    def text(self) -> str:
        """Its message; never shown."""
        message = self._member("message") if isinstance(self.body, Mapping) else self.body
        return message if isinstance(message, str) else ""

    @property
    def code(self) -> int | None:
        """Its status; in a stream the number that some servers put into the error instead."""
        code = self._member("code") if self.status is None else self.status
        return code if isinstance(code, int) else None

    @property
    def overflows(self) -> bool:
        """Whether the text says that the context was exceeded."""
        return _OVERFLOW.search(self.text) is not None

    @property
    def context(self) -> tuple[int | None, int | None]:
        """The tokens that the model takes and those that were requested; llama.cpp says them as numbers."""
        limit, requested = self._member("n_ctx"), self._member("n_prompt_tokens")
        return (
            limit if isinstance(limit, int) else _number(_CONTEXT_LIMIT, self.text),
            requested if isinstance(requested, int) else _number(_REQUESTED, self.text),
        )

    @property
    def limit(self) -> Limit:
        """Which limit of the account was met; one that says nothing is taken for that of calls per minute."""
        kinds: list[Limit] = [kind for kind, told in _LIMITS if told.search(self.text)]
        return kinds[0] if kinds else "rpm"

    @property
    def retry_after(self) -> float | None:
        """The seconds that the endpoint asks to wait, by a header (RFC 9110, 10.2.3) or in its text; a day at most."""
        told = self._told_seconds
        return None if told is None else min(told, RETRY_AFTER_SECONDS_MAX)

    @property
    def _told_seconds(self) -> float | None:
        header = self.headers.get("retry-after", "").strip()
        if re.fullmatch(r"\d+(\.\d+)?", header):
            return float(header)
        return _until(header, self.headers.get("date", "")) if header else _told_wait(self.text)

    def _member(self, name: str) -> Any:
        body = self.body
        return cast("Mapping[str, Any]", body).get(name) if isinstance(body, Mapping) else None


def _number(pattern: re.Pattern[str], text: str) -> int | None:
    found = pattern.search(text)
    digits = next((group for group in found.groups() if group), "") if found else ""
    return int(digits) if 0 < len(digits) <= _DIGITS_MAX else None


def _until(moment: str, now: str) -> float | None:
    """Return the seconds between two HTTP dates, both by the endpoint's clock."""
    try:
        wait = parsedate_to_datetime(moment) - parsedate_to_datetime(now)
    except (TypeError, ValueError):
        return None
    return max(0.0, wait.total_seconds())


def _told_wait(text: str) -> float | None:
    found = _AGAIN_AFTER.search(text)
    if found is None:
        return None
    unit = found.group(2).lower()
    return float(found.group(1)) * next(
        seconds for start, seconds in _UNIT_SECONDS if unit.startswith(start)
    )
