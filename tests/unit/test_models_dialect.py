"""The dialect of JSON schemas: what passes here passes at the endpoint."""

from enum import StrEnum
from typing import Any, Literal
from uuid import UUID

import pytest
from pydantic import BaseModel, ConfigDict, Field

from nodes.models.dialect import SchemaOutsideDialect, checked_schema, dialect_of, validated
from tests.support.moonshot.schemas import violation

TEXT = {"type": "string"}


def schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


class Level(StrEnum):
    LOW = "low"
    HIGH = "high"


class Part(BaseModel):
    title: str = Field(description="what it is about", min_length=1)
    default: float | None = None


class Whole(BaseModel):
    model_config = ConfigDict(extra="forbid")

    kind: Literal["whole"]
    level: Level
    parts: list[Part] = Field(max_length=5)
    count: int = Field(ge=1, le=9)


@pytest.mark.parametrize(
    "fine",
    [
        schema(),
        schema(a={"type": "array", "items": TEXT, "minItems": 1, "maxItems": 3}),
        schema(a={"anyOf": [TEXT, {"type": "null"}], "description": "perhaps"}),
        schema(a={"type": "string", "enum": ["x", "y"], "default": "x"}),
        schema(a={"type": "number", "enum": [1, 2]}),
        {**schema(a={"$ref": "#/$defs/b"}), "$defs": {"b": schema(again={"$ref": "#"})}},
        {**schema(), "additionalProperties": {"type": "string"}},
        # A property may have the name of a keyword.
        schema(pattern=TEXT, title=TEXT, oneOf=TEXT),
    ],
)
def test_a_schema_of_the_dialect_is_returned_as_it_is(fine: dict[str, Any]) -> None:
    assert checked_schema(fine) is fine
    # The scripted server has rules of its own, written from the same documents by somebody else.
    assert violation(fine) is None


@pytest.mark.parametrize(
    ("wrong", "path"),
    [
        ({"type": "array", "items": TEXT}, ""),
        ({"anyOf": [schema()]}, ""),
        (schema(a={"description": "no type"}), "/properties/a"),
        (schema(a={"type": ["string", "null"]}), "/properties/a"),
        (schema(a={"type": "string", "pattern": "x"}), "/properties/a"),
        (schema(a={"type": "string", "format": "date"}), "/properties/a"),
        (schema(a={"type": "string", "const": "x"}), "/properties/a"),
        (schema(a={"type": "integer", "exclusiveMinimum": 0}), "/properties/a"),
        (schema(a={"type": "array", "items": TEXT, "uniqueItems": True}), "/properties/a"),
        (schema(a={"type": "array", "prefixItems": [TEXT]}), "/properties/a"),
        (schema(a={"oneOf": [TEXT]}), "/properties/a"),
        (schema(a={"type": "string", "anyOf": [TEXT]}), "/properties/a"),
        (schema(a={"anyOf": [TEXT], "default": "x"}), "/properties/a"),
        (schema(a={"anyOf": [TEXT, {"minLength": 1}]}), "/properties/a/anyOf/1"),
        (schema(a={"anyOf": []}), "/properties/a"),
        (schema(a={"$ref": "#/$defs/none"}), "/properties/a"),
        (schema(a={"$ref": "https://example.org/schema"}), "/properties/a"),
        ({**schema(a={"$ref": "#/$defs/b", "type": "object"}), "$defs": {"b": TEXT}}, "/properties/a"),
        (schema(a={**schema(), "$defs": {"b": TEXT}}), "/properties/a"),
        (schema(a={"type": "string", "enum": ["x", 1]}), "/properties/a"),
        (schema(a={"type": "string", "enum": [1]}), "/properties/a"),
        (schema(a={"type": "string", "enum": []}), "/properties/a"),
        (schema(a={"type": "null", "enum": [None]}), "/properties/a"),
        (schema(a={"type": "array", "items": {"minLength": 1}}), "/properties/a/items"),
        (schema(a={"type": "array", "items": True}), "/properties/a/items"),
        ({**schema(), "required": ["a"]}, ""),
        ({**schema(), "required": "a"}, ""),
        ({"type": "object", "properties": ["a"]}, ""),
        (schema(a="string"), "/properties/a"),
    ],
)  # fmt: skip
def test_what_the_endpoint_would_refuse_is_named_with_its_place(
    wrong: dict[str, Any], path: str
) -> None:
    with pytest.raises(SchemaOutsideDialect) as told:
        checked_schema(wrong)
    assert told.value.path == path


def nested(levels: int) -> dict[str, Any]:
    inner: dict[str, Any] = TEXT
    for _ in range(levels - 1):
        inner = schema(a=inner)
    return inner


def test_the_limits_hold_for_the_whole_schema() -> None:
    items = [str(number) for number in range(501)]
    halves = schema(a={"type": "string", "enum": items}, b={"type": "string", "enum": items[:499]})
    keys = {f"p{number}": TEXT for number in range(2_999)}
    checked_schema(halves)
    checked_schema(schema(a=schema(**keys)))
    checked_schema(nested(30))
    for too_much in (
        schema(**halves["properties"], c={"type": "string", "enum": ["one"]}),
        schema(a=schema(**keys), b=TEXT),
        nested(31),
    ):
        with pytest.raises(SchemaOutsideDialect):
            checked_schema(too_much)


def test_a_pydantic_model_becomes_a_schema_of_the_dialect() -> None:
    made = dialect_of(Whole)
    assert made["additionalProperties"] is False
    assert made["required"] == ["kind", "level", "parts", "count"]
    assert made["properties"]["kind"] == {"type": "string", "enum": ["whole"]}
    assert made["properties"]["count"] == {"type": "integer", "minimum": 1, "maximum": 9}
    part = made["$defs"]["Part"]
    # Properties that are called like keywords stay, the keywords go; null is one of the alternatives.
    assert part["properties"]["default"] == {"anyOf": [{"type": "number"}, {"type": "null"}]}
    assert part["properties"]["title"] == {
        "type": "string", "minLength": 1, "description": "what it is about",
    }  # fmt: skip
    assert part["required"] == ["title"]


def test_what_a_pydantic_model_cannot_say_in_the_dialect_is_an_error() -> None:
    class Positive(BaseModel):
        number: float = Field(gt=0)

    class Named(BaseModel):
        id: UUID

    class Shaped(BaseModel):
        code: str = Field(pattern="[a-z]+")

    class Mixed(BaseModel):
        either: Literal["a", 1]

    for model in (Positive, Named, Shaped, Mixed):
        with pytest.raises(SchemaOutsideDialect, match="/properties/"):
            dialect_of(model)


@pytest.mark.parametrize(
    ("value", "problems"),
    [
        ({"kind": "whole", "level": "low", "parts": [], "count": 3}, []),
        ({"kind": "whole", "level": "low", "parts": []}, ["the answer lacks count"]),
        ([], ["the answer is not of type object"]),
        (
            {"kind": "whole", "level": "top", "parts": [{}], "count": 10},
            ["/count breaks maximum 9", "/level is none of low, high", "/parts/0 lacks title"],
        ),
        (
            {"kind": "whole", "level": "low", "parts": [{"title": "t", "default": "x"}], "count": True},
            ["/count is not of type integer", "/parts/0/default fits none of the alternatives"],
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_with_an_answer_is_said_in_words(value: Any, problems: list[str]) -> None:
    assert validated(dialect_of(Whole), value) == problems


def test_two_missing_properties_are_one_problem() -> None:
    wanted = {**schema(a=TEXT, b=TEXT), "required": ["a", "b"]}
    assert validated(wanted, {}) == ["the answer lacks a, b"]


def test_a_problem_repeats_nothing_of_the_answer() -> None:
    open_ended = {**schema(), "additionalProperties": {"type": "integer"}}
    for wanted in (open_ended, dialect_of(Whole)):
        told = " ".join(validated(wanted, {"secret-name": "secret-value", "level": "secret"}))
        assert told
        assert "secret" not in told
