"""The endpoints beside chat completions, which are free: the models, the count of tokens and the balance."""

import json
from collections.abc import Collection

from starlette.responses import JSONResponse, Response

from tests.support.moonshot.chat import ChatRequest, JsonObject
from tests.support.moonshot.refusals import NO_SUCH_URL, invalid, model_not_found
from tests.support.moonshot.seen import Seen

BALANCE = {"available_balance": 49.58894, "voucher_balance": 46.58893, "cash_balance": 3.00001}
# 16 July 2026, when kimi-k3 came.
_CREATED = 1_784_160_000


def free_answer(seen: Seen, models: Collection[str], window_tokens: int) -> Response:
    """Answer a request that is not a chat completion; raises `Refusal`."""
    match (seen.method, seen.path):
        case ("GET", "/v1/models"):
            return JSONResponse(
                {"object": "list", "data": [_model(m, window_tokens) for m in models]}
            )
        case ("POST", "/v1/tokenizers/estimate-token-count"):
            return _framed({"total_tokens": _estimated(ChatRequest(json_body(seen)), models)})
        case ("GET", "/v1/users/me/balance"):
            return _framed(BALANCE)
        case _:
            raise NO_SUCH_URL


def json_body(seen: Seen) -> JsonObject:
    """Return the body of a request that has to have one; raises `Refusal`."""
    try:
        body = json.loads(seen.raw)
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise invalid("Invalid request: the body is not a JSON object")
    return body


def _estimated(request: ChatRequest, models: Collection[str]) -> int:
    if request.model not in models:
        raise model_not_found(request.model)
    return request.prompt_tokens


def _model(name: str, window_tokens: int) -> JsonObject:
    return {
        "id": name,
        "object": "model",
        "created": _CREATED,
        "owned_by": "moonshot",
        "context_length": window_tokens,
    }


def _framed(content: object) -> Response:
    return JSONResponse({"code": 0, "data": content, "scode": "0x0", "status": True})
