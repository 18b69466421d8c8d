"""Opens the endpoints of language models as the settings say: which address, which key, how patiently.

Keys are references: looked up at each call where PERDURE_MODEL_KEY says, or in the vendor's own variable, and kept nowhere.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from urllib.parse import urlsplit

from graph.secrets import first_set, resolved
from graph.settings import PREFIX, Settings
from nodes.models.base import Model
from nodes.models.chat import ChatModel, UnknownEffort
from nodes.models.courses import Patience
from nodes.models.endpoints import Endpoints
from nodes.models.profile import Profile, UnknownProfile, profile_of
from nodes.models.rates import Limits
from nodes.options import BadInput

# A vendor's own variable holds a key for the vendor, and is shown to nobody else.
_VENDORS = ("moonshot.ai", "moonshot.cn", "openai.com")
_KEY = f"{PREFIX}MODEL_KEY"


def endpoints(settings: Settings) -> Endpoints:
    """Return the opener of models."""
    limits = Limits(settings.model_rpm, settings.model_tpm)
    return Endpoints(partial(_new, settings), settings.model_calls, limits)


def patience(settings: Settings) -> Patience:
    """Return how long an endpoint that is away is asked again."""
    return Patience(busy_seconds=settings.model_patience_seconds)


def profile(settings: Settings, name: str) -> Profile:
    """Return what is known of a model here; raises BadInput for a name that means nothing."""
    try:
        known = profile_of(name, settings.model_base_url, settings.model_context)
    except UnknownProfile as error:
        raise BadInput(
            f"{error}; or extractive, which needs none. {PREFIX}MODEL_BASE_URL names an endpoint"
        ) from None
    vendor = known.key_variables if _is_vendors(known) else ()
    return replace(known, key_variables=(_KEY, *vendor))


def _new(settings: Settings, name: str) -> Model:
    known = profile(settings, name)
    try:
        return ChatModel(
            known,
            _key(settings, known),
            effort=settings.model_effort,
            idle_seconds=settings.model_idle_seconds,
        )
    except UnknownEffort as error:
        raise BadInput(f"{PREFIX}MODEL_EFFORT: {error}") from None


def _key(settings: Settings, known: Profile) -> Callable[[], str | None]:
    """Return how the key is looked up, anew at each call."""
    if settings.model_key is not None:
        return partial(resolved, settings.model_key, _KEY)
    return partial(first_set, known.key_variables)


def _is_vendors(known: Profile) -> bool:
    host = urlsplit(known.base_url).hostname or ""
    return any(host == vendor or host.endswith(f".{vendor}") for vendor in _VENDORS)
