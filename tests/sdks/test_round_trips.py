"""Types that constrained decoding does not support, sent and mapped back at each of the strictest providers."""

import enum
import json
from typing import Annotated, Any, Literal, Union

import llguidance
import pytest
from pydantic import BaseModel, Field
from zoo import CASES, Aliased, Cat, Dog, Level, Line, Point, Tree

from toolshape import Registry, tool
from toolshape._bound.bound import bound_tools_of
from toolshape._families import get
from toolshape._tools.export import to_wire

PROVIDERS = [
    ("openai", True),
    ("openai-responses", True),
    ("anthropic", True),
    ("gemini", True),
    ("gemini-openapi", True),
    ("bedrock", True),
    ("mcp", False),
]
EVERY = pytest.mark.parametrize(("provider", "strict"), PROVIDERS)

TYPES = {
    "dict[str, Model]": (
        dict[str, Line],
        {"a": {"sku": "x", "qty": 2}},
        {"a": Line(sku="x", qty=2)},
    ),
    "dict[int, list[str]]": (dict[int, list[str]], {"1": ["a"], "-2": []}, {1: ["a"], -2: []}),
    "tuple[int, str]": (tuple[int, str], [1, "a"], (1, "a")),
    "IntEnum": (Level, 2, Level.HIGH),
    "Any": (Any, {"a": [1, None, {"b": "c"}]}, {"a": [1, None, {"b": "c"}]}),
    "dict": (dict, {"a": [1]}, {"a": [1]}),
    "recursive model": (
        Tree,
        {"name": "a", "children": [{"name": "b", "children": []}]},
        Tree(name="a", children=[Tree(name="b")]),
    ),
    "discriminated union": (
        Annotated[Union[Cat, Dog], Field(discriminator="kind")],
        {"kind": "dog", "tricks": ["a"]},
        Dog(kind="dog", tricks=["a"]),
    ),
    "plain union": (Union[Line, Point], {"lat": 1.5}, Point(1.5)),
    "aliased field": (Aliased, {"_id": "a"}, Aliased(_id="a")),
}


def respond(provider: str, name: str, arguments: Any) -> Any:
    """The provider's own response that calls a tool."""
    text = json.dumps(arguments)
    return {
        "openai": {
            "choices": [
                {
                    "message": {
                        "tool_calls": [{"id": "c", "function": {"name": name, "arguments": text}}]
                    }
                }
            ]
        },
        "openai-responses": {
            "object": "response",
            "output": [{"type": "function_call", "call_id": "c", "name": name, "arguments": text}],
        },
        "anthropic": {
            "type": "message",
            "content": [{"type": "tool_use", "id": "c", "name": name, "input": arguments}],
        },
        "gemini": {
            "candidates": [
                {"content": {"parts": [{"functionCall": {"name": name, "args": arguments}}]}}
            ]
        },
        "gemini-openapi": {
            "candidates": [
                {"content": {"parts": [{"functionCall": {"name": name, "args": arguments}}]}}
            ]
        },
        "bedrock": {
            "output": {
                "message": {
                    "content": [{"toolUse": {"toolUseId": "c", "name": name, "input": arguments}}]
                }
            }
        },
        "mcp": {"method": "tools/call", "id": 1, "params": {"name": name, "arguments": arguments}},
    }[provider]


def taking(annotation: Any):
    def take(x):
        return x

    take.__annotations__["x"] = annotation
    return tool(take)


@EVERY
@pytest.mark.parametrize("kind", TYPES)
def test_there_and_back(provider, strict, kind):
    """Said as the provider would have the model say it, and in canonical form: the same Python value."""
    annotation, written, value = TYPES[kind]
    registry = Registry([taking(annotation)])
    bound = registry.bind(provider, strict)
    out = bound_tools_of(bound).shapes["take"].out or (lambda same: same)
    for arguments in (out({"x": written}), {"x": written}):
        [result] = bound.dispatch(respond(provider, "take", arguments))
        assert result.unwrap() == value
        assert type(result.value) is type(value)


@EVERY
def test_null_for_a_default_that_is_not_null(provider, strict):
    """``int | None = 5``: null is None, and what is left out is 5, said as the provider would have it."""

    @tool
    def take(x: int | None = 5, y: int = 7) -> Any:
        return [x, y]

    bound = Registry([take]).bind(provider, strict)
    out = bound_tools_of(bound).shapes["take"].out or (lambda same: same)
    for written, value in (({}, [5, 7]), ({"x": None}, [None, 7]), ({"x": 1, "y": 2}, [1, 2])):
        [result] = bound.dispatch(respond(provider, "take", out(written)))
        assert result.unwrap() == value


TOKENS = llguidance.LLTokenizer("byte")


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_strict_schemas_compile(provider, name):
    """A constrained-decoding compiler takes them, and what it lets a model write is dispatched."""
    case = CASES[name]
    if name == "many_optionals" and provider == "anthropic":
        pytest.skip("more optional parameters than Anthropic compiles")
    made = tool(case.function)
    bound = Registry([made]).bind(provider, strict=True)
    lens = to_wire(get(provider), made.spec, strict=True).lens
    grammar = llguidance.LLMatcher.grammar_from_json_schema(
        lens.schema, overrides={"whitespace_flexible": False}
    )
    assert not llguidance.LLMatcher.validate_grammar(grammar, TOKENS)
    matcher = llguidance.LLMatcher(TOKENS, grammar)
    said = lens.out(case.arguments) if lens.out else case.arguments
    text = json.dumps(in_order(said, lens.schema), ensure_ascii=False, separators=(",", ":"))
    tokens = TOKENS.tokenize_str(text)
    assert matcher.try_consume_tokens(tokens) == len(tokens), (text, matcher.get_error())
    assert matcher.is_accepting()
    [result] = bound.dispatch(respond(provider, made.name, json.loads(text)))
    if not any(loss.kind == "narrowed" for loss in lens.losses):
        assert result.value == case.seen


def in_order(value: Any, schema: dict[str, Any], root: dict[str, Any] | None = None) -> Any:
    """Objects in the order of their properties, as a decoder writes them."""
    root = root or schema
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    for branch in schema.get("anyOf", ()):
        target = root["$defs"][branch["$ref"].rpartition("/")[2]] if "$ref" in branch else branch
        if isinstance(value, dict) and value.keys() <= target.get("properties", {}).keys():
            return in_order(value, target, root)
        if isinstance(value, list) and target.get("type") == "array":
            return in_order(value, target, root)
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        required = schema.get("required", ())
        names = sorted(
            value,
            key=lambda name: (
                name not in required,
                [*properties].index(name) if name in properties else 99,
            ),
        )
        names = [name for name in properties if name in value] or names
        return {name: in_order(value[name], properties.get(name, {}), root) for name in names}
    if isinstance(value, list):
        return [in_order(item, schema.get("items", {}), root) for item in value]
    return value


class Priority(enum.IntEnum):
    LOW = 1


def test_what_is_reported_is_what_was_done():
    """Every kind of loss once, each at its place."""

    class Inner(BaseModel):
        score: Annotated[int, Field(ge=0)] = 0
        tags: Annotated[list[str], Field(max_length=3)] = []

    @tool
    def everything(
        m: dict[str, Inner], t: tuple[int, str], c: Literal["a", 1], anything: Any
    ) -> None: ...

    report = Registry([everything]).bind("anthropic", strict=True).report()
    said = {(entry.path, entry.rule, entry.kind) for entry in report}
    assert {
        ("m", "additionalProperties", "reshaped"),
        ("t", "prefixItems", "reshaped"),
        ("c", "enum", "reshaped"),
        ("anything", "type", "reshaped"),
    } <= said
    assert {("Inner.score", "minimum", "moved"), ("Inner.tags", "maxItems", "moved")} <= said
    assert get("anthropic").schema.strict is not None
