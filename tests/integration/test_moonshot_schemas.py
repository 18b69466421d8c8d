"""A schema that the scripted Moonshot server takes in strict mode is "Moonshot flavored", and every other is refused."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.moonshot.chat import JsonObject
from tests.support.moonshot.plain_client import (
    PlainClient,
    by_schema,
    object_of,
    plain_client,
    refusal,
)
from tests.support.moonshot.schemas import KEYWORDS
from tests.support.moonshot.server import moonshot_server

TEXT: JsonObject = {"type": "string"}


@pytest.fixture(scope="module")
def client() -> Iterator[PlainClient]:
    with moonshot_server() as server, plain_client(server) as open_client:
        yield open_client


def flawed(client: PlainClient, schema: Any) -> str:
    said = refusal(client, response_format=by_schema(schema))
    assert "is not a valid moonshot flavored json schema" in said
    return said


FORBIDDEN = {
    "exclusiveMinimum": 0, "exclusiveMaximum": 9, "pattern": "a", "format": "date", "const": "a", "oneOf": [TEXT],
    "allOf": [TEXT], "uniqueItems": True, "multipleOf": 2, "prefixItems": [TEXT], "patternProperties": {"a": TEXT},
    "not": TEXT, "if": TEXT, "$id": "a", "examples": ["a"],
}  # fmt: skip


@pytest.mark.parametrize("keyword", FORBIDDEN)
def test_keywords_outside_the_flavor_are_refused_wherever_they_stand(
    client: PlainClient, keyword: str
) -> None:
    bad = {**TEXT, keyword: FORBIDDEN[keyword]}
    places = {
        "properties.a": object_of(a=bad),
        "properties.a.items": object_of(a={"type": "array", "items": bad}),
        "properties.a.anyOf": object_of(a={"anyOf": [TEXT, bad]}),
        "$defs.a": {**object_of(), "$defs": {"a": bad}},
        "additionalProperties": {"type": "object", "additionalProperties": bad},
        "root": {**object_of(), keyword: FORBIDDEN[keyword]},
    }
    for path, schema in places.items():
        said = flawed(client, schema)
        assert f"<At path '{path}': unsupported keywords: {keyword}>" in said
        assert client.chat(response_format=by_schema(schema, strict=False)).status_code == 200


def nested(levels: int) -> JsonObject:
    schema: JsonObject = object_of()
    for _ in range(levels - 1):
        schema = object_of(below=schema)
    return schema


FLAWS: dict[str, tuple[Any, str]] = {
    "a root that is a list": ({"type": "array", "items": TEXT}, "type should be object"),
    "a root without a type": ({"properties": {}}, "type should be object"),
    "a root that is a union": ({"anyOf": [object_of()]}, "type should be object"),
    "no type": (object_of(a={"description": "an answer"}), "type is not defined"),
    "an enum without a type": (object_of(a={"enum": ["a"]}), "type is not defined"),
    "two types": (object_of(a={"type": ["string", "null"]}), "is not supported"),
    "an unknown type": (object_of(a={"type": "date"}), "type date is not supported"),
    "a type beside anyOf": (
        object_of(a={"type": "string", "anyOf": [TEXT]}),
        "when using anyOf, type should be defined in anyOf items instead of the parent schema",
    ),
    "a default beside anyOf": (
        object_of(a={"anyOf": [TEXT, {"type": "null"}], "default": None}),
        "when using anyOf, default",
    ),
    "a type beside $ref": (
        {**object_of(a={"type": "string", "$ref": "#/$defs/a"}), "$defs": {"a": TEXT}},
        "when using $ref, type",
    ),
    "a $ref to nothing": (object_of(a={"$ref": "#/$defs/a"}), "is not defined"),
    "a $ref to elsewhere": (object_of(a={"$ref": "https://example.org/a"}), "is not defined"),
    "$defs below the root": (object_of(a={**object_of(), "$defs": {"b": TEXT}}), "at the root"),
    "an enum of texts and numbers": (
        object_of(a={"type": "string", "enum": ["a", 1]}),
        "of the same type",
    ),
    "an enum with null": (object_of(a={"type": "string", "enum": ["a", None]}), "strings or num"),
    "an enum of another type": (
        object_of(a={"type": "object", "enum": ["move"]}),
        "enum value (move) does not match any type in [object]",
    ),
    "an enum that is too long": (
        object_of(a={"type": "integer", "enum": list(range(1001))}),
        "more than 1000 items",
    ),
    "items that are no schema": (object_of(a={"type": "array", "items": True}), "be an object"),
    "an empty union": (object_of(a={"anyOf": []}), "anyOf should be a list of schemas"),
    "an empty enum": (object_of(a={"type": "string", "enum": []}), "enum should be a list"),
    "a schema that is too deep": (nested(31), "depth cannot be more than 30"),
    "too many properties": (object_of(**{f"a{n}": TEXT for n in range(3001)}), "3000 keys"),
}


@pytest.mark.parametrize("flaw", FLAWS)
def test_a_schema_that_breaks_another_rule_is_refused(client: PlainClient, flaw: str) -> None:
    schema, said = FLAWS[flaw]
    assert said in flawed(client, schema)


def test_a_schema_at_every_limit_is_taken(client: PlainClient) -> None:
    everything = {
        **object_of(
            "a",
            a={**TEXT, "minLength": 1, "maxLength": 9, "title": "A", "description": "b", "default": "c"},
            many={"type": "array", "items": {"$ref": "#/$defs/b"}, "minItems": 0, "maxItems": 3},
            number={"type": "number", "minimum": 0, "maximum": 1},
            maybe={"anyOf": [TEXT, {"type": "null"}], "description": "an Optional of pydantic's"},
            limit={"type": "integer", "enum": list(range(1000))},
        ),
        "additionalProperties": False,
        "$defs": {"b": TEXT},
    }  # fmt: skip
    assert all(f"'{keyword}':" in str(everything) for keyword in KEYWORDS)
    for schema in (everything, nested(30), object_of(**{f"a{n}": TEXT for n in range(3000)})):
        answered = client.chat(response_format=by_schema(schema))
        assert answered.status_code == 200, answered.text
