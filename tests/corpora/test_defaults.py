"""Defaults of definitions: what a function gets is what ajv fills in, for every definition of the corpus.

ajv is the judge (``useDefaults``). The corpus's schemas are given to it without the defaults that toolshape leaves out
on purpose, found by jsonschema: those that their own schema refuses, and those of secrets. ajv also fills in again
what it filled in, which is undone here, and fills nothing in inside of a union: those rows are counted and left out.
"""

import json
import logging
import os
import shutil
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from shared import corpus
from test_definitions_of_others import entry

from toolshape import DefinitionError, ExportError, Registry, Tool

sys.path.insert(0, str(Path(__file__).parent.parent / "oracles"))
from drawn_values import NoValueError, Values

AJV = os.environ.get("TOOLSHAPE_AJV", "")
pytestmark = pytest.mark.skipif(
    not AJV or shutil.which("node") is None, reason="nox -s defaults installs ajv"
)
PROVIDERS = [
    "openai", "openai-responses", "anthropic", "gemini", "gemini-openapi", "bedrock", "cohere", "mistral", "ollama", "huggingface", "mcp",
    "json-schema", "xai", "deepseek", "moonshot", "text:hermes",
]  # fmt: skip
ASK = r"""
const Ajv = require(process.argv[1] + "/node_modules/ajv/dist/2020").default;
const rows = JSON.parse(require("fs").readFileSync(0, "utf8"));
console.log(JSON.stringify(rows.map(([schema, value]) => {
  const ajv = new Ajv({useDefaults: true, strict: false, validateFormats: false, logger: false, allowUnionTypes: true});
  try { return [ajv.compile(schema)(value), value]; } catch (error) { return [null, String(error)]; }
})));
"""
VALUES = 3  # of one definition


def without_unusable(node: Any, root: Any) -> Any:
    """Return a schema without the defaults that are left out on purpose."""
    if isinstance(node, list):
        return [without_unusable(inner, root) for inner in node]
    if not isinstance(node, dict):
        return node
    made = dict(node)
    for keyword in ("properties", "patternProperties", "$defs"):
        if keyword in node:
            made[keyword] = {
                name: without_unusable(inner, root) for name, inner in node[keyword].items()
            }
    for keyword in ("items", "additionalProperties", "allOf", "prefixItems"):
        if keyword in node:
            made[keyword] = without_unusable(node[keyword], root)
    if "default" in node:
        judge = Draft202012Validator({**node, "$defs": root.get("$defs", {})})
        is_secret = node.get("writeOnly") is True or node.get("format") == "password"
        if is_secret or not judge.is_valid(node["default"]):
            del made["default"]
    return made


def filled_once(node: Any, value: Any, expected: Any) -> Any:
    """Return what ajv filled in, without what it then filled in inside of a default."""
    if isinstance(value, list) and isinstance(expected, list):
        items = node.get("items", {}) if isinstance(node, dict) else {}
        return [filled_once(items, *pair) for pair in zip(value, expected, strict=True)]
    if not isinstance(value, dict) or not isinstance(expected, dict):
        return expected
    properties = node.get("properties", {}) if isinstance(node, dict) else {}
    return {
        name: filled_once(properties.get(name), value[name], inner)
        if name in value
        else properties.get(name, {}).get("default", inner)
        for name, inner in expected.items()
    }


def holds(node: Any, *keywords: str) -> bool:
    text = json.dumps(node)
    return any(f'"{keyword}"' in text for keyword in keywords)


def cases() -> list[tuple[Tool[..., Any], dict[str, Any]]]:
    random, made = Random(7), []
    for row in corpus("tool_definitions.jsonl"):
        try:
            tool = Tool.from_definition(entry(row), lambda **given: json.dumps(given))
        except DefinitionError:
            continue
        schema = tool.input_schema
        if "default" not in json.dumps(schema):
            continue
        judge = Draft202012Validator(schema)
        for _ in range(VALUES):
            try:
                value = Values(random, schema).value()
            except NoValueError:
                continue
            required = schema.get("required", ())
            value = {k: v for k, v in value.items() if k in required or random.random() < 0.4}
            is_exact = "9007199254740993" not in json.dumps(value)  # JavaScript rounds it
            if is_exact and judge.is_valid(value):
                made.append((tool, value))
    return made


def test_a_function_gets_what_ajv_fills_in() -> None:
    logging.disable(logging.CRITICAL)
    asked = cases()
    rows = [
        [without_unusable(tool.input_schema, tool.input_schema), value] for tool, value in asked
    ]
    answers = json.loads(
        subprocess.run(
            ["node", "-e", ASK, AJV],
            input=json.dumps(rows).encode(),
            capture_output=True,
            check=True,
        ).stdout
    )
    wrong: list[Any] = []
    judged = filled = skipped = 0
    for number, ((tool, value), answer) in enumerate(zip(asked, answers, strict=True)):
        is_valid, expected = answer
        if is_valid is not True:  # the filled value is invalid: toolshape leaves the value as it is
            expected = value
            skipped += is_valid is None
        elif holds(tool.input_schema, "anyOf", "oneOf"):
            skipped += 1
            continue
        else:
            expected = filled_once(tool.input_schema, value, expected)
        provider = PROVIDERS[number % len(PROVIDERS)]
        try:
            bound = Registry([tool]).bind(provider)
            messages = bound.calls_as_messages([(tool.name, value)])
        except ExportError:
            continue
        [result] = bound.dispatch(messages[-1])
        judged += 1
        filled += expected != value
        if result.coercions:
            continue  # the drawn value is one that a rule reads otherwise, such as "null" for a text
        if result.arguments != expected:
            wrong.append([provider, tool.name, value, expected, result.arguments])
    print(f"{judged} values judged, {filled} with defaults filled in, {skipped} left out")
    logging.disable(logging.NOTSET)
    assert not wrong, (len(wrong), wrong[:5])
    assert filled >= 1_000
    assert skipped <= judged / 5


def test_what_a_relay_gets_is_what_the_model_wrote() -> None:
    """A tool without a function sends the call on: nothing is filled in."""
    for tool, value in cases()[::10]:
        relay = Tool.from_definition(
            {"name": "t", "inputSchema": tool.input_schema},
            lambda **given: json.dumps(given),
            defaults="leave",
        )
        [result] = Registry([relay]).dispatch(
            {"name": "t", "arguments": json.dumps(value)}, provider="json-schema"
        )
        assert result.coercions or json.loads(result.text) == value
