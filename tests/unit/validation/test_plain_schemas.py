"""A schema that is recognised as plain keeps to the metaschema, as jsonschema judges."""

from hypothesis import given, settings, strategies as st
from jsonschema import Draft202012Validator

from toolshape._schema.keywords import KEYWORDS
from toolshape._validation.plain_schemas import is_plain_schema

WORDS = [*(keyword.name for keyword in KEYWORDS), "x-own", "desc"]
SCALARS = st.none() | st.booleans() | st.integers(-2, 3) | st.floats(-2, 3) | st.sampled_from(
    ["", "string", "object", "integer", "a", "#/$defs/a", "#", "(", "https://x.test/s"]
)  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*WORDS, "a", "b"]), inner, max_size=3)
    ),
    max_leaves=6,
)
SCHEMAS = st.dictionaries(st.sampled_from(WORDS), VALUES, max_size=4)
METASCHEMA = Draft202012Validator(Draft202012Validator.META_SCHEMA)


@settings(max_examples=400)
@given(SCHEMAS)
def test_what_is_plain_is_a_schema(schema):
    if is_plain_schema(schema):
        assert METASCHEMA.is_valid(schema)


def test_most_schemas_are_plain():
    schema = {
        "type": "object",
        "properties": {"x": {"anyOf": [{"type": ["string", "null"]}, {"$ref": "#/$defs/a"}]}},
        "required": ["x"],
        "additionalProperties": False,
        "$defs": {"a": {"type": "array", "items": {"type": "integer", "minimum": 0}}},
    }
    assert is_plain_schema(schema)
    assert not is_plain_schema({"type": "dict"})
    assert not is_plain_schema({"properties": {"x": {"minimum": "0"}}})
