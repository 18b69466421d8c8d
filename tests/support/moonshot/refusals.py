"""What Moonshot says no with: the HTTP status, `error.type` and the texts, as documented or as users have reported them.

Sources: Moonshot's error reference (platform.kimi.ai, "Errors"), and for what it leaves out the issues named beside it.
"""

from dataclasses import dataclass

from tests.support.moonshot.chat import JsonObject

ACCOUNT = "Your account org-2f7c0e1d<ak-f94zcr>"
INVALID = "invalid_request_error"
RATE_LIMIT = "rate_limit_reached_error"
QUOTA = "exceeded_current_quota_error"


@dataclass
class Refusal(Exception):
    """A request that gets no answer but an error: body `{"error": {"type", "message"}}`, without `code`."""

    status: int
    type: str
    message: str

    @property
    def body(self) -> JsonObject:
        """The body of the response, and of the event that ends a stream."""
        return {"error": {"message": self.message, "type": self.type}}


def invalid(details: str) -> Refusal:
    """Return the 400 of a request that breaks a rule."""
    return Refusal(400, INVALID, details)


def token_limit_exceeded(*, limit: int, requested: int) -> Refusal:
    """Return the 400 of a request that does not fit the context window together with what it may be answered."""
    return invalid(
        f"Invalid request: Your request exceeded model token limit: {limit} (requested: {requested})"
    )


def model_not_found(model: str) -> Refusal:
    """Return the 404 of a model that does not exist or that the account may not use."""
    message = f"Not found the model {model} or Permission denied"
    return Refusal(404, "resource_not_found_error", message)


UNAUTHENTICATED = Refusal(401, "invalid_authentication_error", "Invalid Authentication")
INCORRECT_KEY = Refusal(401, "incorrect_api_key_error", "Incorrect API key provided")
FORBIDDEN = Refusal(403, "permission_denied_error", "The API you are accessing is not open")
NO_SUCH_URL = Refusal(404, "resource_not_found_error", "The requested resource was not found")
OVERLOADED = Refusal(
    429, "engine_overloaded_error", "The engine is currently overloaded, please try again later"
)
# The words in this order: BettaFish#258; the reference has "organization max concurrency".
CONCURRENCY = Refusal(
    429,
    RATE_LIMIT,
    f"{ACCOUNT} request reached max organization concurrency: 1, please try again after 1 seconds",
)
# Kimi-K2#34, kimi-cli#1599
REQUESTS_PER_MINUTE = Refusal(
    429,
    RATE_LIMIT,
    f"{ACCOUNT} request reached organization max RPM: 3, please try again after 1 seconds",
)
TOKENS_PER_MINUTE = Refusal(
    429,
    RATE_LIMIT,
    f"{ACCOUNT} request reached organization TPM rate limit, current: 500317, limit: 500000",
)
# BettaFish#545, kimi-cli#2318
TOKENS_PER_DAY = Refusal(
    429,
    RATE_LIMIT,
    f"{ACCOUNT} request reached organization TPD rate limit, current: 1500434, limit: 1500000",
)
QUOTA_EXCEEDED = Refusal(
    429,
    QUOTA,
    f"{ACCOUNT} is suspended, please check your plan and billing details",
)
# Kimi-K2#5
QUOTA_FORBIDDEN = Refusal(
    403,
    QUOTA,
    "You exceeded your current token quota: <org-2f7c0e1d> 0, please check your account balance",
)
SERVER_ERROR = Refusal(500, "server_error", "The server had an error, please try again later")
CONTENT_FILTERED = Refusal(
    400, "content_filter", "The request was rejected because it was considered high risk"
)
INPUT_TOO_LONG = invalid("Input token length too long")
