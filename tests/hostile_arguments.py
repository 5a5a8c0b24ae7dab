"""Hostile arguments, each answered by itself; run by tests/limits/test_hostile_arguments.py in a process with bounds of its own."""

import json
import sys
import time
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field
from zoo import Colour, Json, Line, Order, Tree

from toolshape import Registry, Tool, tool
from toolshape._validation.coercion import RULES

SECONDS, MEGABYTES = 10, 1_500
"""What one of them may take, on a slow machine: most take a hundredth."""
MANY = 2_000
KEYS = 50_000
DEEP = 200


class Fork(BaseModel):
    """A union of models that refer to themselves: each level doubles what may be tried."""

    left: "Fork | Knife | None" = None


class Knife(BaseModel):
    left: "Fork | Knife | None" = None
    edge: int = 0


@tool
def decorated(
    a: int = 0,
    b: str = "",
    c: list[int] = [],
    d: dict[str, Any] | None = None,
    e: Annotated[str, Field(pattern="^(a+)+$")] = "a",
    f: Order | None = None,
    g: Tree | None = None,
    h: Json = None,
    i: Fork | Knife | None = None,
    j: list[int | list[str]] = [],
    k: Literal["x", "y"] | Colour = "x",
    l: dict[str, Line] = {},
    m: Any = None,
    n: set[str] = set(),
) -> str:
    return "taken"


def nested(inside: str, depth: int) -> str:
    return "[" * depth + inside + "]" * depth


def linked(field: str, depth: int, last: str = "null") -> str:
    return f'{{"{field}": ' * depth + last + "}" * depth


def cases() -> dict[str, Any]:
    long = "x" * 10_000_000
    cases: dict[str, Any] = {
        "200 lists": f'{{"m": {nested("1", DEEP)}}}',
        "200 lists as an object": {"m": json.loads(nested("1", DEEP))},
        "100,000 lists": "[" * 100_000,
        "100,000 lists in a text": json.dumps({"c": "[" * 100_000}),
        "200 trees": f'{{"g": {linked("children", DEEP)}}}',
        "190 trees with a slip": '{"g": ' + '{"name": "a", "children": [' * 90 + '{"name": 5}' + "]}" * 90 + "}",
        "60 forks with a slip": f'{{"i": {linked("left", 60, """{"edge": "x"}""")}}}',
        "60 forks to mend": f'{{"i": {linked("left", 60, """{"edge": "5"}""")}}}',
        "10 MB of text": json.dumps({"b": long, "k": long, "a": long, "zz": long}),
        "10 MB of text as an object": {"b": 5.5, "k": long, "c": long},
        "10 MB of a name": json.dumps({long: 1}),
        "10 MB of spaces": " " * 10_000_000,
        "10 MB of quotes": '"' * 10_000_000,
        "10 MB that end": json.dumps({"b": long})[:-2],
        "1e6 digits": '{"a": ' + "1" * 1_000_000 + "}",
        "1e6 digits in a text": json.dumps({"a": "1" * 1_000_000}),
        "1e6 digits as an object": {"a": 10**100_000},
        "1e999": '{"a": 1e999, "m": 1e999}',
        "NaN": '{"a": NaN, "m": [NaN], "d": {"x": -Infinity}}',
        "a key 50,000 times": "{" + ", ".join(['"a": 1'] * KEYS) + "}",
        "50,000 keys": json.dumps({f"k{number}": number for number in range(KEYS)}),
        "many keys of a map": json.dumps({"l": {f"k{number}": number for number in range(MANY)}}),
        "many wrong items": json.dumps({"c": ["x"] * MANY}),
        "many items to mend": json.dumps({"c": ["5"] * MANY}),
        "many unions": json.dumps({"j": [{"x": 1}] * MANY}),
        "many unions to mend": json.dumps({"j": ["5"] * MANY}),
        "many mixed items": json.dumps({"n": [[1], {"a": 1}, 1, "a", None] * (MANY // 5)}),
        "half a pair": {"b": "\ud800", "\udfff": 1},
        "half a pair in a text": '{"b": "\\ud800"}',
        "a name of Python": {"__proto__": {"a": 1}, "__class__": 1, "__init__": 2, "constructor": 3},
        "bait for a regular expression": json.dumps({"e": "a" * 50_000 + "!"}),
        "bait in a key": json.dumps({"o": {"a" * 50 + "!": 1}}),
        "text in text in text": json.dumps({"c": json.dumps(json.dumps(json.dumps([1])))}),
        "no object": [1, 2],
        "quotes to repair": "{'a': \"" + '\\"' * 14_000,
        "comments to repair": "{'a': " + "/*" * 14_000,
        "braces to repair": "{a:" * 9_000,
        "spaces to repair": "```" + " \n" * 14_000 + "{a:1",
    }  # fmt: skip
    loop: dict[str, Any] = {}
    loop["m"] = loop
    cases["an object in itself"] = loop
    return cases


def tools() -> list[Tool[..., Any]]:
    schema = {**decorated.input_schema}
    patterns = {
        "type": "object",
        "patternProperties": {"^(a+)+$": {"type": "integer"}},
        "additionalProperties": False,
    }
    schema["properties"] = {**schema["properties"], "o": patterns}
    return [
        decorated,
        Tool.from_definition({"name": "defined", "parameters": schema}, lambda **_: "taken"),
    ]


def main() -> None:
    by_rules = {
        "decorated": Registry(tools()),
        "defined": Registry(tools(), coerce=dict.fromkeys(RULES, True), feedback="json"),
    }
    for name, arguments in cases().items():
        for made, registry in by_rules.items():
            bound = registry.bind("json-schema")
            started = time.perf_counter()
            [result] = bound.dispatch({"name": made, "arguments": arguments})
            text = result.text if result.error else ""
            print(
                json.dumps(
                    [
                        name,
                        made,
                        time.perf_counter() - started,
                        result.error and result.error.code,
                        len(text),
                    ]
                )
            )
            text.encode()


if __name__ == "__main__":
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (MEGABYTES * 2**20, MEGABYTES * 2**20))
    sys.exit(main())
