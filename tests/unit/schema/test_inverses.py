"""What the tool does with values that no inverse can map back, and with definitions that few tools use in this way.

The judge of a definition is ``jsonschema``, with the schema as its author wrote it.
"""

import dataclasses
import json
from typing import Any

import pytest
from jsonschema import Draft7Validator, Draft202012Validator

from toolshape import Output, Registry, Tool, tool
from toolshape.testing import check_output


def test_counts_may_be_written_as_floats():
    """JSON Schema takes 1.0 for an integer: such a tuple is sent, and read back."""
    items = {
        "type": "array",
        "prefixItems": [{"type": "integer"}, {"type": "string"}],
        "items": False,
        "minItems": 1.0,
        "maxItems": 2.0,
    }
    definition = {"name": "f", "inputSchema": {"type": "object", "properties": {"p": items}}}
    for provider in ("openai", "anthropic", "gemini-openapi"):
        tools = Registry()
        tools.add_definitions([definition], executor=lambda name, arguments, context: arguments)
        sent = tools.bind(provider)
        assert sent.request()
        assert "an item may be omitted" not in str(sent.report())


PAIRS = [{"key": "a", "value": 1}, {"key": "a", "value": 2}]
REST = {
    "type": "array",
    "prefixItems": [{"type": "integer"}, {"type": "string"}],
    "items": {"type": "string"},
    "minItems": 1,
}


def answered(provider: str, made: Tool[..., Any], arguments: Any, *, strict: bool) -> Any:
    """The result of one call as a provider sends it, in the form of Chat Completions or as an Anthropic message."""
    bound = Registry([made]).bind(provider, strict=strict)
    name = made.name
    if provider == "anthropic":
        call = {"type": "tool_use", "id": "a", "name": name, "input": arguments}
        return bound.dispatch({"type": "message", "role": "assistant", "content": [call]})[0]
    if provider == "gemini-openapi":
        part = {"functionCall": {"name": name, "args": arguments}}
        return bound.dispatch({"candidates": [{"content": {"role": "model", "parts": [part]}}]})[0]
    call = {
        "id": "c",
        "type": "function",
        "function": {"name": name, "arguments": json.dumps(arguments)},
    }
    return bound.dispatch({"choices": [{"message": {"role": "assistant", "tool_calls": [call]}}]})[
        0
    ]


FORMS = pytest.mark.parametrize(
    ("provider", "strict"), [("openai", True), ("anthropic", True), ("gemini-openapi", False)]
)


@FORMS
@pytest.mark.parametrize(
    ("pairs", "path"),
    [
        (PAIRS, "x[1].key"),
        ([{"key": 1, "value": 2}], "x[0].key"),
        ([{"key": None, "value": 2}], "x[0].key"),
        ([{"key": "a"}], "x[0]"),
        (["a"], "x[0]"),
    ],
)
def test_a_list_that_is_no_map_is_refused_with_its_place(provider, strict, pairs, path):
    """The function never gets it; the model reads where it is wrong, in the form that was sent."""
    ran = []

    @tool
    def store(x: dict[str, int]) -> str:
        ran.append(x)
        return "ok"

    result = answered(provider, store, {"x": pairs}, strict=strict)
    assert (ran, [problem.path for problem in result.error.problems]) == ([], [path])
    assert answered(provider, store, {"x": PAIRS[:1]}, strict=strict).ok


def test_integer_keys_are_integers_in_pairs():
    """A map whose keys are integers is sent with integer keys."""
    got = []

    @tool
    def store(x: dict[int, str]) -> str:
        got.append(x)
        return "ok"

    assert answered("openai", store, {"x": [{"key": 7, "value": "a"}]}, strict=True).ok
    assert got == [{7: "a"}]


@pytest.mark.parametrize(
    "further", [PAIRS, None, "a", 5, {"z": 1}, [{"key": "a", "value": 1}], [{"key": "z"}]]
)
def test_further_fields_that_do_not_map_back_are_no_data(further):
    """No value is passed on as a field called ``additional_properties``."""
    ran = []

    @tool
    def store(a: int, **more: int) -> str:
        ran.append(more)
        return "ok"

    result = answered("openai", store, {"a": 1, "additional_properties": further}, strict=True)
    assert (result.ok, ran) in (
        (False, []),
        (further is None, [{}]),
    )  # null leaves an optional field out
    assert answered(
        "openai", store, {"a": 1, "additional_properties": [{"key": "z", "value": 1}]}, strict=True
    ).ok
    assert ran[-1] == {"z": 1}


@FORMS
@pytest.mark.parametrize(
    "value",
    [
        {"item_1": 1, "item_2": "a", "rest": "abc"},
        {"item_1": 1, "item_2": "a", "rest": {"k": 1}},
        {"item_1": 1, "rest": ["a"]},
        {"item_1": 1, "item_3": "a"},
    ],
)
def test_an_object_that_is_no_tuple_is_refused(provider, strict, value):
    """Neither the letters of a text nor the keys of an object become items, and no place is skipped."""
    ran = []
    schema = {
        "type": "object",
        "properties": {"x": REST},
        "required": ["x"],
        "additionalProperties": False,
    }
    made = Tool.from_definition(
        {"name": "store", "inputSchema": schema}, lambda **given: ran.append(given)
    )
    assert not answered(provider, made, {"x": value}, strict=strict).ok
    assert not ran
    assert answered(
        provider, made, {"x": {"item_1": 1, "item_2": "a", "rest": ["b"]}}, strict=strict
    ).ok
    assert ran == [{"x": [1, "a", "b"]}]


def test_a_field_under_both_of_its_names_is_refused():
    """Its wire name would be data otherwise."""
    schema = {"type": "object", "properties": {"a b": {"type": "integer"}}, "required": ["a b"]}
    made = Tool.from_definition({"name": "store", "inputSchema": schema}, lambda **given: given)
    assert answered("anthropic", made, {"a_b": 1}, strict=False).value == {"a b": 1}
    assert (
        answered("anthropic", made, {"a_b": 1, "a b": 2}, strict=False).error.code
        == "invalid_arguments"
    )


BASE = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
TEXT = {"type": "string"}
# A schema, and values that it admits or not, as jsonschema says.
DEFINITIONS = {
    "a reference beside fields": (
        {"properties": {"x": {"$ref": "#/$defs/B", "properties": {"o": {"$ref": "#/$defs/T"}}}}, "$defs": {"B": BASE, "T": TEXT}},
        [{"x": {"a": 1, "o": "s"}}, {"x": {"a": 1, "o": [5]}}, {"x": {"o": "s"}}],
    ),
    "a reference beside a bound": (
        {"properties": {"x": {"$ref": "#/$defs/I", "minimum": 3}}, "$defs": {"I": {"type": "integer", "maximum": 5}}},
        [{"x": 4}, {"x": 2}, {"x": 6}],
    ),
    "a reference to false": (
        {"properties": {"x": {"anyOf": [{"$ref": "#/$defs/No"}, TEXT]}}, "$defs": {"No": False}},
        [{"x": "a"}, {"x": [1]}],
    ),
    "a field that is never valid": ({"properties": {"x": False, "y": {"not": {}}, "z": TEXT}}, [{"z": "a"}, {"x": 5}, {"y": 5}]),
    "a union of nothing": ({"properties": {"x": {"anyOf": [{"not": {}}, False]}}}, [{}, {"x": 1}]),
    "no unevaluated items": (
        {"properties": {"x": {"type": "array", "prefixItems": [TEXT], "unevaluatedItems": False}}},
        [{"x": ["a"]}, {"x": ["a", 5]}],
    ),
    "unevaluated items of a part": (
        {"properties": {"x": {"type": "array", "allOf": [{"prefixItems": [TEXT]}], "unevaluatedItems": {"type": "integer"}}}},
        [{"x": ["a", 5]}, {"x": ["a", "b"]}],
    ),
    "no items at all": ({"properties": {"x": {"type": "array", "items": False}}}, [{"x": []}, {"x": [1]}]),
    "an integral number that is excluded": ({"properties": {"x": {"not": {"type": "integer"}}}}, [{"x": 1.5}, {"x": 1.0}]),
    "an integral number that is counted": (
        {"properties": {"x": {"type": "array", "contains": {"type": "integer"}}}},
        [{"x": [1.0]}, {"x": [1.5]}],
    ),
    "an integral number of a pattern": (
        {"properties": {}, "patternProperties": {"^a": {"type": "integer"}}},
        [{"ab": 1.0}, {"ab": 1.5}],
    ),
    "what is no object is excluded": ({"properties": {}, "not": {"items": {}}}, [{}]),
    "a type that is implied below a condition": (
        {"properties": {"x": {"if": {"items": {}}, "then": {"type": "null"}}}},
        [{"x": {}}, {"x": None}],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", DEFINITIONS)
def test_a_tool_takes_what_its_definition_admits(case):
    """And nothing else; every provider that can be sent it is sent it."""
    schema, values = {"type": "object", **DEFINITIONS[case][0]}, DEFINITIONS[case][1]
    made = Tool.from_definition({"name": "f", "inputSchema": schema}, lambda **given: given)
    for value in values:
        result = Registry([made]).dispatch({"name": "f", "arguments": value})[0]
        assert result.ok is Draft202012Validator(schema).is_valid(value), (value, result.text)
        assert not result.ok or result.value == value
    for provider in (
        "openai",
        "anthropic",
        "gemini",
        "gemini-openapi",
        "bedrock",
        "cohere",
        "ollama",
        "mistral",
    ):
        made.export(provider, strict=False)


def test_up_to_draft_7_a_reference_stands_alone():
    """What is written beside it is ignored, even where it is no schema."""
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {
            "x": {
                "$ref": "#/definitions/T",
                "maxLength": 1,
                "type": "integer",
                "description": "A text.",
            }
        },
        "definitions": {"T": TEXT},
    }
    assert Draft7Validator(schema).is_valid({"x": "abc"})
    made = Tool.from_definition({"name": "f", "inputSchema": schema}, lambda **given: given)
    assert made.call({"x": "abc"}) == {"x": "abc"}
    assert made.input_schema["properties"]["x"]["description"] == "A text."


def test_patterns_inside_patterns_are_sent():
    """What a pattern held is reached, too, and a value of it can be said."""
    inner = {
        "type": "object",
        "patternProperties": {"^b": {"type": "integer"}},
        "additionalProperties": False,
    }
    outer = {"type": "object", "patternProperties": {"^a": inner}, "additionalProperties": False}
    schema = {
        "type": "object",
        "properties": {"x": outer},
        "required": ["x"],
        "additionalProperties": False,
    }
    made = Tool.from_definition({"name": "f", "inputSchema": schema}, lambda **given: given)
    said = {"x": [{"key": "ab", "value": [{"key": "bc", "value": 1}]}]}
    for provider in ("openai", "anthropic"):
        entry = made.export(provider, strict=True)
        sent = entry["input_schema"] if provider == "anthropic" else entry["function"]["parameters"]
        assert Draft202012Validator(sent).is_valid(said)
        assert answered(provider, made, said, strict=True).value == {"x": {"ab": {"bc": 1}}}


def test_an_object_that_names_no_field_is_no_object_at_geminis_parameters():
    """At any depth: the API refuses an empty ``properties``."""
    schema = {
        "type": "object",
        "properties": {
            "x": {
                "type": "array",
                "items": {"type": "object", "properties": {}, "additionalProperties": False},
            }
        },
    }
    made = Tool.from_definition({"name": "f", "inputSchema": schema}, lambda **given: given)
    assert (
        made.export("gemini-openapi")["parameters"]["properties"]["x"]["items"]["type"] == "string"
    )
    assert answered("gemini-openapi", made, {"x": ["{}"]}, strict=False).value == {"x": [{}]}


@dataclasses.dataclass
class _Message:
    role: str
    raw: Any = None


@pytest.mark.parametrize("provider", ["openai", "cohere"])
def test_a_map_beside_a_class_with_its_fields_is_reported(provider):
    """Pydantic may take for the map what is sent as the class, and then the fields with a default show."""
    output = Output(list[_Message | dict[str, Any]])
    bound = output.bind(provider, strict=True)
    assert "is sent as the first" in str(bound.report())
    check_output(provider, output, examples=100)
