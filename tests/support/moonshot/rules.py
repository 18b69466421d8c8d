"""The rules of Kimi K3 that a request has to keep, one function each; a broken one is a `Refusal`.

They are those of Moonshot's documents and of its published tests (MoonshotAI/Kimi-Vendor-Verifier, tests/params and
tests/k3_features), with texts as users have reported them. Where sources disagree the stricter one is kept, but for the
`tool_choice` that names one function: it is ignored, which hides more than an error would.
"""

import json
import re
from collections.abc import Collection, Iterator

from tests.support.moonshot.chat import ChatRequest, JsonObject
from tests.support.moonshot.refusals import invalid, model_not_found, token_limit_exceeded
from tests.support.moonshot.schemas import violation

# K3 samples in one way only; whoever says another value is told so, whoever says this one is not.
FIXED: dict[str, object] = {
    "temperature": 1,
    "top_p": 0.95,
    "n": 1,
    "presence_penalty": 0,
    "frequency_penalty": 0,
    "logprobs": False,
}
ROLES = frozenset({"system", "user", "assistant", "tool"})
TOOL_CHOICES = frozenset({"auto", "none", "required"})
_FUNCTION_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_FLAVORED = "Invalid request: {} is not a valid moonshot flavored json schema, details: <{}>"


def check(request: ChatRequest, *, models: Collection[str], window_tokens: int) -> None:
    """Raise the `Refusal` that a request gets, if it breaks a rule."""
    if request.model not in models:
        raise model_not_found(request.model)
    _check_sampling(request)
    _check_messages(request)
    _check_response_format(request)
    _check_tools(request)
    _check_length(request, window_tokens)


def _check_sampling(request: ChatRequest) -> None:
    for name, only in FIXED.items():
        value = request.body.get(name)
        if value is not None and value != only:
            raise invalid(f"invalid {name}: only {json.dumps(only)} is allowed for this model")


def _check_messages(request: ChatRequest) -> None:
    messages = request.messages
    if not messages or len(messages) != len(request.body["messages"]):
        raise invalid("Invalid request: messages must not be empty")
    for index, message in enumerate(messages):
        if message.get("role") not in ROLES:
            raise invalid(f"Invalid request: role of the message at position {index} is unknown")
        if message["role"] == "assistant":
            _check_assistant(index, message)
    _check_tool_results(messages)


def _check_assistant(index: int, message: JsonObject) -> None:
    if not message.get("tool_calls"):
        if not message.get("content"):
            raise invalid(
                f"Invalid request: the message at position {index} with role 'assistant' must not be empty"
            )
        return
    if message.get("content") == "":
        raise invalid("Invalid request: text content is empty")
    if not message.get("reasoning_content"):
        raise invalid(
            "thinking is enabled but reasoning_content is missing in assistant tool call message"
            f" at index {index}"
        )


def _check_tool_results(messages: list[JsonObject]) -> None:
    """Every tool call is answered directly behind its message, and nothing else is a tool message.

    Ids are only told apart within one message: K3 numbers them anew in each.
    """
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            if message.get("tool_call_id") not in waiting:
                raise invalid(
                    f"Invalid request: tool_call_id {message.get('tool_call_id')} is not found"
                )
            waiting.remove(str(message["tool_call_id"]))
        else:
            _check_answered(waiting)
            waiting = [str(call.get("id")) for call in message.get("tool_calls") or []]
    _check_answered(waiting)


def _check_answered(waiting: list[str]) -> None:
    if waiting:
        raise invalid(
            "Invalid request: an assistant message with 'tool_calls' must be followed by tool messages responding"
            f" to each 'tool_call_id'. The following did not have response messages: {', '.join(waiting)}"
        )


def _check_response_format(request: ChatRequest) -> None:
    kind = request.response_format.get("type", "text")
    if kind not in {"text", "json_object", "json_schema"}:
        raise invalid(f"Invalid request: response_format.type {kind} is not supported")
    if kind != "json_schema":
        return
    if not request.schema_name:
        raise invalid("Invalid request: response_format.json_schema.name is required")
    if request.schema is None:
        raise invalid("Invalid request: response_format.json_schema.schema is required")
    strict = request.response_format["json_schema"].get("strict", True)
    if strict and (broken := violation(request.schema)):
        raise invalid(_FLAVORED.format("response_format.json_schema.schema", broken))


def _check_tools(request: ChatRequest) -> None:
    choice = request.body.get("tool_choice")
    if isinstance(choice, str) and choice not in TOOL_CHOICES:
        raise invalid(f"Invalid request: tool_choice {choice} is not supported")
    if choice == "required" and not request.tools:
        raise invalid("Invalid request: tool_choice 'required' needs tools")
    for function in _functions(request):
        if not _FUNCTION_NAME.fullmatch(str(function.get("name", ""))):
            raise invalid(
                "Invalid request: function name is invalid, must start with a letter and can contain letters,"
                " numbers, underscores, and dashes"
            )
        if broken := violation(function.get("parameters", {"type": "object"})):
            raise invalid(_FLAVORED.format("tools.function.parameters", broken))


def _functions(request: ChatRequest) -> Iterator[JsonObject]:
    return (tool.get("function") or {} for tool in request.tools if tool.get("type") == "function")


def _check_length(request: ChatRequest, window_tokens: int) -> None:
    """Input and `max_completion_tokens` fit the window together; when it is not given, what is left is taken."""
    requested = request.prompt_tokens + (request.completion_tokens_max or 0)
    if requested > window_tokens:
        raise token_limit_exceeded(limit=window_tokens, requested=requested)
