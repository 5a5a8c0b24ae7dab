"""Patterns of definitions: ECMA-262's meaning, and no text that takes an engine long."""

import json
import time
from typing import Any

import pytest

from toolshape import Registry, Tool
from toolshape._validation.pattern_search import compile_search


def dispatch(schema: Any, value: Any) -> Any:
    entry = {
        "name": "t",
        "description": "T.",
        "inputSchema": {"type": "object", "properties": {"x": schema}},
    }
    tool = Tool.from_definition(entry, lambda **_: "ran")
    call = {"name": "t", "arguments": json.dumps({"x": value})}
    return tool, Registry([tool]).dispatch(call, provider="json-schema")


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        (r"^\d{4}$", ["2024"], ["٢٠٢٤", "2024\n"]),
        (r"^\w+$", ["ab_1"], ["école"]),
        (r"^\W$", ["é"], ["a"]),
        (r"\bfoo\b", ["éfoo", "a foo"], ["afoo"]),
        (r"^a.b$", ["a-b", "a😀b"], ["a\nb", "a\rb", "a\u2028b"]),
        (r"^\s$", ["\ufeff", "\u00a0", "\v"], ["\u180e", "a"]),
        (r"^[\S]$", ["a"], ["\u00a0"]),
        (r"^\cJ$", ["\n"], ["J"]),
        (r"^[a&&b]$", ["&"], ["c"]),
        (r"^a{,2}$", ["a{,2}"], ["aa"]),
        (r"^\/\-$", ["/-"], [r"\/-"]),
        (r"^\u{1F600}$", ["😀"], ["a"]),
        (r"^(?<year>\d+)$", ["1"], ["a"]),
        (r"^\p{Lu}+$", ["ÉA"], ["é"]),
        ("^(?=.*[0-9])(?!.*x)[a-z0-9]+$", ["a1"], ["a", "a1x", "A1"]),
        (r"(?<=a)b", ["ab"], ["b"]),
        (r"^(a|b)\1$", ["aa", "bb"], ["ab"]),
        ("[^]", ["\n"], [""]),
        ("[]", [], ["", "a"]),
        (r"^[^\D5]$", ["4"], ["5", "a"]),
    ],
)
def test_what_a_pattern_means(pattern: str, matching: list[str], others: list[str]) -> None:
    """Node's answers to the same, which the lane of drawn patterns asks again."""
    search = compile_search(pattern)
    assert search.note == ""
    assert [text for text in (*matching, *others) if search.matches(text)] == matching


@pytest.mark.parametrize(
    ("pattern", "text", "said"),
    [
        ("(?:.*a.{0,200}){20}c", "ab" * 10_000, ""),
        ("(?=(a?){30}a{30}$)", "a" * 28 + "!", "only in texts of at most"),
        ("(?i)(?=a)(?:a?){30}a{30}", "a" * 29 + "!", "as Python reads it"),
        (r"^(([a-z])+.)+(?<!x)[A-Z]([a-z])+$", "a" * 60, "only in texts of at most"),
        ("(?:a{1000}){1000}", "a" * 50, "states"),
        (r"(?=a)(a|a)*b\1", "a" * 60, "only in texts of at most"),
    ],
)
@pytest.mark.parametrize("place", ["pattern", "patternProperties", "propertyNames", "unevaluated"])
def test_no_pattern_takes_long(pattern: str, text: str, said: str, place: str) -> None:
    """It is not enforced where that is not certain, and a finding or a warning of the response says so."""
    value: Any = {text: 1}
    schema: Any = {"type": "object", "patternProperties": {pattern: {"type": "integer"}}}
    if place == "pattern":
        value, schema = text, {"type": "string", "pattern": pattern}
    elif place == "propertyNames":
        schema = {"type": "object", "propertyNames": {"pattern": pattern}}
    elif place == "unevaluated":
        schema["unevaluatedProperties"] = False
    began = time.process_time()
    tool, results = dispatch(schema, value)
    assert results[0].ok
    assert time.process_time() - began < 4
    told = [finding.message for finding in tool.findings if finding.rule == "unchecked"]
    warned = [found for found in results.warnings if found.rule == "pattern_not_checked"]
    assert any(said in message for message in told) if said else True
    assert told or warned
    for warning in warned:
        assert warning.message.startswith("t: ")


def test_a_warning_names_tool_path_and_rule() -> None:
    schema = {"type": "string", "pattern": "(?:.*a.{0,200}){20}c"}
    _, results = dispatch(schema, "ab" * 10_000)
    [warning] = results.warnings
    assert warning.rule == "pattern_not_checked"
    assert warning.message.startswith("t: x: too long to be matched against '(?:.*a")
    _, results = dispatch(schema, "b")
    assert not results[0].ok
    assert not results.warnings


def test_a_length_is_asked_before_an_engine() -> None:
    """A pattern that describes the whole text bounds its length; so does a maxLength."""
    began = time.process_time()
    _, results = dispatch({"type": "string", "pattern": r"^[\s\S]{1,2048}$"}, "a" * 1_000_000)
    assert not results[0].ok
    _, results = dispatch({"type": "string", "pattern": r"^[\s\S]{1,2048}$"}, "a" * 2_048)
    assert results[0].ok
    assert not results.warnings
    tool, _ = dispatch({"type": "string", "pattern": "(?<=a)b+", "maxLength": 20}, "ab")
    assert not [finding for finding in tool.findings if finding.rule == "unchecked"]
    assert time.process_time() - began < 4


@pytest.mark.parametrize("around", ["not", "if"])
def test_what_is_not_checked_is_never_the_reason_of_a_refusal(around: str) -> None:
    """Under a ``not``, a match would be an error: a value is invalid only if it is so either way."""
    inner = {"pattern": "(?:.*a.{0,200}){20}c"}
    schema = {"type": "string", "not": inner}
    if around == "if":
        schema = {"type": "string", "if": inner, "then": {"maxLength": 1}, "else": {"minLength": 1}}
    _, results = dispatch(schema, "ab" * 10_000)
    assert results[0].ok


def test_patterns_are_compiled_once_for_a_tool() -> None:
    """Hundreds of patterns cost their compilation once, however many calls follow."""
    properties = {f"k{n}": {"type": "string", "pattern": rf"\w{{1,{300 + n}}}"} for n in range(300)}
    entry = {
        "name": "t",
        "description": "T.",
        "inputSchema": {"type": "object", "properties": properties},
    }
    tools = Registry([Tool.from_definition(entry, lambda **_: "ran")])
    call = {"name": "t", "arguments": json.dumps(dict.fromkeys(properties, "a"))}
    assert tools.dispatch(call, provider="json-schema")[0].ok
    began = time.process_time()
    assert tools.dispatch(call, provider="json-schema")[0].ok
    assert time.process_time() - began < 1


def test_numbers_are_equal_by_value() -> None:
    """JSON Schema 2020-12, 4.2.2: an integer for a choice that is written as a float is that choice, as it is."""
    schema = {"type": "number", "enum": [0.5, 1.0]}
    _, results = dispatch(schema, 1)
    assert results[0].ok
    assert not results[0].coercions
    _, results = dispatch({"enum": [1, 2]}, 1.0)
    assert results[0].ok
    assert [coercion.after for coercion in results[0].coercions] == [1]
    _, results = dispatch({"const": {"a": [1.0]}}, {"a": [1]})
    assert results[0].ok
    _, results = dispatch(schema, True)
    assert not results[0].ok


def test_keys_are_never_matched_for_long() -> None:
    """By itself jsonschema matches keys with Python's engine to see what is evaluated: 40 billion steps for this one."""
    part = {"patternProperties": {"a*b$": {"type": "integer"}}, "if": {"minProperties": 9}}
    schema = {"type": "object", "allOf": [part], "unevaluatedProperties": False}
    began = time.process_time()
    _, results = dispatch(schema, {"a" * 200_000: 1})
    assert results[0].ok
    assert [warning.rule for warning in results.warnings] == ["pattern_not_checked"]
    assert time.process_time() - began < 4
    _, results = dispatch(schema, {"aab": 1})
    assert results[0].ok
    assert not results.warnings
    _, results = dispatch(schema, {"c": 1})
    assert not results[0].ok


def test_a_pattern_of_keys_in_another_part() -> None:
    """It is one of those that Python's engine would be asked, wherever it stands."""
    part = {
        "patternProperties": {"(?=(a?){30}a{30}$)": {"type": "integer"}},
        "if": {"minProperties": 9},
    }
    schema = {"type": "object", "allOf": [part], "unevaluatedProperties": False}
    began = time.process_time()
    tool, results = dispatch(schema, {"a" * 29: 1})
    assert results[0].ok
    assert time.process_time() - began < 4
    assert any("unevaluatedProperties" in finding.message for finding in tool.findings)
