"""A JSON digest says the same of what Python wrote and of what PostgreSQL gives back from its jsonb."""

import json
from typing import Any

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.checkpoint_seals import UNREADABLE, json_digest

# PostgreSQL stores neither NUL nor half a surrogate pair.
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
EXTREMES = st.sampled_from(
    [0.0, -0.0, 1.0, 1e16, 1e22, 1e23, 1.7976931348623157e308, 5e-324, 1e-7, 2**53 + 1, 10**400, -(10**23)]
)  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | EXTREMES | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


def test_the_digest_outlives_the_round_trip_through_jsonb(database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:

        @settings(max_examples=400, deadline=None, database=None)
        @given(VALUES)
        def outlives(value: Any) -> None:
            text = json.dumps(value)
            row = connection.execute("SELECT %s::text::jsonb::text", (text,)).fetchone()
            assert row is not None
            assert json_digest(row[0]) == json_digest(text) != UNREADABLE

        outlives()


@pytest.mark.parametrize(
    "same",
    [
        ("1", "1.0", "1e0", "10e-1"),
        ("1e23", "100000000000000000000000", "1.0e+23"),
        ("0.1", "0.10", "1e-1"),
        ("-0.0", "0", "0.0"),
        ('{"a": 1, "b": [2]}', '{"b":[2.0],"a":1}', '{"a": 7, "b": [2], "a": 1}'),
        (r'"\u00e4"', '"ä"'),
    ],
)
def test_values_that_are_equal_have_one_digest(same: tuple[str, ...]) -> None:
    assert len(set(map(json_digest, same))) == 1


@pytest.mark.parametrize(
    "different",
    [
        ("1", "true", '"1"', "[1]", "1.0000001"),
        ("100000000000000000000000", "99999999999999991611392"),
        ("9007199254740992", "9007199254740993"),
        ("null", "{}", "[]", '""', "0", "false"),
        ('{"a": null}', "{}"),
        ("[1, 2]", "[2, 1]", "[12]"),
    ],
)
def test_values_that_differ_have_different_digests(different: tuple[str, ...]) -> None:
    assert len(set(map(json_digest, different))) == len(different)


@pytest.mark.parametrize("text", [None, "", "{", "1" * 5000, "[" * 100_000])
def test_what_nobody_can_read_is_told_and_raises_nothing(text: str | None) -> None:
    assert json_digest(text) == UNREADABLE
