"""What a call of a language model can come to, other than an answer.

ModelError (OperationFailed)     `transient` says whether another try may help
├── Overloaded                   the engine is busy, for minutes
├── RateLimited                  too many calls or tokens; `kind` says of what
├── QuotaExhausted               the account has no money left
├── KeyRefused                   the key is missing, unknown or revoked; also a CredentialRefused
├── UnknownModel                 the endpoint knows no model of this name
├── PermissionDenied             the key may not use this
├── ContextOverflow              the prompt and the room for the answer do not fit the model
├── ContentFiltered              the provider refuses the content
├── BadRequest                   the endpoint does not take the request as it is
├── EndpointDown                 no connection, no HTTP, or HTTP 5xx
├── StreamCut                    the answer ended before it was complete
├── StreamSilent                 nothing came for longer than the idle timeout
├── Truncated                    the answer used up its room
├── EmptyAnswer                  the answer says nothing
└── Malformed                    the answer is no JSON, or not of the schema; or the stream is none

No text of an error holds a key, a prompt or an answer: these texts are stored and shown. The server's own words may, so
they are read and never repeated.
"""

from collections.abc import Mapping
from typing import Literal, TypeAlias, TypedDict

from typing_extensions import Unpack

from ledger.errors import CredentialRefused, OperationFailed
from nodes.models.base import Usage

Limit: TypeAlias = Literal["concurrency", "rpm", "tpm", "tpd"]

_LIMITS: Mapping[Limit, str] = {
    "concurrency": "calls at a time",
    "rpm": "calls per minute",
    "tpm": "tokens per minute",
    "tpd": "tokens per day",
}


class Told(TypedDict, total=False):
    """What is known of a call that failed: its usage, its response id, and the seconds that the endpoint asks to wait."""

    usage: Usage
    response_id: str | None
    retry_after: float | None


class ModelError(OperationFailed):
    """A call of a language model failed; `usage` is what it may cost nevertheless, `retry_after` is in seconds."""

    def __init__(self, reason: str, *, transient: bool, **told: Unpack[Told]) -> None:
        OperationFailed.__init__(self, reason, transient=transient)
        self.usage = told.get("usage", Usage())
        self.response_id = told.get("response_id")
        self.retry_after = told.get("retry_after")


class Overloaded(ModelError):
    """The engine is busy: it lasts minutes, and the same call may succeed then."""

    def __init__(self, place: str, **told: Unpack[Told]) -> None:
        super().__init__(f"{place} is overloaded; it is asked again later", transient=True, **told)


class RateLimited(ModelError):
    """Too many calls or tokens for this account; `kind` is the limit that was met."""

    def __init__(self, place: str, kind: Limit, **told: Unpack[Told]) -> None:
        super().__init__(
            f"{place} takes no more for now: the account's limit of {_LIMITS[kind]} is reached",
            transient=True,
            **told,
        )
        self.kind: Limit = kind


class QuotaExhausted(ModelError):
    """The account has no money left: no try helps until somebody pays."""

    def __init__(self, place: str, **told: Unpack[Told]) -> None:
        super().__init__(
            f"{place} answers that the account's balance or quota is used up: top it up, then `perdure resume RUN` goes on",
            transient=False,
            **told,
        )


def _key_places(settings: tuple[str, ...]) -> str:
    """Say where a key belongs: a setting of ours only says where it is."""
    ours = [each for each in settings if each.startswith("PERDURE_")]
    vendors = [each for each in settings if each not in ours]
    places = [f"where {each} says that it is (env:NAME or file:PATH)" for each in ours]
    if vendors:
        places.insert(0, f"into {' or '.join(vendors)}")
    return " or ".join(places)


class KeyRefused(ModelError, CredentialRefused):
    """The key is missing, unknown or revoked; the run waits for another, as for every credential.

    `status` is None where no call was made because there is no key; `settings` are the variables that may hold one.
    """

    def __init__(
        self, place: str, status: int | None, settings: tuple[str, ...], **told: Unpack[Told]
    ) -> None:
        why = (
            f"{place} refuses our key (HTTP {status})"
            if status
            else f"there is no usable key for {place}"
        )
        super().__init__(
            f"{why}: put a valid one {_key_places(settings)}, then `perdure resume RUN` goes on",
            transient=False,
            **told,
        )


class UnknownModel(ModelError):
    """The endpoint knows no model of this name, or not for this account."""

    def __init__(self, place: str, model: str, **told: Unpack[Told]) -> None:
        super().__init__(
            f"{place} knows no model {model}, or not for this account: see which it offers, and give one of those"
            " (`perdure resume RUN --model NAME` for a run that was begun)",
            transient=False,
            **told,
        )
        self.model = model


class PermissionDenied(ModelError):
    """The key is known and may not do this."""

    def __init__(self, place: str, **told: Unpack[Told]) -> None:
        super().__init__(
            f"{place} knows the key and does not permit this call (HTTP 403): ask whoever administers the account",
            transient=False,
            **told,
        )


class ContextOverflow(ModelError):
    """Prompt and answer do not fit the model; `limit` and `requested` are tokens, where the endpoint gave them."""

    def __init__(
        self, place: str, limit: int | None, requested: int | None, **told: Unpack[Told]
    ) -> None:
        most = "" if limit is None else f" of {limit} tokens"
        asked = "" if requested is None else f" ({requested} requested)"
        super().__init__(
            f"the prompt and the room for its answer exceed the context{most} at {place}{asked}: less has to be asked"
            " at once",
            transient=False,
            **told,
        )
        self.limit = limit
        self.requested = requested


class ContentFiltered(ModelError):
    """The provider refuses the content of the prompt or of the answer."""

    def __init__(self, place: str, **told: Unpack[Told]) -> None:
        super().__init__(
            f"{place} refuses the content of this prompt or of its answer (content filter)",
            transient=False,
            **told,
        )


class BadRequest(ModelError):
    """The endpoint does not take the request as it is; `what` is a known cause or what the endpoint calls the error."""

    def __init__(self, place: str, status: int | None, what: str, **told: Unpack[Told]) -> None:
        http = f" (HTTP {status})" if status else ""
        super().__init__(
            f"{place} does not take the request{http}: {what}", transient=False, **told
        )
        self.status = status
        self.what = what


class EndpointDown(ModelError):
    """No connection, no HTTP, or an error on the endpoint's side."""

    def __init__(self, place: str, what: str, **told: Unpack[Told]) -> None:
        super().__init__(f"{place} does not answer: {what}", transient=True, **told)


class StreamCut(ModelError):
    """The answer ended before it was complete."""

    def __init__(self, place: str, **told: Unpack[Told]) -> None:
        super().__init__(f"{place} ended the answer before it was complete", transient=True, **told)


class StreamSilent(ModelError):
    """Nothing came for longer than the idle timeout."""

    def __init__(self, place: str, idle_seconds: float, **told: Unpack[Told]) -> None:
        super().__init__(f"{place} was silent for {idle_seconds:g} s", transient=True, **told)
        self.idle_seconds = idle_seconds


class Truncated(ModelError):
    """The answer used up its room before it was complete; `text` is what there is of it."""

    def __init__(self, text: str, **told: Unpack[Told]) -> None:
        super().__init__(
            "the answer used up its room before it was complete (finish_reason length)",
            transient=True,
            **told,
        )
        self.text = text


class EmptyAnswer(ModelError):
    """The answer says nothing."""

    def __init__(self, **told: Unpack[Told]) -> None:
        super().__init__("the answer is empty", transient=True, **told)


class Malformed(ModelError):
    """The answer is no JSON or not of its schema; `problem` says what is wrong, `text` is the answer."""

    def __init__(self, problem: str, text: str, **told: Unpack[Told]) -> None:
        super().__init__(f"the answer is malformed: {problem}", transient=True, **told)
        self.problem = problem
        self.text = text
