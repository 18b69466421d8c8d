"""Whether a JSON schema is what Moonshot's strict mode takes: "Moonshot flavored JSON schema" (MFJS).

The rules are those of MoonshotAI/walle, docs/mfjs-spec.md and validator.go, with the limits that K3 documents.
"""

from collections.abc import Iterator
from typing import Any

KEYWORDS = frozenset(
    {
        "type", "properties", "required", "additionalProperties", "items", "enum", "anyOf", "$defs", "$ref",
        "minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum", "title", "description", "default",
    }
)  # fmt: skip
TYPES: dict[str, tuple[type, ...]] = {
    "null": (type(None),),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list,),
    "number": (int, float),
    "integer": (int,),
    "string": (str,),
}
ENUM_ITEMS_MAX = 1_000
# Levels of schemas, the root being the first.
DEPTH_MAX = 30
PROPERTY_KEYS_MAX = 3_000
_BESIDE = "when using {0}, type should be defined in {1} instead of the parent schema"


def violation(schema: Any) -> str | None:
    """Return the first rule that a schema breaks, in the vendor's words, or None."""
    if not isinstance(schema, dict) or schema.get("type") != "object":
        return "At path 'root': type should be object"
    if _property_keys(schema) > PROPERTY_KEYS_MAX:
        return f"At path 'root': properties cannot have more than {PROPERTY_KEYS_MAX} keys in total"
    found = next(_violations(schema, (), schema), None)
    return None if found is None else f"At path '{'.'.join(found[0]) or 'root'}': {found[1]}"


_Path = tuple[str, ...]


def _violations(
    node: Any, path: _Path, root: dict[str, Any], depth: int = 1
) -> Iterator[tuple[_Path, str]]:
    """Yield what is wrong with a node and with all below it, with its path."""
    if not isinstance(node, dict):
        yield path, "schema should be an object"
        return
    if depth > DEPTH_MAX:
        yield path, f"schema depth cannot be more than {DEPTH_MAX}"
        return
    yield from ((path, rule) for rule in _own(node, root, at_root=depth == 1))
    for step, below in _below(node):
        yield from _violations(below, (*path, *step), root, depth + 1)


def _own(node: dict[str, Any], root: dict[str, Any], *, at_root: bool) -> Iterator[str]:
    if unknown := sorted(node.keys() - KEYWORDS):
        yield f"unsupported keywords: {', '.join(unknown)}"
    if "$defs" in node and not at_root:
        yield "$defs should be defined at the root"
    if "$ref" in node:
        yield from _reference(node, root)
    elif "anyOf" in node:
        yield from _union(node)
    else:
        yield from _typed(node)


def _reference(node: dict[str, Any], root: dict[str, Any]) -> Iterator[str]:
    if "type" in node:
        yield _BESIDE.format("$ref", "the referenced schema")
    name = str(node["$ref"]).removeprefix("#/$defs/")
    if node["$ref"] != "#" and name not in root.get("$defs", {}):
        yield f"reference {node['$ref']} is not defined"


def _union(node: dict[str, Any]) -> Iterator[str]:
    if "type" in node:
        yield _BESIDE.format("anyOf", "anyOf items")
    if "default" in node:
        yield "when using anyOf, default should be defined in anyOf items"
    if not isinstance(node["anyOf"], list) or not node["anyOf"]:
        yield "anyOf should be a list of schemas"


def _typed(node: dict[str, Any]) -> Iterator[str]:
    kind = node.get("type")
    if kind is None:
        yield "type is not defined"
    elif not isinstance(kind, str) or kind not in TYPES:
        yield f"type {kind} is not supported"
    elif "enum" in node:
        yield from _enum(node["enum"], kind)


def _enum(items: Any, kind: str) -> Iterator[str]:
    if not isinstance(items, list) or not items:
        yield "enum should be a list of values"
        return
    if len(items) > ENUM_ITEMS_MAX:
        yield f"enum array cannot have more than {ENUM_ITEMS_MAX} items"
    if any(isinstance(one, bool) or not isinstance(one, str | int | float) for one in items):
        yield "enum values should be strings or numbers"
    elif len({isinstance(one, str) for one in items}) > 1:
        yield "enum values should be of the same type"
    elif odd := [one for one in items if not isinstance(one, TYPES[kind])]:
        yield f"enum value ({odd[0]}) does not match any type in [{kind}]"


def _below(node: dict[str, Any]) -> Iterator[tuple[_Path, Any]]:
    """Yield the schemas inside a schema, with the steps to them."""
    for keyword in ("properties", "$defs"):
        for name, one in node.get(keyword, {}).items():
            yield (keyword, name), one
    for keyword in ("items", "additionalProperties"):
        if keyword in node and not (keyword[0] == "a" and isinstance(node[keyword], bool)):
            yield (keyword,), node[keyword]
    for one in node.get("anyOf", []):
        yield ("anyOf",), one


def _property_keys(node: Any) -> int:
    if not isinstance(node, dict):
        return 0
    own = len(node.get("properties", {}))
    return own + sum(_property_keys(one) for _, one in _below(node))
