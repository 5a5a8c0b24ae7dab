"""The quick check of results: what it admits, a full validator admits; and it admits what tools return."""

import math
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from jsonschema import Draft202012Validator

from toolshape._validation.quick_check import compile_quick_check

NAMES = st.sampled_from(["a", "b", "c"])
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 2),
    st.floats(),
    st.sampled_from(["", "a", "b"]),
    st.just(2.0),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=3)),
    max_leaves=6,
)
TYPES = st.sampled_from(["string", "integer", "number", "boolean", "null", "object", "array"])


def nested(inner: Any) -> Any:
    properties = st.dictionaries(NAMES, inner, max_size=3)
    return st.one_of(
        st.fixed_dictionaries(
            {"type": st.just("object"), "properties": properties},
            optional={
                "required": st.lists(NAMES, max_size=2, unique=True),
                "additionalProperties": st.one_of(st.booleans(), inner),
            },
        ),
        st.fixed_dictionaries({"type": st.just("array")}, optional={"items": inner}),
        st.fixed_dictionaries({"anyOf": st.lists(inner, min_size=1, max_size=3)}),
        st.fixed_dictionaries(
            {"type": st.lists(TYPES, min_size=1, max_size=2, unique=True), "items": inner}
        ),
        st.fixed_dictionaries({"$ref": st.sampled_from(["#/$defs/x", "#/$defs/y"])}),
        st.fixed_dictionaries({"type": TYPES, "minimum": st.integers(0, 2)}),
    )


SCHEMAS = st.recursive(
    st.one_of(
        st.just({}),
        st.just(True),
        st.fixed_dictionaries({"type": TYPES}),
        st.fixed_dictionaries(
            {"enum": st.lists(SCALARS.filter(lambda value: value == value), min_size=1, max_size=3)}
        ),
        st.fixed_dictionaries({"description": st.just("said"), "default": st.just(1)}),
    ),
    nested,
    max_leaves=6,
)


def is_finite(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        return all(map(is_finite, value.values()))
    return not isinstance(value, list) or all(map(is_finite, value))


@pytest.mark.slow
@settings(max_examples=600, deadline=None)
@given(schema=SCHEMAS, x=SCHEMAS, y=SCHEMAS, value=VALUES)
def test_what_it_admits_is_admitted(schema, x, y, value):
    schema = (
        {**schema, "$defs": {"x": x, "y": y}} if isinstance(schema, dict) else {"anyOf": [True]}
    )
    quick = compile_quick_check(schema)
    try:
        if quick is None or not quick(value):
            return
        assert is_finite(value)
        assert Draft202012Validator(schema).is_valid(value)
    except RecursionError:  # a definition that is nothing but itself
        return


PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "tags": {"type": "array", "items": {"enum": ["x", "y"]}},
    },
    "required": ["name"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("schema", "right", "wrong"),
    [
        ({"type": "integer"}, 5, True),
        ({"type": "number"}, 5.5, math.inf),
        ({"type": "boolean"}, True, 1),
        (PERSON, {"name": "a", "tags": ["x"]}, {"name": "a", "tags": ["z"]}),
        (PERSON, {"name": "a"}, {"name": "a", "other": 1}),
        (PERSON, {"name": "a"}, {"tags": []}),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, {"a": 1}, {"a": "1"}),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, None, 1),
        ({"$ref": "#/$defs/p", "$defs": {"p": PERSON}}, {"name": "a"}, {"name": 1}),
        (
            {
                "$ref": "#/$defs/n",
                "$defs": {"n": {"type": "object", "properties": {"in": {"$ref": "#/$defs/n"}}}},
            },
            {"in": {"in": {}}},
            {"in": {"in": 1}},
        ),
        ({}, [1, {"a": None}], [math.nan]),
    ],
)
def test_what_tools_return_is_admitted(schema, right, wrong):
    quick = compile_quick_check(schema)
    assert quick is not None
    assert quick(right)
    assert not quick(wrong)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "maxLength": 3},
        {"enum": [1]},
        {"const": 1},
        {"properties": {"a": {}}},
        {"type": "object", "patternProperties": {}},
        {"type": "object", "properties": {"a": {"not": {}}}},
        {"$ref": "#"},
        {"$ref": "https://example.com/x"},
        {"$ref": "#/$defs/a/b", "$defs": {}},
        {"type": "nonsense"},
        False,
    ],
)
def test_what_it_does_not_know_is_left_to_others(schema):
    assert compile_quick_check(schema if isinstance(schema, dict) else {"anyOf": [schema]}) is None
