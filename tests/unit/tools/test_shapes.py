"""A tool is compiled once for each provider, and a walk that only looks meets the nodes that a rewriting walk meets."""

import gc
import weakref
from dataclasses import replace
from typing import Any

import pytest
from pydantic import BaseModel
from zoo import CASES

from toolshape import Registry, Tool, tool
from toolshape._bound.bound import bound_tools_of
from toolshape._records.calls import JsonSchema
from toolshape._schema.lens import Change, Place
from toolshape._schema.walk import everywhere, nodes_of
from toolshape._tools.tool import record_of
from toolshape.provider import get


class Address(BaseModel):
    street: str
    zip_code: str = "1000"


def ship(order_id: str, to: Address, note: str | None = None) -> str:
    """Ship an order."""
    return f"{order_id} to {to.street}{note or ''}"


def shapes_of(tools: list[Tool[..., Any]], provider: Any = "openai", **options: Any) -> Any:
    return bound_tools_of(Registry(tools, **options).bind(provider)).shapes


def test_a_second_registry_compiles_nothing_again():
    """One for each user costs lookups; what its calls are validated by is shared, too."""
    made = tool(ship)
    first, second = shapes_of([made])["ship"], shapes_of([made])["ship"]
    assert second is first
    assert first.validation(first.settings) is second.validation(second.settings)


@pytest.mark.parametrize("options", [{"strict": False}, {"coerce": False}, {"feedback": "json"}])
def test_other_settings_are_another_shape(options):
    """The settings of one registry are not those of another."""
    made = tool(ship)
    assert shapes_of([made], **options)["ship"].settings != shapes_of([made])["ship"].settings


def test_other_options_are_another_record():
    """A copy of a tool under another name is compiled by itself."""
    made = tool(ship)
    assert shapes_of([made])["ship"].wire_name == "ship"
    [renamed] = shapes_of(list(Registry([made]).renamed({"ship": "send"}))).values()
    assert renamed.wire_name == "send"


def test_a_method_of_each_object_is_its_own():
    """The shape of one object's method calls that object."""

    class Shop:
        def __init__(self, name: str) -> None:
            self.name = name

        @tool
        def hello(self) -> str:
            """Say hello."""
            return self.name

    said = [
        Registry([Shop(name).hello]).dispatch({"name": "hello", "arguments": "{}"})[0].value
        for name in "ab"
    ]
    assert said == ["a", "b"]


def test_what_was_compiled_goes_with_the_tool_and_with_the_provider():
    """Neither keeps the other, so that tools and providers that are made on the way do not pile up."""
    made, provider = tool(ship), replace(get("openai"), name="openai-of-ours")
    shapes_of([made], provider)
    shapes_of([made])
    gone = weakref.ref(provider)
    del provider
    gc.collect()
    assert gone() is None
    record = weakref.ref(record_of(made))
    del made
    gc.collect()
    assert record() is None


def seen_by_a_rewriting_walk(schema: JsonSchema, *, constraints: bool) -> list[Any]:
    seen: list[Any] = []

    def look(node: JsonSchema, at: Place) -> Change | None:
        seen.append((node, at.path, at.keyword, at.depth))
        return None

    everywhere(look, constraints=constraints)(schema)
    return seen


ODD: list[JsonSchema] = [
    {"type": "object", "properties": {"a": {"$ref": "#/$defs/A", "description": "beside"}}, "$defs": {"A": {"items": {}}, "B": {}}},
    {"$ref": "#/$defs/A", "$defs": {"A": {"anyOf": [{"$ref": "#/$defs/A"}, {"prefixItems": [{}, True], "items": {"not": {}}}]}}},
    {"properties": True, "anyOf": {}, "patternProperties": {"^a": {"const": 1}}, "dependentSchemas": {"x": {"if": {}}}},
    {"additionalProperties": {"propertyNames": {"pattern": "x"}}, "allOf": [{}, False, {"oneOf": [{"items": False}]}]},
]  # fmt: skip


@pytest.mark.parametrize("constraints", [False, True])
def test_looking_meets_what_rewriting_meets(constraints):
    """In the same order, at the same places; ``compose`` skips a pass by what looking meets."""
    for schema in [*(tool(case.function).spec.parameters for case in CASES.values()), *ODD]:
        found = [
            (node, at.path, at.keyword, at.depth)
            for node, at in nodes_of(schema, constraints=constraints)
        ]
        assert found == seen_by_a_rewriting_walk(schema, constraints=constraints)


def test_programs_are_told_what_a_tool_returns():
    """OpenAI's ``output_schema``, where the author lets programs call the tool; the SDK's type is the judge elsewhere."""

    class Report(BaseModel):
        rows: int

    def count(name: str) -> Report:
        """Count the rows."""
        return Report(rows=len(name))

    def say(name: str) -> str:
        """Say it."""
        return name

    programs = {"openai-responses": {"allowed_callers": ["direct", "programmatic"]}}
    for function, options, is_sent in (
        (count, {"providers": programs}, True),
        (count, {}, False),
        (say, {"providers": programs}, False),  # a string is sent as it is, not as JSON
    ):
        made = tool(**options)(function)
        [entry] = Registry([made]).export("openai-responses")
        assert ("output_schema" in entry) is is_sent
        if is_sent:
            assert entry["output_schema"] == made.output_schema
        assert "output_schema" not in Registry([made]).export("openai")[0]["function"]
