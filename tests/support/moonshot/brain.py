"""What the scripted model answers: the part of the server that a test writes itself."""

import json
from collections.abc import Callable
from typing import Any, TypeAlias

from tests.support.moonshot.chat import ChatRequest, JsonObject, ToolCall

#: Given the request, the content of the answer, or tools to call. It is called in a thread of its own, so it may wait for
#: what the test does; what it raises is raised again where the server's block ends. Whatever it returns is sent as it is:
#: malformed JSON, another text or nothing at all are scripted by returning them.
Brain: TypeAlias = Callable[[ChatRequest], str | list[ToolCall]]

PLAIN_ANSWER = "This is what a scripted model says."
# Any text does; one letter says that nobody thought about it.
_FILLING, _OTHER_FILLING = "x", "y"


def default_brain(request: ChatRequest) -> str | list[ToolCall]:
    """Answer with the least that fits: a tool call if one is required, an instance of the schema, else a sentence."""
    if request.tool_choice == "required":
        function: JsonObject = request.tools[0]["function"]
        return [ToolCall(function["name"], instance(function.get("parameters", {})))]
    if request.schema is not None:
        return json.dumps(instance(request.schema))
    return "{}" if request.response_format.get("type") == "json_object" else PLAIN_ANSWER


def instance(schema: JsonObject) -> Any:
    """Return the least instance of a schema in MFJS: first enum values and branches, shortest texts and lists."""
    return _Instances(schema, other=False).of(schema)


def other_instance(schema: JsonObject) -> Any:
    """Return an instance of a schema in MFJS that differs from `instance`, if the schema leaves a choice."""
    return _Instances(schema, other=True).of(schema)


class _Instances:
    """Makes instances of the parts of one schema; all properties are there, also optional ones, if they can end."""

    def __init__(self, root: JsonObject, *, other: bool) -> None:
        self._root = root
        self._other = other
        self._open: list[str] = []

    def of(self, node: JsonObject) -> Any:
        if "$ref" in node:
            return self._referenced(node["$ref"])
        if "anyOf" in node:
            return self.of(next(one for one in node["anyOf"] if not self._recursive(one)))
        if "enum" in node:
            return node["enum"][-1 if self._other else 0]
        return self._typed(node)

    def _referenced(self, reference: str) -> Any:
        self._open.append(reference)
        name = reference.removeprefix("#/$defs/")
        made = self.of(self._root if reference == "#" else self._root["$defs"][name])
        self._open.pop()
        return made

    def _recursive(self, node: JsonObject) -> bool:
        return node.get("$ref") in self._open

    def _typed(self, node: JsonObject) -> Any:
        match node.get("type"):
            case "object":
                return self._object(node)
            case "array":
                return self._array(node)
            case "string":
                return self._string(node)
            case "boolean":
                return self._other
            case "integer" | "number" as kind:
                return self._number(node, kind)
            case _:
                return None

    def _object(self, node: JsonObject) -> JsonObject:
        required = node.get("required", [])
        return {
            name: self.of(one)
            for name, one in node.get("properties", {}).items()
            if name in required or not self._recursive(one)
        }

    def _array(self, node: JsonObject) -> list[Any]:
        least = int(node.get("minItems", 0))
        if "items" not in node:
            return [None] * least
        return [self.of(node["items"]) for _ in range(least)]

    def _string(self, node: JsonObject) -> str:
        length = max(int(node.get("minLength", 0)), min(1, int(node.get("maxLength", 1))))
        return (_OTHER_FILLING if self._other else _FILLING) * length

    def _number(self, node: JsonObject, kind: str) -> int | float:
        least, most = node.get("minimum"), node.get("maximum")
        low = least if least is not None else min(0, most if most is not None else 0)
        number = low + 1 if self._other and (most is None or low + 1 <= most) else low
        return -int(-number // 1) if kind == "integer" else number
