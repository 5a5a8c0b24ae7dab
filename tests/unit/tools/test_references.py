"""What a definition refers to: ids, anchors, other documents and metaschemas, judged by jsonschema."""

import json
import pickle
from typing import Any

import pytest
from jsonschema import Draft7Validator, Draft202012Validator

from toolshape import DefinitionError, Registry, Tool

DRAFT_7 = "http://json-schema.org/draft-07/schema#"
NEWEST = "https://json-schema.org/draft/2020-12/schema"


def tool_of(schema: dict[str, Any], **options: Any) -> Tool[..., Any]:
    entry = {"name": "t", "description": "T.", "inputSchema": schema}
    return Tool.from_definition(entry, lambda **given: json.dumps(given), **options)


def takes(tool: Tool[..., Any], value: Any) -> bool:
    call = {"name": "t", "arguments": json.dumps({"x": value})}
    [result] = Registry([tool]).dispatch(call, provider="json-schema")
    return result.ok and not result.coercions


def field(schema: Any, **beside: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"x": schema}, **beside}


INTEGER = {"type": "integer"}
TREE = {
    "$id": "tree",
    "$dynamicAnchor": "node",
    "type": "object",
    "properties": {"data": True, "children": {"type": "array", "items": {"$dynamicRef": "#node"}}},
}


@pytest.mark.parametrize(
    ("schema", "right", "wrong"),
    [
        (field({"$ref": "#/$defs/n"}, **{"$defs": {"n": INTEGER}}), 1, "x"),
        (field({"$ref": "#named"}, **{"$defs": {"n": {"$anchor": "named", **INTEGER}}}), 1, "x"),
        (
            field({"$ref": "https://x.test/s#/$defs/n"}, **{"$id": "https://x.test/s", "$defs": {"n": INTEGER}}),
            1,
            "x",
        ),
        (
            field({"$ref": "n"}, **{"$id": "https://x.test/s", "$defs": {"a": {"$id": "n", **INTEGER}}}),
            1,
            "x",
        ),
        (field({"$ref": "urn:n"}, **{"$defs": {"a": {"$id": "urn:n", **INTEGER}}}), 1, "x"),
        (
            field({"$ref": "#n"}, **{"$schema": DRAFT_7, "definitions": {"a": {"$id": "#n", **INTEGER}}}),
            1,
            "x",
        ),
        # Up to draft 7, a reference hides the constraints beside it.
        (
            field(
                {"$ref": "#/definitions/n", "maximum": 3},
                **{"$schema": DRAFT_7, "definitions": {"n": INTEGER}},
            ),
            9,
            "x",
        ),
        (
            field({"$ref": "#/$defs/n", "maximum": 3}, **{"$schema": NEWEST, "$defs": {"n": INTEGER}}),
            3,
            9,
        ),
        # A definition is closed where it is used.
        (
            field(
                {"$ref": "#/$defs/o", "unevaluatedProperties": False},
                **{"$defs": {"o": {"type": "object", "properties": {"a": INTEGER}}}},
            ),
            {"a": 1},
            {"b": 1},
        ),
        (
            field(
                {
                    "$id": "https://x.test/strict",
                    "$dynamicAnchor": "node",
                    "$ref": "tree",
                    "unevaluatedProperties": False,
                    "type": "object",
                    "$defs": {"tree": TREE},
                },
                **{"$id": "https://x.test/root"},
            ),
            {"children": [{"data": 1}]},
            {"children": [{"daat": 1}]},
        ),
        (field({"$ref": DRAFT_7}), {"type": "object"}, {"type": 1}),
        (field({"$ref": NEWEST}), {"minimum": 1}, {"minimum": [1]}),
    ],
)  # fmt: skip
def test_a_reference_means_what_jsonschema_says(schema: Any, right: Any, wrong: Any) -> None:
    tool = tool_of(schema)
    judge = Draft7Validator if schema.get("$schema") == DRAFT_7 else Draft202012Validator
    for value, expected in ((right, True), (wrong, False)):
        assert judge(schema).is_valid({"x": value}) is expected
        assert takes(tool, value) is expected
    assert set(tool.input_schema) <= {"type", "properties", "required", "$defs"}


def test_documents_are_given_and_never_fetched() -> None:
    """A definition of OpenAPI refers to its document; without it, the error says how to give it."""
    schema = field({"$ref": "openapi.json#/components/schemas/Pet"})
    document = {"components": {"schemas": {"Pet": {"type": "string"}, "Unused": {"type": "null"}}}}
    with pytest.raises(DefinitionError, match=r"x: openapi.json.* nothing is fetched.*documents="):
        tool_of(schema)
    tool = tool_of(schema, documents={"openapi.json": document})
    assert takes(tool, "cat")
    assert not takes(tool, [1])
    assert tool.input_schema["$defs"] == {"Pet": {"type": "string"}}
    [added] = Registry().add_definitions(
        [{"name": "t", "inputSchema": schema}], documents={"openapi.json": document}
    )
    assert added.input_schema == tool.input_schema
    # The documents are a part of the tool, which may be sent to another process.
    by_pickle = pickle.loads(pickle.dumps(added))
    assert by_pickle.input_schema == tool.input_schema


def test_a_document_is_read_under_its_own_id() -> None:
    document = {
        "$id": "https://x.test/d",
        "$defs": {"n": {"$id": "n", "type": "integer"}},
        "$ref": "n",
    }
    tool = tool_of(field({"$ref": "given.json"}), documents={"given.json": document})
    assert takes(tool, 1)
    assert not takes(tool, "a")


def test_unused_definitions_and_components_are_not_sent() -> None:
    components = {
        "schemas": {"A": {"type": "string"}, "B": {"type": "null"}},
        "securitySchemes": {},
    }
    tool = tool_of(field({"$ref": "#/components/schemas/A"}, components=components))
    assert tool.input_schema["$defs"] == {"A": {"type": "string"}}
    assert "securitySchemes" not in json.dumps(tool.export("openai"))


def test_ids_that_are_no_ids() -> None:
    """Some programs write the pointer of each node as its id; references are then meant from the root."""
    schema = field(
        {"$id": "#/properties/x", "$ref": "#/$defs/n"},
        **{"$defs": {"n": {"$id": "#/$defs/n", **INTEGER}}},
    )
    assert takes(tool_of(schema), 1)
    around = {
        "$id": "https://x.test/inner",
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/n"}},
    }
    tool = tool_of(field(around, **{"$defs": {"n": INTEGER}}))
    assert takes(tool, {"a": 1})
    assert not takes(tool, {"a": "b"})
    assert any("read from the root" in finding.message for finding in tool.findings)


def test_one_list_bundled_for_each_way_to_it() -> None:
    """The item that a list means depends on who refers to it: JSON Schema 2020-12, section 8.2.3.2."""
    definitions = {
        "list": {"$id": "list", "type": "array", "items": {"$dynamicRef": "#item"}, "$defs": {"any": {"$dynamicAnchor": "item"}}},
        "numbers": {"$id": "numbers", "$ref": "list", "$defs": {"i": {"$dynamicAnchor": "item", "type": "number"}}},
        "texts": {"$id": "texts", "$ref": "list", "$defs": {"i": {"$dynamicAnchor": "item", "type": "string"}}},
    }  # fmt: skip
    schema = {
        "$id": "https://x.test/root",
        "type": "object",
        "properties": {"x": {"anyOf": [{"$ref": "numbers"}, {"$ref": "texts"}]}},
        "$defs": definitions,
    }
    tool = tool_of(schema)
    for value in ([1, 2], ["a"], [1, "a"], [None]):
        assert takes(tool, value) is Draft202012Validator(schema).is_valid({"x": value})


def test_words_of_draft_3() -> None:
    schema = field(
        {"extends": {"minimum": 2}, "type": ["integer", {"type": "string"}], "disallow": "null"},
        **{"$schema": "http://json-schema.org/draft-03/schema#"},
    )
    tool = tool_of(schema)
    assert [takes(tool, value) for value in (2, 1, "a", None)] == [True, False, True, False]


def test_an_open_object_of_arguments_is_closed_only_in_the_strict_form() -> None:
    """An imported schema hardly ever says that it is closed; more fields still reach the function."""
    inner = {"type": "object", "properties": {"a": INTEGER}, "required": ["a"]}
    schema = field(inner, required=["x"])
    open_inside, closed = tool_of(schema), tool_of(schema, closed=True)
    flat = tool_of(field(INTEGER, required=["x"]))
    assert Registry([flat]).bind("openai").is_strict("t")
    assert not Registry([open_inside]).bind("openai").is_strict("t")
    bound = Registry([closed]).bind("openai")
    assert bound.is_strict("t")
    assert "additionalProperties" in {entry.rule for entry in bound.report()}
    call = {"name": "t", "arguments": '{"x": {"a": 1, "b": 2}, "y": 3}'}
    [result] = Registry([closed]).dispatch(call, provider="json-schema")
    assert json.loads(result.text) == {"x": {"a": 1, "b": 2}, "y": 3}
    nameless = tool_of({"type": "object"}, closed=True)
    assert not Registry([nameless]).bind("openai").is_strict("t")
