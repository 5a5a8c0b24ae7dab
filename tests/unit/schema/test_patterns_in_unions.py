"""A name that falls under a pattern is no name too many: what is ruled out must be refused by others, too."""

import itertools

import pytest
from jsonschema import Draft202012Validator

from toolshape._schema.union_branches import are_disjoint, fits

SCHEMAS = [
    {"type": "object", "patternProperties": {"^x": {"type": "integer"}}, "additionalProperties": False},
    {"type": "object", "patternProperties": {"^x": {"type": "integer"}}, "additionalProperties": {"type": "string"}},
    {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False},
    {"type": "object", "properties": {"xa": {"type": "integer"}}, "required": ["xa"]},
    {"type": "object", "properties": {"xa": {"type": "string"}}, "required": ["xa"], "additionalProperties": False},
]  # fmt: skip
VALUES = [{}, {"xa": 1}, {"a": 1}, {"xa": "s"}, {"b": "s"}, {"xa": 1, "b": "s"}]


@pytest.mark.parametrize("schema", SCHEMAS)
def test_what_is_valid_may_match(schema):
    for value in VALUES:
        assert fits(value, schema, dict) or not Draft202012Validator(schema).is_valid(value)


def test_null_is_shared_where_both_have_it():
    """``nullable`` is a word of OpenAPI 3.0, by which ``fits`` takes null, too."""
    schemas = [{"type": kind, "nullable": True} for kind in ("string", "integer")]
    assert all(fits(None, schema, dict) for schema in schemas)
    assert not are_disjoint(*schemas, dict)
    assert are_disjoint(schemas[0], {"type": "integer"}, dict)


def test_schemas_that_share_a_value_are_not_disjoint():
    for one, other in itertools.combinations(SCHEMAS, 2):
        both = Draft202012Validator({"allOf": [one, other]})
        if any(map(both.is_valid, VALUES)):
            assert not are_disjoint(one, other, dict), (one, other)
