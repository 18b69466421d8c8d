"""What an endpoint says of its models without a token: the list, and whether it knows a name that is not in it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ledger.canonical import Json
from nodes.models.base import Model
from nodes.models.errors import KeyRefused, Malformed, ModelError, UnknownModel
from nodes.models.outcomes import Outcome, refuted, unverified, verified

# How a listing says the context of a model: Moonshot and gateways; vLLM and SGLang.
_CONTEXT = ("context_length", "max_model_len")

Members: TypeAlias = Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Listed:
    """How many models an endpoint lists, and what it says of ours, None where ours is not among them."""

    count: int
    ours: Members | None

    @property
    def context_tokens(self) -> int | None:
        """The context of our model, where it is told."""
        told = [(self.ours or {}).get(name) for name in _CONTEXT]
        return next((each for each in told if isinstance(each, int) and each > 0), None)


async def listed(model: Model) -> Listed:
    """Ask for the list of models: one GET, no tokens. Raises ModelError."""
    body = await model.look_up("/models")
    entries = body.get("data") if isinstance(body, Mapping) else None
    if not isinstance(entries, Sequence) or isinstance(entries, str):
        raise Malformed("it is no list of models", "")
    models = [entry for entry in entries if isinstance(entry, Mapping)]
    ours = [each for each in models if each.get("id") == model.profile.model]
    return Listed(len(models), ours[0] if ours else None)


async def refused_by_name(model: Model) -> UnknownModel | None:
    """Return the refusal of our model's name, if the endpoint refuses it.

    Lists are not always whole, and some servers answer to any name; so the name is tried, in a request without messages,
    which costs nothing: there is nothing to answer.
    """
    profile = model.profile
    body: dict[str, Json] = {
        "model": profile.model,
        "messages": [],
        profile.answer_tokens_field: 1,
    }
    try:
        await model.look_up("/chat/completions", body)
    except UnknownModel as error:
        return error
    except ModelError:
        return None
    return None


async def known_now(model: Model) -> str:
    """Say what the endpoint says of model and key now, without tokens.

    Raises KeyRefused and UnknownModel. One that does not answer now is asked again by each call, with patience.
    """
    try:
        found = await listed(model)
    except KeyRefused:
        raise
    except ModelError as error:
        return f"not known to be there now ({error.reason})"
    if found.ours is not None:
        return "listed there now"
    if (refusal := await refused_by_name(model)) is not None:
        raise refusal
    return "not listed there, and its name is not refused"


async def listing_outcomes(model: Model, found: Listed | ModelError) -> tuple[Outcome, Outcome]:
    """Return what the list says of the model and of its context."""
    if isinstance(found, ModelError):
        return unverified("listing", found), unverified("context", "the models were not listed")
    if found.ours is None:
        among = f"{model.profile.model} is not among the {found.count} models that are listed"
        if await refused_by_name(model):
            return refuted("listing", f"{among}, and its name is refused"), _context(model, found)
        return unverified("listing", f"{among}; its name is not refused"), _context(model, found)
    return verified("listing", f"one of {found.count} models"), _context(model, found)


def _context(model: Model, found: Listed) -> Outcome:
    told, ours = found.context_tokens, model.profile.context_tokens
    if told is None:
        return unverified("context", f"the list does not tell it; we count on {ours} tokens")
    if told < ours:
        return refuted(
            "context", f"{told} tokens, where we count on {ours}: set PERDURE_MODEL_CONTEXT={told}"
        )
    return verified("context", f"{told} tokens, of which we use {ours}")
