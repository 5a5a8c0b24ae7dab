"""A definition's default reaches the function when the model leaves the field out, and nothing else changes."""

import json
import logging
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from toolshape import Registry, Tool
from toolshape._validation.pattern_search import searches_for
from toolshape._validation.schema_defaults import compile_fill, defaults_of
from toolshape.ledger import Ledger

UNIT = {"type": "string", "enum": ["celsius", "kelvin"], "default": "celsius"}


def tool_of(properties: dict[str, Any], function: Any = None, **options: Any) -> Tool[..., Any]:
    schema = {"type": "object", "properties": properties, **options.pop("schema", {})}
    entry = {"name": "t", "description": "T.", "inputSchema": schema}
    return Tool.from_definition(entry, function or (lambda **given: json.dumps(given)), **options)


def arguments_of(tool: Tool[..., Any], given: dict[str, Any], provider: str = "openai") -> Any:
    bound = Registry([tool]).bind(provider)
    [result] = bound.dispatch(bound.calls_as_messages([("t", given)])[-1])
    assert result.ok, result.text
    assert json.loads(result.text) == result.arguments
    return result.arguments


@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini", "cohere", "text:hermes"])
def test_a_default_an_omission_and_null_are_one(provider: str) -> None:
    tool = tool_of({"unit": UNIT, "n": {"type": "integer"}})
    for given in ({}, {"unit": "celsius"}):
        assert arguments_of(tool, given, provider) == {"unit": "celsius"}
    [result] = Registry([tool]).dispatch({"name": "t", "arguments": '{"unit": null}'})
    assert result.arguments == {"unit": "celsius"}
    assert [coercion.rule for coercion in result.coercions] == ["null_as_default"]


@pytest.mark.parametrize(
    ("properties", "given", "expected"),
    [
        ({"o": {"type": "object", "properties": {"u": UNIT}}}, {"o": {}}, {"o": {"u": "celsius"}}),
        ({"l": {"type": "array", "items": {"type": "object", "properties": {"u": UNIT}}}}, {"l": [{}]}, {"l": [{"u": "celsius"}]}),
        ({"o": {"allOf": [{"type": "object", "properties": {"u": UNIT}}]}}, {"o": {}}, {"o": {"u": "celsius"}}),
        # Nothing is filled in inside of a default.
        ({"o": {"type": "object", "properties": {"u": UNIT}, "default": {}}}, {}, {"o": {}}),
        # Null where null is a value is a value.
        ({"n": {"type": ["string", "null"], "default": "a"}}, {"n": None}, {"n": None}),
        ({"n": {"type": ["string", "null"], "default": None}}, {}, {"n": None}),
        ({"n": {"type": "string", "default": None}}, {}, {}),
        # A default that its schema refuses, and one of a secret.
        ({"n": {"type": "integer", "default": "x"}}, {}, {}),
        ({"n": {"type": "string", "format": "password", "default": "pw"}}, {}, {}),
    ],
)  # fmt: skip
def test_where_a_default_is_filled_in(properties: Any, given: Any, expected: Any) -> None:
    logging.disable(logging.CRITICAL)
    assert arguments_of(tool_of(properties), given, "json-schema") == expected
    logging.disable(logging.NOTSET)


def test_a_union_is_entered_where_one_branch_admits_the_value() -> None:
    branches = [
        {"type": "object", "properties": {"k": {"const": "a"}, "v": {"type": "integer", "default": 1}}, "required": ["k"]},
        {"type": "object", "properties": {"k": {"const": "b"}, "w": {"type": "integer", "default": 2}}, "required": ["k"]},
    ]  # fmt: skip
    tool = tool_of({"x": {"anyOf": branches}})
    assert arguments_of(tool, {"x": {"k": "b"}}, "json-schema") == {"x": {"k": "b", "w": 2}}
    alike = tool_of(
        {"x": {"anyOf": [{"type": "object", "properties": {"v": UNIT}}, {"type": "object"}]}}
    )
    assert arguments_of(alike, {"x": {}}, "json-schema") == {"x": {}}


@pytest.mark.parametrize(
    ("more", "given"),
    [
        ({"dependentRequired": {"a": ["b"]}}, {}),
        ({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"b": 5}),
        ({"maxProperties": 1}, {"b": 5}),
        ({"not": {"required": ["a"]}}, {}),
        ({"if": {"required": ["a"]}, "then": {"required": ["b"]}}, {}),
    ],
)
def test_what_would_be_invalid_is_not_filled_in(more: Any, given: Any) -> None:
    properties = {"a": {"type": "integer", "default": 1}, "b": {"type": "integer"}}
    tool = tool_of(properties, schema=more)
    [result] = Registry([tool]).dispatch(
        {"name": "t", "arguments": json.dumps(given)}, provider="json-schema"
    )
    assert result.arguments == given


def test_a_default_is_a_copy_at_each_call() -> None:
    seen: list[Any] = []

    def take(tags: list[str]) -> str:
        seen.append(list(tags))
        tags.append("changed")
        return "ran"

    tags = {"type": "array", "items": {"type": "string"}, "default": []}
    tool = tool_of({"tags": tags}, take)
    for _ in range(2):
        assert Registry([tool]).dispatch({"name": "t", "arguments": "{}"})[0].ok
    assert seen == [[], []]


def test_much_is_not_filled_in() -> None:
    """20,000 places for a default of 1 kB would make 20 MB out of 60 kB."""
    item = {"type": "object", "properties": {"t": {"type": "string", "default": "x" * 1_000}}}
    tool = tool_of({"l": {"type": "array", "items": item}})
    assert arguments_of(tool, {"l": [{}] * 20_000}, "json-schema") == {"l": [{}] * 20_000}
    assert arguments_of(tool, {"l": [{}]}, "json-schema") == {"l": [{"t": "x" * 1_000}]}


def test_a_relay_gets_what_the_model_wrote() -> None:
    assert arguments_of(tool_of({"unit": UNIT}, defaults="leave"), {}) == {}
    entry = {"name": "t", "inputSchema": {"type": "object", "properties": {"unit": UNIT}}}
    fill: Any = {"defaults": "fill"}
    for options, expected in (({}, {}), (fill, {"unit": "celsius"})):
        tools = Registry([Tool.from_definition(entry, approve=True, **options)])
        plan = tools.plan({"name": "t", "arguments": "{}"}, provider="json-schema")
        [pending] = plan.pending
        assert pending.arguments == expected


def test_two_defaults_are_a_finding_and_the_definitions_wins() -> None:
    def take(n: int = 3) -> str:
        return str(n)

    tool = tool_of({"n": {"type": "integer", "default": 10}}, take)
    assert Registry([tool]).dispatch({"name": "t", "arguments": "{}"})[0].text == "10"
    assert [finding.rule for finding in tool.findings] == ["two_defaults"]
    same = tool_of({"n": {"type": "integer", "default": 3}}, take)
    assert not same.findings


def test_refused_defaults_are_one_finding() -> None:
    logging.disable(logging.CRITICAL)
    tool = tool_of({f"n{i}": {"type": "integer", "default": "none"} for i in range(9)})
    logging.disable(logging.NOTSET)
    [finding] = [finding for finding in tool.findings if finding.rule == "refused_default"]
    assert "n0: 'none'" in finding.message
    assert finding.message.endswith("and 4 more")


def test_a_ledger_keeps_what_the_model_wrote(tmp_path: Path) -> None:
    """A call is the same call when a default has changed in the meantime."""
    call = {"name": "t", "id": "c1", "arguments": "{}"}
    with Ledger(tmp_path / "calls.db") as ledger:
        first = Registry([tool_of({"unit": UNIT}, effects=["write"])])
        [result] = first.dispatch(call, ledger=ledger, scope="s")
        assert result.arguments == {"unit": "celsius"}
        changed = tool_of({"unit": {**UNIT, "default": "kelvin"}}, effects=["write"])
        [again] = Registry([changed]).dispatch(call, ledger=ledger, scope="s")
        assert again.replayed
        assert json.loads(again.text) == {"unit": "celsius"}


LEAVES = st.sampled_from(
    [{"type": "integer", "default": 1}, {"type": "integer"}, UNIT, {"type": "string", "default": 5}, {"default": {}}]
)  # fmt: skip
NODES = st.recursive(
    LEAVES,
    lambda inner: st.fixed_dictionaries(
        {"type": st.just("object"), "properties": st.dictionaries(st.sampled_from("abc"), inner)},
        optional={
            "required": st.lists(st.sampled_from("abc"), max_size=1),
            "maxProperties": st.integers(0, 2),
            "default": st.just({}),
            "anyOf": st.lists(inner, min_size=1, max_size=2),
        },
    ),
    max_leaves=8,
)
OBJECTS = st.recursive(
    st.integers() | st.sampled_from(["celsius", "x"]),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=2),
    max_leaves=6,
)


@hypothesis.given(NODES, OBJECTS)
def test_filled_arguments_are_valid_or_nothing_was_filled_in(schema: Any, value: Any) -> None:
    """And what the model wrote is still there, and filling again changes nothing more."""
    judge = Draft202012Validator(schema)
    defaults = defaults_of(schema, searches_for(schema))
    if defaults is None or not judge.is_valid(value):
        return
    fill = compile_fill(defaults)
    before = json.dumps(value)
    filled = fill(value)
    assert judge.is_valid(filled)
    assert json.dumps(value) == before
    if isinstance(value, dict):
        assert set(value) <= set(filled)
