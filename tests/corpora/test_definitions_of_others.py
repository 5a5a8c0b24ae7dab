"""Definitions of others: each of the corpus at every provider, and every gold call dispatched to its function."""

import collections
import json
import os
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from shared import corpus
from test_sdk_types import TOOLS

from toolshape import DefinitionError, ExportError, Registry, Tool
from toolshape._families import get
from toolshape._families.names import available
from toolshape._families.wire.provider import Provider
from toolshape._tools.export import to_wire
from toolshape.testing import LawBrokenError
from toolshape.testing._laws import check_shape, in_2020_12

# A part of the rows, unless all are asked for (nox -s lanes-3.11).
STEP = 1 if os.environ.get("TOOLSHAPE_EVERY") else 40
# What cannot be read for sure: a type that is no type of anything.
UNREADABLE = {"td_7ee3788a1766": "'Date (yyyy-mm-dd)' is no type"}


def entry(row: dict[str, Any]) -> dict[str, Any]:
    """The definition as its dialect writes it; a row holds its parts."""
    said = {"name": row["name"], "description": row["description"]}
    schema = row["schema"]
    match row["dialect"]:
        case "openai" | "cohere-v2":
            return {"type": "function", "function": {**said, "parameters": schema}}
        case "openai-responses" | "gemini-interactions":
            return {"type": "function", **said, "parameters": schema}
        case "anthropic":
            return {**said, "input_schema": schema}
        case "bedrock":
            return {"toolSpec": {**said, "inputSchema": {"json": schema}}}
        case "mcp":
            extra = row.get("extra") or {}
            kept = {
                key: extra[key]
                for key in ("outputSchema", "annotations")
                if extra.get(key) is not None
            }
            return {**said, "inputSchema": schema, **kept}
        case "gemini-jsonschema":
            return {**said, "parametersJsonSchema": schema}
        case "docker-registry" | "nestful":
            return {**said, **schema}
        case "acebench-arguments":
            return {**said, "arguments": schema}
    return {**said, "parameters": schema}


def tools(step: int = STEP) -> list[tuple[dict[str, Any], Tool[..., Any]]]:
    made = []
    for row in corpus("tool_definitions.jsonl")[::step]:
        try:
            made.append((row, Tool.from_definition(entry(row))))
        except DefinitionError as error:
            assert UNREADABLE[row["id"]] in str(error)
    return made


@pytest.fixture(scope="module")
def read() -> list[tuple[dict[str, Any], Tool[..., Any]]]:
    return tools()


def test_every_definition_is_read(read):
    """But for those that nobody could read."""
    rows = corpus("tool_definitions.jsonl")[::STEP]
    assert len(read) == len(rows) - sum(row["id"] in UNREADABLE for row in rows)
    for _, tool in read:
        Draft202012Validator.check_schema(tool.input_schema)


def distinct() -> list[str]:
    """Providers that differ in what they are shown or refuse; vendors that are shown the same count once."""
    seen: dict[Any, str] = {}
    for name in available():
        provider = get(name)
        checks = tuple(
            refuse.check for refuse in (*provider.schema.refuses, *provider.schema.refuses_strict)
        )
        seen.setdefault(
            (
                provider.schema.lenient,
                provider.schema.strict,
                checks,
                provider.request.longest_description,
            ),
            name,
        )
    return list(seen.values())


@pytest.mark.parametrize("name", distinct())
def test_every_definition_is_shown_or_refused_with_a_reason(read, name):
    """Obedient in both forms; refused are fewer than one in 200, each with path and rule."""
    provider = get(name)
    forms = (False,) if provider.schema.strict is None else (False, True)
    for strict in forms:
        counts: collections.Counter[str] = collections.Counter()
        refused: dict[str, str] = {}
        for index, (row, tool) in enumerate(read):
            counts[row["dialect"]] += 1
            try:
                shown = to_wire(provider, tool.spec, strict)
            except ExportError as error:
                assert all(problem.rule and str(problem) for problem in error.problems)
                refused[row["id"]] = str(error)
            else:
                check_obedient(provider, shown, deeply=index % 20 == 0)
        print(name, "strict" if strict else "lenient", dict(counts), "refused:", refused)
        assert len(refused) <= max(len(read) / 200, 3), refused


def check_obedient(provider: Provider, shown: Any, *, deeply: bool) -> None:
    if deeply:
        Draft202012Validator.check_schema(in_2020_12(shown.lens.schema))
    if deeply and provider.name in TOOLS:  # the types of the provider's own SDK
        for payload in provider.request.gather([shown.payload]):
            TOOLS[provider.name](payload)
    assert json.loads(json.dumps(shown.payload)) == shown.payload
    assert "x-toolshape" not in json.dumps(shown.payload)


# Gold calls that are invalid as published, and that a rule coerces all the same.
MENDED = {
    "gc_2d56e16420f5": [("genre", "enum_case")],
    "gc_881b1b58f567": [("start_date", "null_as_default")],
}


def test_gold_calls_reach_their_function():
    """Unchanged where they are valid; refused at a place, or coerced by a named rule, where they are not."""
    rows = {row["id"]: row for row in corpus("tool_definitions.jsonl")}
    got: list[Any] = []
    made: dict[str, Tool[..., Any]] = {}
    counts: collections.Counter[str] = collections.Counter()
    for gold in corpus("gold_calls.jsonl"):
        for call in gold["calls"]:
            named = (item for item in gold["tool_ids"] or () if rows[item]["name"] == call["name"])
            tool_id = call.get("tool_id") or next(named, None)
            if tool_id is None:  # multi-turn sets whose tools are not in the corpus
                counts["without a definition"] += 1
                continue
            if tool_id not in made:
                made[tool_id] = Tool.from_definition(
                    entry(rows[tool_id]),
                    lambda **arguments: got.append(arguments),
                    defaults="leave",
                )
            got.clear()
            body = {"name": made[tool_id].name, "arguments": json.dumps(call["arguments"])}
            [result] = Registry([made[tool_id]]).dispatch(body, provider="json-schema")
            mends = [(mend.path, mend.rule) for mend in result.coercions]
            if call["valid_as_jsonschema"]:
                assert got == [call["arguments"]], gold["id"]
                assert not mends
                counts["valid, unchanged"] += 1
            elif result.ok:
                assert mends == MENDED[gold["id"]]
                counts["invalid, coerced by rule"] += 1
            else:
                assert result.error.code == "invalid_arguments"
                assert all(problem.path for problem in result.error.problems)
                counts["invalid, refused at a place"] += 1
    print(dict(counts))
    assert counts["valid, unchanged"] > 2600
    assert counts["invalid, refused at a place"] + counts["invalid, coerced by rule"] >= 26


def test_gold_calls_go_there_and_back():
    """What a right model means can be said to every provider in its form, and is mapped back to the same."""
    rows = {row["id"]: row for row in corpus("tool_definitions.jsonl")}
    names = [
        name
        for name in distinct()
        if get(name).schema.strict is not None or get(name).schema.lenient
    ]
    checked = 0
    for gold in corpus("gold_calls.jsonl")[::STEP]:
        for call in gold["calls"]:
            if not call.get("tool_id") or not call["valid_as_jsonschema"]:
                continue
            spec = Tool.from_definition(entry(rows[call["tool_id"]])).spec
            for name in names:
                strict = get(name).schema.strict is not None
                try:
                    lens = to_wire(get(name), spec, strict).lens
                except ExportError:  # counted above
                    continue
                said = call["arguments"] if lens.out is None else lens.out(call["arguments"])
                extras = [loss for loss in lens.losses if loss.kind == "narrowed"]
                broken = {
                    error.validator
                    for error in Draft202012Validator(in_2020_12(lens.schema)).iter_errors(said)
                }
                # Fields that nobody named are lost where objects are closed, which the report says.
                assert not broken or (extras and broken <= {"additionalProperties", "anyOf"}), (
                    gold["id"],
                    name,
                )
                canonical = said if lens.back is None else lens.back(said)
                if not any(
                    loss.keyword == "required" for loss in extras
                ):  # a default that had to be said
                    assert canonical == call["arguments"], (gold["id"], name)
                    checked += 1
    assert checked > 200


LAWFUL = [name for name in distinct() if ":" not in name]


@pytest.mark.parametrize("name", LAWFUL)
def test_the_laws_hold_for_definitions_of_others(name):
    """A sample of the corpus, lenient and strict."""
    provider = get(name)
    broken = []
    checked = 0
    for row, tool in tools(step=100 + 10 * STEP):
        for strict in (False,) if provider.schema.strict is None else (False, True):
            try:
                shown = to_wire(provider, tool.spec, strict)
            except ExportError:
                continue
            checked += 1
            try:
                check_shape(tool, shown, shown, examples=3)
            except LawBrokenError as error:
                broken.append((row["id"], strict, str(error)[:600]))
    assert not broken
    assert checked > 5
