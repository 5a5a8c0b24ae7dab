"""Definitions that ask for much work: refused by name, or answered without it."""

import json
import time
from typing import Any

import pytest

from toolshape import DefinitionError, ExportError, Registry, Tool
from toolshape._families.names import available


def tool_of(schema: dict[str, Any]) -> Tool[..., Any]:
    entry = {"name": "t", "description": "T.", "inputSchema": schema}
    return Tool.from_definition(entry, lambda **_: "ran")


def doubling(write: Any, levels: int = 24) -> dict[str, Any]:
    """Definitions of which each holds the one before it twice."""
    definitions: dict[str, Any] = {
        "d0": {"type": "object", "properties": {"q": {"type": "string"}}}
    }
    for level in range(1, levels):
        definitions[f"d{level}"] = write({"$ref": f"#/$defs/d{level - 1}"})
    return {
        "type": "object",
        "properties": {"x": {"$ref": f"#/$defs/d{levels - 1}"}},
        "$defs": definitions,
    }


def nested(write: Any, levels: int) -> dict[str, Any]:
    schema: Any = {"type": "string"}
    for level in range(levels):
        schema = write(schema, level)
    return {"type": "object", "properties": {"x": schema}}


BOMBS = {
    "fields": doubling(lambda one: {"type": "object", "properties": {"a": one, "b": one}}),
    "anyOf": doubling(lambda one: {"anyOf": [one, one]}),
    "oneOf": doubling(lambda one: {"oneOf": [one, one]}),
    "allOf": doubling(lambda one: {"allOf": [one, one]}),
    "items": doubling(lambda one: {"type": "array", "prefixItems": [one, one]}),
    "map": doubling(
        lambda one: {"type": "object", "properties": {"a": one}, "additionalProperties": one}
    ),
    "patterns": doubling(lambda one: {"type": "object", "patternProperties": {"a": one, "b": one}}),
    "not": doubling(lambda one: {"not": {"allOf": [one, one]}}),
    "if": doubling(lambda one: {"if": one, "then": one, "else": one}),
    "dependent": doubling(lambda one: {"type": "object", "dependentSchemas": {"a": one, "b": one}}),
    "contains": doubling(lambda one: {"type": "array", "items": one, "contains": one}),
    "parts that do not meet": nested(
        lambda inner, level: {"allOf": [inner, {"type": "integer", "minimum": level}]}, 24
    ),
    "many branches": {
        "type": "object",
        "properties": {
            "x": {
                "anyOf": [
                    {"type": "object", "properties": {f"k{n}": {"type": "string"}}}
                    for n in range(150)
                ]
            }
        },
    },
    "a dense circle": {
        "type": "object",
        "properties": {"x": {"$ref": "#/$defs/n0"}},
        "$defs": {
            f"n{n}": {
                "type": "object",
                "properties": {f"c{m}": {"$ref": f"#/$defs/n{m}"} for m in range(20)},
            }
            for n in range(20)
        },
    },
}


@pytest.mark.parametrize("kind", BOMBS)
def test_no_definition_takes_long_at_any_provider(kind: str) -> None:
    """Each is exported or refused; the bound is far above what was measured (0.6 s), and far below what it was."""
    tool = tool_of(BOMBS[kind])
    for provider in (
        "openai",
        "anthropic",
        "gemini",
        "gemini-openapi",
        "ollama",
        "huggingface",
        "mcp",
        "xai:grpc",
    ):
        assert provider in available()
        began = time.process_time()
        try:
            sent = json.dumps(Registry([tool]).export(provider), default=str)
        except ExportError as error:
            assert error.problems[0].rule == "too_large", error
        else:
            assert len(sent) < 600_000
        assert time.process_time() - began < 10


def test_one_object_at_many_places_is_counted_before_it_is_copied() -> None:
    shared: Any = {"type": "string"}
    for _ in range(40):
        shared = {"type": "object", "properties": {"a": shared, "b": shared}}
    with pytest.raises(DefinitionError, match="more than 1,000,000 values"):
        tool_of(shared)


def test_a_schema_that_no_provider_would_take_is_refused_with_its_largest_field() -> None:
    fields = {f"f{n}": {"type": "string", "description": "x" * 90} for n in range(2_500)}
    large = {"type": "object", "properties": {"wide": {"type": "object", "properties": fields}}}
    with pytest.raises(ExportError, match="wide: the schema would be sent with") as raised:
        Registry([tool_of(large)]).export("anthropic")
    assert raised.value.problems[0].rule == "too_large"


def test_a_schema_that_grows_is_a_finding_with_the_figure() -> None:
    """Gemini takes no references, so each use of a definition is sent in full."""
    line = {
        "type": "object",
        "properties": {f"f{n}": {"type": "string", "description": "x" * 40} for n in range(12)},
    }
    uses = {f"use{n}": {"$ref": "#/$defs/line"} for n in range(60)}
    schema = {"type": "object", "properties": uses, "$defs": {"line": line}}
    tools = Registry([tool_of(schema)])
    [finding] = [found for found in tools.bind("gemini").report() if found.rule == "grown"]
    assert "times its size" in finding.note
    assert "gemini takes no references" in finding.note
    assert not [found for found in tools.bind("anthropic").report() if found.rule == "grown"]


def test_json_text_never_stands_within_json_text() -> None:
    schema = nested(
        lambda inner, level: {"allOf": [inner, {"type": "integer", "minimum": level}]}, 3
    )
    text = json.dumps(tool_of(schema).export("gemini"))
    assert text.count("written as JSON text") == 1


def test_what_is_written_once_is_read_once() -> None:
    """The inside of a value that is sent as JSON text is plain: ``"5x"`` stays that text, and ``"5"`` stays one, too."""
    inner = {
        "allOf": [
            {"type": ["string", "integer"], "if": {"type": "string"}, "then": {"minLength": 1}},
            {"if": {"type": "integer"}, "then": {"minimum": 3}},
        ]
    }
    schema = {
        "type": "object",
        "properties": {
            "x": {
                "allOf": [
                    {
                        "type": "object",
                        "properties": {"a": inner},
                        "if": {"required": ["a"]},
                        "then": {"required": ["b"]},
                    },
                    {"if": {"required": ["b"]}, "then": {"required": ["a"]}},
                ]
            }
        },
    }
    seen: list[Any] = []
    entry = {"name": "t", "description": "T.", "inputSchema": schema}
    tool = Tool.from_definition(entry, lambda **given: seen.append(given))
    tools = Registry([tool])
    for a in ("5x", "5", 5):
        value = {"a": a, "b": 1}
        arguments = {"x": json.dumps(value)}
        part = {"functionCall": {"name": "t", "args": arguments}}
        content = {"role": "model", "parts": [part]}
        tools.bind("gemini").dispatch(
            {"candidates": [{"content": content, "finishReason": "STOP"}]}
        )
        assert seen.pop() == {"x": value}
