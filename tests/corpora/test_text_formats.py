"""Gold calls of others, written in each text format, and read back."""

import collections
import json
from typing import Any

import pytest
from shared import corpus
from test_definitions_of_others import entry

from toolshape import Registry, Tool, UsageError, text
from toolshape._bound.bound import bound_tools_of

FORMATS = [text_format.name for text_format in text.formats()]


@pytest.fixture(scope="module")
def golds() -> list[tuple[list[Tool[..., Any]], list[Any]]]:
    """The tools and the calls of each row whose tools are known and whose calls are valid."""
    rows = {row["id"]: row for row in corpus("tool_definitions.jsonl")}
    found = []
    for gold in corpus("gold_calls.jsonl")[::10]:
        ids = {rows[item]["name"]: item for item in gold["tool_ids"] or ()}
        if gold["calls"] and all(
            call["name"] in ids and call["valid_as_jsonschema"] for call in gold["calls"]
        ):
            found.append(
                ([Tool.from_definition(entry(rows[item])) for item in ids.values()], gold["calls"])
            )
    return found


@pytest.mark.parametrize("name", FORMATS)
def test_gold_calls_are_written_and_read(name: str, golds: Any):
    """What is not refused is read back exactly, and little is refused: what reads as another type, or holds the marks."""
    outcomes: collections.Counter[str] = collections.Counter()
    for tools, calls in golds:
        bound = Registry(tools).bind(f"text:{name}")
        shapes = bound_tools_of(bound).shapes
        by_name = {shape.name: shape for shape in shapes.values()}
        schemas = {wire_name: shape.schema for wire_name, shape in shapes.items()}
        wire = []
        for call in calls:
            shape = by_name[call["name"]]
            wire.append(
                (shape.wire_name, shape.out(call["arguments"]) if shape.out else call["arguments"])
            )
        try:
            written = text.write(name, wire, schemas)
        except UsageError as error:
            outcomes["refused"] += 1
            assert "a mark of the format" in str(error) or "another type" in str(error), error
            continue
        read = bound.plan(written).results
        got = [(result.call.name, result.call.arguments) for result in read]
        assert json.dumps(got) == json.dumps([(call["name"], call["arguments"]) for call in calls])
        outcomes["read"] += 1
    assert outcomes["read"] > 150
    assert outcomes["refused"] <= outcomes["read"] // 50, outcomes
