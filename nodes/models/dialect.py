"""The JSON schemas that a Kimi model takes for its answers: Moonshot's dialect ("MFJS"), checked here and not by a refusal.

The rules are those of the vendor's published validator (github.com/MoonshotAI/walle). Where documents and endpoint
differ the stricter one holds, so that a schema that passes here passes there, and at the others that take JSON schemas.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, cast

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from pydantic import BaseModel

from ledger.canonical import Json

ENUM_ITEMS_MAX = 1_000
DEPTH_MAX = 30
PROPERTY_KEYS_MAX = 3_000
# Of a long enum, enough to see what kind of value is meant.
SHOWN_MAX = 20

_TYPES = {"null", "boolean", "object", "array", "number", "integer", "string"}
_KEYWORDS = {
    "type", "properties", "required", "additionalProperties", "items", "enum", "anyOf", "$defs", "$ref",
    "minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum", "title", "description", "default",
}  # fmt: skip
#: What an enum may hold, and the types beside which it may stand.
_ENUM_TYPES: Mapping[type, set[str]] = {
    str: {"string"},
    int: {"integer", "number"},
    float: {"number"},
}


class SchemaOutsideDialect(ValueError):
    """A schema that the endpoint would refuse; `path` is where, as a JSON pointer."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"the schema of an answer at #{path}: {problem}")
        self.path = path
        self.problem = problem


def checked_schema(schema: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return the schema, if it is of the dialect. Raises SchemaOutsideDialect, which names the place."""
    if schema.get("type") != "object":
        raise SchemaOutsideDialect("", "the root has to be of type object")
    enum_items = property_keys = 0
    for path, depth, node in _nodes(schema):
        _check(schema, path, node)
        if depth > DEPTH_MAX:
            raise SchemaOutsideDialect(path, f"it is nested deeper than {DEPTH_MAX} levels")
        enum_items += len(cast("Sequence[Json]", node.get("enum", ())))
        property_keys += len(cast("Mapping[str, Json]", node.get("properties", {})))
    if enum_items > ENUM_ITEMS_MAX:
        raise SchemaOutsideDialect("", f"its enums have {enum_items} items, of {ENUM_ITEMS_MAX}")
    if property_keys > PROPERTY_KEYS_MAX:
        raise SchemaOutsideDialect("", f"it has {property_keys} properties, of {PROPERTY_KEYS_MAX}")
    return schema


def dialect_of(model: type[BaseModel]) -> dict[str, Any]:
    """Return the schema of a pydantic model in the dialect.

    Titles and defaults are dropped, a Literal of one value becomes an enum, and an object takes no other properties
    than it names. What the dialect cannot say (exclusive bounds, patterns, formats) raises SchemaOutsideDialect.
    """
    schema = _adapted(model.model_json_schema())
    checked_schema(schema)
    return schema


def validated(schema: Mapping[str, Json], value: Json) -> list[str]:
    """Return what is wrong with a value by a schema of the dialect, in words that repeat nothing of the value."""
    validator = Draft202012Validator(cast("Mapping[str, Any]", schema))
    errors = sorted(validator.iter_errors(cast("Any", value)), key=lambda error: error.json_path)
    names = {
        name
        for _, _, node in _nodes(schema)
        for name in cast("Mapping[str, Json]", node.get("properties", {}))
    }
    # Two missing properties are two errors that say the same.
    return list(dict.fromkeys(_problem(error, names) for error in errors))


def _nodes(
    node: Mapping[str, Json], path: str = "", depth: int = 1
) -> Iterator[tuple[str, int, Mapping[str, Json]]]:
    """Yield every schema in a schema with its place and depth; raises for what stands where one belongs and is none."""
    yield path, depth, node
    if depth > DEPTH_MAX:
        return
    for place, below in chain(_named(node, path), _listed(node, path)):
        if not isinstance(below, Mapping):
            raise SchemaOutsideDialect(place, "a schema has to be an object")
        yield from _nodes(below, place, depth + 1)


def _named(node: Mapping[str, Json], path: str) -> Iterator[tuple[str, Json]]:
    for keyword in ("properties", "$defs"):
        named = node.get(keyword, {})
        if not isinstance(named, Mapping):
            raise SchemaOutsideDialect(f"{path}/{keyword}", "it has to be an object")
        yield from ((f"{path}/{keyword}/{name}", below) for name, below in named.items())


def _listed(node: Mapping[str, Json], path: str) -> Iterator[tuple[str, Json]]:
    options = node.get("anyOf", ())
    if not isinstance(options, Sequence) or isinstance(options, str):
        raise SchemaOutsideDialect(f"{path}/anyOf", "it has to be a list")
    yield from ((f"{path}/anyOf/{number}", option) for number, option in enumerate(options))
    if "items" in node:
        yield f"{path}/items", node["items"]
    if not isinstance(node.get("additionalProperties", True), bool):
        yield f"{path}/additionalProperties", node["additionalProperties"]


def _check(root: Mapping[str, Json], path: str, node: Mapping[str, Json]) -> None:
    """Raise SchemaOutsideDialect for what is wrong with one schema, not looking into those that it holds."""
    if unknown := sorted(node.keys() - _KEYWORDS):
        raise SchemaOutsideDialect(path, f"{', '.join(unknown)} is no keyword of the dialect")
    if "$defs" in node and path:
        raise SchemaOutsideDialect(path, "$defs belongs to the root")
    if "anyOf" in node or "$ref" in node:
        _check_reference(root, path, node)
    elif not isinstance(kind := node.get("type"), str) or kind not in _TYPES:
        raise SchemaOutsideDialect(path, f"type has to be one of {', '.join(sorted(_TYPES))}")
    if "enum" in node:
        _check_enum(path, node)
    _check_required(path, node)


def _check_reference(root: Mapping[str, Json], path: str, node: Mapping[str, Json]) -> None:
    keyword = "anyOf" if "anyOf" in node else "$ref"
    if "type" in node:
        raise SchemaOutsideDialect(path, f"type may not stand beside {keyword}")
    if "default" in node:
        raise SchemaOutsideDialect(path, f"default may not stand beside {keyword}")
    if keyword == "anyOf":
        if not node["anyOf"]:
            raise SchemaOutsideDialect(path, "anyOf is empty")
        return
    reference, definitions = node["$ref"], cast("Mapping[str, Json]", root.get("$defs", {}))
    if reference != "#" and reference not in {f"#/$defs/{name}" for name in definitions}:
        raise SchemaOutsideDialect(path, "$ref names nothing in the $defs of this schema")


def _check_enum(path: str, node: Mapping[str, Json]) -> None:
    items = node["enum"]
    if not isinstance(items, Sequence) or isinstance(items, str) or not items:
        raise SchemaOutsideDialect(path, "enum has to be a list with something in it")
    kinds = {type(item) for item in items}
    kind = kinds.pop()
    if kinds:
        raise SchemaOutsideDialect(path, "the items of an enum have to be of one type")
    if kind not in _ENUM_TYPES or node.get("type") not in _ENUM_TYPES[kind]:
        raise SchemaOutsideDialect(path, "an enum holds texts or numbers, as its type says")


def _check_required(path: str, node: Mapping[str, Json]) -> None:
    required, properties = node.get("required", ()), node.get("properties", {})
    if not isinstance(properties, Mapping):
        raise SchemaOutsideDialect(path, "properties has to be an object")
    if not isinstance(required, Sequence) or isinstance(required, str):
        raise SchemaOutsideDialect(path, "required has to be a list")
    if missing := [str(name) for name in required if name not in properties]:
        raise SchemaOutsideDialect(path, f"required names no property: {', '.join(missing)}")


def _adapted(node: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema as pydantic makes it without what the dialect lacks and does not need."""
    adapted = {key: value for key, value in node.items() if key not in {"title", "default"}}
    if "const" in adapted:
        adapted["enum"] = [adapted.pop("const")]
    for keyword in ("properties", "$defs"):
        if keyword in adapted:
            adapted[keyword] = {name: _adapted(at) for name, at in adapted[keyword].items()}
    if "anyOf" in adapted:
        adapted["anyOf"] = [_adapted(option) for option in adapted["anyOf"]]
    for keyword in ("items", "additionalProperties"):
        if isinstance(adapted.get(keyword), Mapping):
            adapted[keyword] = _adapted(adapted[keyword])
    if "properties" in adapted:
        adapted.setdefault("additionalProperties", False)
    return adapted


def _problem(error: ValidationError, names: set[str]) -> str:
    # A name that the schema does not hold is the answer's own.
    steps = (
        step if isinstance(step, int) or step in names else "…" for step in error.absolute_path
    )
    place = "".join(f"/{step}" for step in steps) or "the answer"
    return f"{place} {_broken_rule(error)}"


def _broken_rule(error: ValidationError) -> str:
    rule, bound = str(error.validator), cast("Any", error.validator_value)
    if rule == "required":
        missing = [name for name in bound if name not in cast("Mapping[str, Any]", error.instance)]
        return f"lacks {', '.join(missing)}"
    if rule == "enum":
        return f"is none of {', '.join(map(str, bound[:SHOWN_MAX]))}"
    if rule == "additionalProperties":
        return "has properties that the schema does not name"
    if rule == "anyOf":
        return "fits none of the alternatives"
    if rule == "type":
        return f"is not of type {bound}"
    return f"breaks {rule} {bound}"
