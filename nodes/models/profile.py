"""What is known of the endpoints of language models, as data.

Facts of the Kimi family are the vendor's documentation as of the autumn of 2026; none was seen at the live endpoint,
which `perdure doctor` asks.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias
from urllib.parse import urlsplit

#: A smaller context holds no question of ours with its answer.
CONTEXT_TOKENS_MIN = 1_024

_HERE = frozenset({"localhost", "127.0.0.1", "::1"})

Family: TypeAlias = Literal["kimi", "openai"]


def is_here(place: str) -> bool:
    """Tell whether a place (host, perhaps with a port) is this machine."""
    return urlsplit(f"//{place}").hostname in _HERE


class UnknownProfile(ValueError):
    """No model of this name is known, or its endpoint is not."""


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens; `cached` is for what the endpoint reads from its cache; `source` and when."""

    prompt: float
    completion: float
    cached: float
    as_of: str
    source: str


@dataclass(frozen=True, slots=True)
class Profile:
    """What the client has to know of a model at its endpoint."""

    #: As the endpoint calls it.
    model: str
    family: Family
    base_url: str
    #: Prompt, reasoning and answer together.
    context_tokens: int
    #: Room for an answer where nobody says how much.
    answer_tokens_default: int
    #: Room for reasoning, which counts as output, by effort; "" is for the endpoint's own, where none is set.
    reasoning_tokens: Mapping[str, int]
    #: Whether temperature and seed are sent. Kimi refuses every value but its own with HTTP 400.
    sends_sampling: bool
    #: The name of the room for output in a request.
    answer_tokens_field: Literal["max_completion_tokens", "max_tokens"]
    #: The names under which reasoning may come, in the order in which they are tried; the first is how it goes back.
    reasoning_in: tuple[str, ...]
    structured: Literal["json_schema"] = "json_schema"
    #: How a tool call can be demanded; K2 refuses `required`, and K3 ignores the name of a tool.
    tool_choice: Literal["required", "auto"] = "required"
    #: What `reasoning_effort` may be, if one is set.
    efforts: tuple[str, ...] = ()
    price: Price | None = None
    #: The variables that may hold the key, the first that is set wins.
    key_variables: tuple[str, ...] = field(default=())
    #: Whether a call without a key makes sense.
    needs_key: bool = True

    @property
    def name(self) -> str:
        """The name by which it is chosen."""
        return self.model if self.family == "kimi" else f"{_OTHER}{self.model}"

    @property
    def place(self) -> str:
        """The host, and the port if it is an unusual one, as errors and records name the endpoint."""
        return urlsplit(self.base_url).netloc.rpartition("@")[2]

    @property
    def endpoint(self) -> str:
        """Model and address: what is found out about it is kept under this name, so that another path is another one."""
        return f"{self.name} at {self.place}{urlsplit(self.base_url).path.rstrip('/')}"

    def reasoning_room(self, effort: str | None) -> int:
        """Return the tokens to leave for reasoning at an effort; None is the endpoint's own."""
        return self.reasoning_tokens[effort or ""]


_OTHER = "openai:"
_KIMI_KEYS, _OPENAI_KEYS = ("MOONSHOT_API_KEY", "KIMI_API_KEY"), ("OPENAI_API_KEY",)
#: Every variable of a vendor that may hold a key.
KEY_VARIABLES = (*_KIMI_KEYS, *_OPENAI_KEYS)
_PLATFORM = "platform.kimi.ai, as reported by third parties"

# The endpoint's own default of max_completion_tokens is 131,072 for both together, at its default effort `max`; the
# rooms of the lower efforts are ours. Room that is not used costs nothing.
_K3 = Profile(
    model="kimi-k3",
    family="kimi",
    base_url="https://api.moonshot.ai/v1",
    context_tokens=1_048_576,
    answer_tokens_default=16_384,
    reasoning_tokens={"": 131_072, "low": 16_384, "high": 65_536, "max": 131_072},
    sends_sampling=False,
    answer_tokens_field="max_completion_tokens",
    reasoning_in=("reasoning_content", "reasoning"),
    efforts=("low", "high", "max"),
    price=Price(3.0, 15.0, 0.30, "2026-09", _PLATFORM),
    key_variables=_KIMI_KEYS,
)
_K31 = replace(_K3, model="kimi-k3.1-pro", price=Price(2.0, 10.0, 0.20, "2026-10", _PLATFORM))
# The K2 series has no levels of effort, and is announced to be retired at the end of December 2026.
_K2 = replace(
    _K3,
    model="kimi-k2.6",
    context_tokens=262_144,
    reasoning_tokens={"": 65_536},
    tool_choice="auto",
    efforts=(),
    price=None,
)

KIMI: Mapping[str, Profile] = {
    profile.model: profile
    for profile in (
        _K3,
        _K31,
        replace(_K31, model="kimi-k3.1-pro-highspeed", price=None),
        replace(_K2, model="kimi-k2.7-code"),
        replace(_K2, model="kimi-k2.7-code-highspeed"),
        _K2,
    )
}

# What a server that somebody runs themselves may be assumed to take; its own error says when that is too much.
_CONTEXT_TOKENS_ASSUMED = 32_768


def profile_of(
    model: str, base_url: str | None = None, context_tokens: int | None = None
) -> Profile:
    """Return what is known of a model by the name by which it is chosen, at another endpoint if one is named.

    `context_tokens` replaces what is known or assumed of the context. Raises UnknownProfile, which lists what there is.
    """
    profile = _named(model, base_url)
    if base_url is not None:
        profile = replace(profile, base_url=base_url.rstrip("/"))
    return profile if context_tokens is None else replace(profile, context_tokens=context_tokens)


def _named(model: str, base_url: str | None) -> Profile:
    if model in KIMI:
        return KIMI[model]
    name = model.removeprefix(_OTHER)
    if name == model or not name:
        raise UnknownProfile(
            f"there is no model {model!r}: it is one of {', '.join(KIMI)}, or openai:NAME for a model NAME at an"
            " endpoint of your own that speaks OpenAI's protocol"
        )
    if base_url is None:
        raise UnknownProfile(
            f"{model} needs the base URL of its endpoint, such as http://127.0.0.1:8000/v1"
        )
    return _other(name, base_url)


def _other(name: str, base_url: str) -> Profile:
    return Profile(
        model=name,
        family="openai",
        base_url=base_url,
        context_tokens=_CONTEXT_TOKENS_ASSUMED,
        answer_tokens_default=4_096,
        reasoning_tokens={"": 4_096, "low": 4_096, "medium": 8_192, "high": 16_384},
        sends_sampling=True,
        # OpenAI's own reasoning models refuse the older name, which is the one that every server knows.
        answer_tokens_field="max_completion_tokens" if _is_openai(base_url) else "max_tokens",
        reasoning_in=("reasoning_content", "reasoning"),
        efforts=("low", "medium", "high"),
        key_variables=_OPENAI_KEYS,
        needs_key=False,
    )


def _is_openai(base_url: str) -> bool:
    return urlsplit(base_url).hostname == "api.openai.com"
