"""What each error means to a model: every type of pydantic's has its place, and a limit is told with its number."""

import typing
from typing import Literal

import pytest
from pydantic import BaseModel
from pydantic_core import PydanticKnownError, core_schema

from toolshape import CallError, Registry, Tool, tool
from toolshape._validation import violations

TABLES = {
    "kinds and limits": set(violations.OF_PYDANTIC),
    "fields": set(violations.OF_FIELDS),
    "the author's": set(violations.BY_AUTHOR),
    "tags": set(violations.OF_TAGS),
    "following": set(violations.FOLLOWING),
    "rejected": set(violations.REJECTED),
    "never": set(violations.NEVER),
}
TYPES = typing.get_args(core_schema.ErrorType)
CONTEXT = {
    "gt": 41, "ge": 41, "lt": 41, "le": 41, "multiple_of": 41, "min_length": 41, "max_length": 41, "field_type": "List",
    "actual_length": 3, "pattern": "41", "expected": "41", "tz_expected": 41, "tz_actual": 0, "expected_schemes": "41",
    "expected_version": 41, "max_digits": 41, "decimal_places": 41, "whole_digits": 41, "encoding": "41",
    "encoding_error": "x", "error": "x",
}  # fmt: skip


@pytest.mark.parametrize("kind", TYPES)
def test_each_type_is_in_one_table(kind):
    assert [name for name, types in TABLES.items() if kind in types] in [[name] for name in TABLES]


@pytest.mark.parametrize(
    "kind",
    [kind for kind, reading in violations.OF_PYDANTIC.items() if "{" in reading.limit + reading.choices],
)  # fmt: skip
def test_a_phrase_names_the_value_of_the_constraint(kind):
    if kind not in TYPES:
        pytest.skip("this pydantic does not have the type")
    context = {name: value for name, value in CONTEXT.items() if f"{{{name}}}" in _template(kind)}
    violation = violations.of_pydantic({"type": kind, "loc": (), "msg": "", "input": 1, "ctx": context}, "a")  # fmt: skip
    assert "41" in violation.limit + violation.choices


def _template(kind: str) -> str:
    return str(PydanticKnownError(kind, CONTEXT).message_template)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("schema", "value", "told"),
    [
        ({"type": "array", "uniqueItems": True}, ["a", "a"], "no item is there twice"),
        ({"type": "array", "prefixItems": [{}], "items": False}, ["a", 1], "at most 1 item"),
        ({"type": "array", "contains": {"type": "integer"}}, ["a"], "at least 1 item that is: integer"),
        ({"type": "array", "items": {}, "maxItems": 2}, [1, 2, 3], "at most 2 items"),
        ({"type": "object", "dependentRequired": {"a": ["b"]}}, {"a": 1}, "x.b: required, but missing"),
        ({"type": "object", "propertyNames": {"pattern": "^x"}}, {"a": 1}, "^x"),
        ({"type": "integer", "not": {"const": 3}}, 3, "other than 3"),
        ({"oneOf": [{"type": "integer"}, {"minimum": 2}]}, 3, "exactly one of the 2 forms"),
        ({"if": {"type": "integer"}, "then": {"minimum": 5}}, 3, ">= 5, got 3"),
        ({"type": "integer", "allOf": [{"maximum": 3}]}, 4, "<= 3, got 4"),
        ({"pattern": "^a"}, "b", "that matches ^a"),
        ({"type": "object", "properties": {"a": False}}, {"a": 1}, "no value is allowed here"),
        ({"type": "integer", "minimum": 2}, 1, "integer >= 2, got 1"),
        ({"type": ["string", "null"], "maxLength": 2}, "abc", "string of at most 2 characters, got"),
        ({"enum": [1, 2]}, 3, "one of 1, 2, got 3"),
    ],
)  # fmt: skip
def test_the_words_for_a_keyword_of_a_definition(schema, value, told):
    definition = {"name": "take", "description": "Take.", "inputSchema": {"type": "object", "properties": {"x": schema}}}  # fmt: skip
    made = Tool.from_definition(definition, lambda **given: given)
    with pytest.raises(CallError) as caught:
        made.call({"x": value})
    assert told in str(caught.value)


def test_what_is_expected_is_said_of_the_branch_that_the_tag_names():
    """The other branch has a field of that name, too, and what it admits would be no help."""

    class One(BaseModel):
        kind: Literal["one"]
        a: bool | Literal["a", "b"]

    class Two(BaseModel):
        kind: Literal["two"]
        a: float

    def take(x: One | Two) -> None:
        """Take it."""

    call = {"name": "take", "arguments": '{"x": {"kind": "one", "a": 5}}'}
    [result] = Registry([tool(take)]).dispatch(call, provider="json-schema")
    assert 'x.a: expected boolean or one of "a", "b", got 5' in result.text
