"""Definitions that others wrote: read by their form, held to their schema, shown like any other tool."""

import asyncio
import copy
import inspect
import json
import pickle
import re
from enum import Enum
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field

from toolshape import (
    CallError,
    DefinitionError,
    ExportError,
    Injected,
    Registry,
    Tool,
    UsageError,
    tool,
)
from toolshape._families import get
from toolshape._tools.definition.formats import outline, read_definition
from toolshape._tools.export import to_wire

PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
FORMS = {
    "openai": {
        "type": "function",
        "function": {"name": "weather", "description": "W.", "parameters": PARAMETERS},
    },
    "openai-responses": {
        "type": "function",
        "name": "weather",
        "description": "W.",
        "parameters": PARAMETERS,
    },
    "anthropic": {"name": "weather", "description": "W.", "input_schema": PARAMETERS},
    "bedrock": {
        "toolSpec": {"name": "weather", "description": "W.", "inputSchema": {"json": PARAMETERS}}
    },
    "mcp": {"name": "weather", "description": "W.", "inputSchema": PARAMETERS},
    "gemini": {"name": "weather", "description": "W.", "parametersJsonSchema": PARAMETERS},
    "gemini-openapi": {
        "name": "weather",
        "description": "W.",
        "parameters": {
            "type": "OBJECT",
            "properties": {"city": {"type": "STRING"}},
            "required": ["city"],
        },
    },
    "openai-functions": {"name": "weather", "description": "W.", "parameters": PARAMETERS},
    "json-schema": {
        "name": "weather",
        "description": "W.",
        "parameters": PARAMETERS,
        "output": {"type": "string"},
    },
    "docker-registry": {
        "name": "weather",
        "description": "W.",
        "arguments": [{"name": "city", "type": "string", "required": True}],
    },
    "nestful": {
        "name": "weather",
        "description": "W.",
        "query_parameters": {"city": {"type": "String", "required": True}},
    },
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_told_apart(form):
    """The same tool, whoever it was written for; what was given is not changed."""
    given = copy.deepcopy(FORMS[form])
    found = read_definition(outline(FORMS[form]))
    assert found.form == form
    assert (found.name, found.description) == ("weather", "W.")
    assert found.parameters == PARAMETERS
    assert FORMS[form] == given
    calls = []
    [result] = Registry([Tool.from_definition(json.dumps(FORMS[form]), record(calls))]).dispatch(
        {"name": "weather", "arguments": {"city": "Bonn"}}
    )
    assert (result.value, calls) == ("fine", [{"city": "Bonn"}])


def record(calls):
    def weather(**arguments):
        calls.append(arguments)
        return "fine"

    return weather


def test_a_schema_alone_has_the_name_it_is_given():
    """Its title, or ``name=``."""
    assert Tool.from_definition({**PARAMETERS, "title": "weather"}).name == "weather"
    assert Tool.from_definition(PARAMETERS, name="weather").name == "weather"
    with pytest.raises(DefinitionError, match="pass name="):
        Tool.from_definition(PARAMETERS)


# How others write it, and what it is in the words of 2020-12.
HABITS = [
    (
        {"type": "dict", "properties": {"a": {"type": "float"}}},
        {"type": "object", "properties": {"a": {"type": "number"}}},
    ),
    ({"type": "any"}, {}),
    ({"type": "tuple", "items": {"type": "int"}}, {"type": "array", "items": {"type": "integer"}}),
    ({"type": "STRING", "nullable": True}, {"type": ["string", "null"]}),
    (
        {"type": 6, "properties": {"a": {"type": 1}}},
        {"type": "object", "properties": {"a": {"type": "string"}}},
    ),
    (
        {"type": "integer", "minimum": 0, "exclusiveMinimum": True},
        {"type": "integer", "exclusiveMinimum": 0},
    ),
    (
        {"type": "integer", "minimum": 0, "exclusiveMinimum": False},
        {"type": "integer", "minimum": 0},
    ),
    (
        {"type": "array", "items": [{"type": "string"}], "additionalItems": False},
        {"type": "array", "prefixItems": [{"type": "string"}], "items": False},
    ),
    ({"type": "array"}, {"type": "array", "items": {}}),
    ({"type": "string", "enum": []}, {"type": "string"}),
    (
        {"type": "string", "enum": ["a"], "nullable": True},
        {"type": ["string", "null"], "enum": ["a", None]},
    ),
    ({"type": "Enum", "allowed_values": ["a"]}, {"enum": ["a"]}),
    (
        {"anyOf": [{"type": "string"}, {"not": {}}, {"type": "null"}]},
        {"anyOf": [{"type": "string"}, {"type": "null"}]},
    ),
    (
        {"type": "string", "example_value": "x", "description": None},
        {"type": "string", "examples": ["x"]},
    ),
    (
        {"type": "object", "properties": {"a": {"type": "string", "required": True}, "b": True}},
        {"type": "object", "properties": {"a": {"type": "string"}, "b": {}}, "required": ["a"]},
    ),
    ({"properties": {"a": {}}}, {"properties": {"a": {}}, "type": "object"}),
    (
        {"patternProperties": {"^x": {"type": "int"}}},
        {"patternProperties": {"^x": {"type": "integer"}}, "type": "object"},
    ),
    ({"not": {"type": "str"}}, {"not": {"type": "string"}}),
    # Properties that are called like keywords are properties.
    (
        {
            "type": "object",
            "properties": {
                "definitions": {"type": "str"},
                "nullable": {"type": "bool"},
                "type": {},
            },
        },
        {
            "type": "object",
            "properties": {
                "definitions": {"type": "string"},
                "nullable": {"type": "boolean"},
                "type": {},
            },
        },
    ),
]


@pytest.mark.parametrize(("written", "meant"), HABITS)
def test_habits(written, meant):
    """Inside a definition, at any place."""
    schema = {
        "type": "object",
        "properties": {"x": written, "y": {"type": "array", "items": written}},
    }
    foreign = read_definition(outline({"name": "f", "parameters": schema}))
    assert foreign.parameters["properties"] == {"x": meant, "y": {"type": "array", "items": meant}}
    if any(word in str(written) for word in ("dict", "tuple", "int'", "allowed_values")):
        assert {finding.path.partition(".")[0].rstrip("[]") for finding in foreign.findings} == {
            "x",
            "y",
        }


REFERENCES = [
    ({"definitions": {"A": {"type": "str"}}}, "#/definitions/A"),
    ({"$defs": {"A": {"type": "string"}}}, "#/$defs/A"),
    ({"properties": {"y": {"type": "string"}}}, "#/properties/y"),
    ({"$defs": {"a/b~c": {"type": "string"}}}, "#/$defs/a~1b~0c"),
    ({"$defs": {"A": {"$anchor": "here", "type": "string"}}}, "#here"),
    ({"components": {"schemas": {"A": {"type": "string"}}}}, "#/components/schemas/A"),
]


@pytest.mark.parametrize(("beside", "reference"), REFERENCES)
def test_references(beside, reference):
    """Whatever they led to, they lead to a definition of the schema's own."""
    properties = {"x": {"$ref": reference}, **beside.get("properties", {})}
    made = Tool.from_definition(
        {"name": "f", "parameters": {"type": "object", **beside, "properties": properties}}
    )
    schema = made.input_schema
    name = schema["properties"]["x"]["$ref"].removeprefix("#/$defs/")
    assert schema["$defs"][name]["type"] == "string"
    assert "$ref" not in json.dumps(made.export("gemini"))
    registry = Registry([made], coerce=False)
    [result] = registry.dispatch({"name": "f", "arguments": {"x": 1}})
    assert str(result.error).endswith("x: expected string, got 1")


def test_recursion_and_the_root():
    """A definition may contain itself, and the root may be one."""
    node = {"type": "object", "properties": {"next": {"$ref": "#/definitions/Node"}}}
    made = Tool.from_definition(
        {"name": "f", "parameters": {"$ref": "#/definitions/Node", "definitions": {"Node": node}}}
    )
    assert made.input_schema["properties"] == {"next": {"$ref": "#/$defs/Node"}}
    for provider in ("openai", "anthropic", "gemini", "mcp", "ollama"):
        assert made.export(provider, strict=False)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {
                "name": "f",
                "parameters": {"type": "object", "properties": {"x": {"$ref": "#/$defs/A"}}},
            },
            "does not resolve",
        ),
        (
            {
                "name": "f",
                "parameters": {"type": "object", "properties": {"x": {"type": "Date (y-m-d)"}}},
            },
            "x: 'Date",
        ),
        ({"name": "f", "parameters": {"type": "array"}}, "arguments must be an object"),
        ({"name": "f", "parameters": "x"}, "must be a JSON Schema"),
        (
            {"name": "f", "parameters": {"type": "object", "properties": {"x": {"minimum": "0"}}}},
            "properties/x/minimum",
        ),
        ({"type": "web_search_20250305", "name": "web_search"}, "the provider itself defines"),
        (
            {"type": "custom", "name": "sql", "format": {"type": "text"}},
            "the provider itself defines",
        ),
        ("[1", "not JSON"),
        ([FORMS["mcp"], FORMS["mcp"]], "use Registry.add_definitions"),
        ({"tools": []}, "got 0"),
    ],
)
def test_what_is_no_definition(given, said):
    """A sentence that says why."""
    with pytest.raises(DefinitionError, match=re.escape(said)):
        Tool.from_definition(given)


class Kind(Enum):
    FAST = "Fast"
    SLOW = "Slow"


class Line(BaseModel):
    sku: str
    qty: Annotated[int, Field(ge=1, le=9)] = 1


@tool
def order(
    lines: Annotated[list[Line], Field(max_length=2)],
    kind: Literal["Fast", "Slow"] = "Fast",
    note: Annotated[str | None, Field(max_length=5)] = None,
    rate: Annotated[float, Field(gt=0)] = 1.0,
    flag: bool = False,
    code: Annotated[str, Field(pattern="^[a-z]+$")] = "a",
) -> str:
    """Order."""
    return "ok"


SENT = [
    {"lines": [{"sku": "a"}]},
    {"lines": [{"sku": "a", "qty": 3}], "kind": "Slow", "note": None, "rate": 2, "flag": True},
    {},
    {"lines": "x"},
    {"lines": [{"qty": 0}]},
    {"lines": [{"sku": "a", "qty": 10}]},
    {"lines": [{"sku": 5, "qty": "3"}]},
    {"lines": [{"sku": "a", "qty": 3.0}]},
    {"lines": '[{"sku": "a"}]'},
    {"lines": [], "kind": "slow"},
    {"lines": [], "kind": "medium"},
    {"lines": [], "note": "null"},
    {"lines": [], "note": "too long"},
    {"lines": [], "rate": 0},
    {"lines": [], "rate": None},
    {"lines": [], "flag": "yes"},
    {"lines": [], "code": "A"},
    {"lines": [{"sku": "a"}] * 3},
    {"lines": [], "nots": "x"},
    {"lines": [{"sku": "a", "qyt": 1}]},
    [],
    "",
    '{"lines": [',
    '"{\\"lines\\": []}"',
]


@pytest.mark.parametrize("sent", SENT, ids=json.dumps)
def test_the_same_words_as_a_decorated_tool(sent):
    """The same value, coercions and problems, whether pydantic or the schema validates.

    What is left out stays left out where a schema validates: the function's own default is not known.
    """

    def recorded(result):
        return [
            coercion._replace(after=None) if coercion.rule == "null_as_default" else coercion
            for coercion in result.coercions
        ]

    got = []
    definition = {"name": "order", "description": "Order.", "parameters": order.input_schema}
    made = Tool.from_definition(definition, lambda **arguments: got.append(arguments) or "ok")
    text = sent if isinstance(sent, str) else json.dumps(sent)
    [ours], [theirs] = (
        Registry([item]).dispatch({"name": "order", "arguments": text}, provider="json-schema")
        for item in (order, made)
    )
    assert recorded(ours) == recorded(theirs)
    assert str(ours.error) == str(theirs.error)
    assert ours.ok is theirs.ok is bool(got)


def test_unions_are_told_apart():
    """The branch that is meant says what is wrong in it."""
    cat = {
        "type": "object",
        "properties": {"kind": {"const": "cat"}, "lives": {"type": "integer"}},
        "required": ["lives"],
    }
    dog = {
        "type": "object",
        "properties": {"kind": {"const": "dog"}, "age": {"type": "integer"}},
        "required": ["age"],
    }
    schema = {
        "type": "object",
        "properties": {
            "pet": {"oneOf": [cat, dog]},
            "n": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        },
    }
    made = Tool.from_definition({"name": "f", "parameters": schema}, lambda **kw: kw)
    assert made.call({"pet": {"kind": "dog", "age": 1}, "n": "7"}) == {
        "pet": {"kind": "dog", "age": 1},
        "n": 7,
    }
    with pytest.raises(CallError) as raised:
        made.call({"pet": {"kind": "dog", "age": "x"}})
    assert [problem.path for problem in raised.value.problems] == ["pet.age"]


def test_a_pattern_that_no_engine_knows():
    """It is shown, not checked, and said."""
    schema = {
        "type": "object",
        "properties": {"x": {"type": "string", "pattern": r"(?<!\p{L})7"}},
        "required": ["x"],
    }
    made = Tool.from_definition({"name": "f", "parameters": schema}, lambda x: x)
    assert made.call({"x": "a7"}) == "a7"
    assert made.input_schema == schema
    assert [
        (finding.path, finding.rule) for finding in made.findings if finding.rule != "undescribed"
    ] == [("x", "unchecked")]


def test_functions_fit_their_definition():
    """By keyword and by position, injected values beside; what does not fit is said at once."""

    def weather(city, /, *, unit="C", db: Injected[dict]):
        return f"{city} {unit} {db['t']}"

    made = Tool.from_definition({**FORMS["mcp"]}, weather)
    assert made.call({"city": "Bonn"}, inject={"db": {"t": 1}}) == "Bonn C 1"
    assert made("Rome", db={"t": 2}) == "Rome C 2"
    with pytest.raises(CallError, match="town: unknown field"):
        made.call({"city": "Bonn", "town": "x"}, inject={"db": {}})
    with pytest.raises(UsageError, match="inject"):
        made.call({"city": "Bonn"})

    def other(town, year):
        return town

    with pytest.raises(DefinitionError) as raised:
        Tool.from_definition(FORMS["mcp"], other)
    assert [problem.path for problem in raised.value.problems] == ["city", "town", "year"]


def test_async_functions_answer_too():
    """A coroutine function is one to inspect as well."""

    async def weather(city: str) -> str:
        return city

    made = Tool.from_definition(FORMS["mcp"], weather)
    assert inspect.iscoroutinefunction(made)
    assert asyncio.run(made.acall({"city": "Bonn"})) == "Bonn"
    assert made.output_schema == {"type": "string"}


def test_without_a_function():
    """It is shown and its calls are planned; to run them is the developer's mistake."""
    made = Tool.from_definition(FORMS["anthropic"])
    registry = Registry([made])
    assert registry.export("openai")[0]["function"]["name"] == "weather"
    body = {"name": "weather", "arguments": '{"city": "Bonn"}'}
    plan = registry.bind("json-schema").plan(body)
    assert (plan.calls[0].name, plan.calls[0].arguments) == ("weather", {"city": "Bonn"})
    for wrong in (
        plan.run,
        lambda: registry.dispatch(body),
        lambda: made.call({"city": "x"}),
        lambda: made(city="x"),
    ):
        with pytest.raises(UsageError, match="weather"):
            wrong()
    [refused] = registry.dispatch({"name": "weather", "arguments": "{}"})
    assert str(refused.error).endswith("city: required, but missing")
    with pytest.raises(UsageError, match="no pydantic model"):
        _ = made.model


def test_verbatim():
    """Sent to its own provider as it is, extras and all; linted; rewritten for the others."""
    schema = {
        "type": "object",
        "properties": {"x": {"type": "string", "x-mine": 1}},
        "$schema": "http://json-schema.org/draft-07/schema#",
    }
    definition = {
        "name": "f",
        "input_schema": schema,
        "cache_control": {"type": "ephemeral"},
        "description": "D.",
    }
    made = Tool.from_definition(definition, verbatim=True)
    assert made.export("anthropic") == definition
    assert made.export("bedrock")["toolSpec"]["inputSchema"]["json"] != schema
    assert made.export("openai")["function"]["parameters"] != schema
    refused = Tool.from_definition(
        {**definition, "input_schema": {**schema, "anyOf": [{"required": ["x"]}]}}, verbatim=True
    )
    with pytest.raises(ExportError, match="the root must not have anyOf"):
        refused.export("anthropic")
    assert refused.export("openai")
    with pytest.raises(ExportError, match="not a valid tool name"):
        Tool.from_definition({**definition, "name": "a b"}, verbatim=True).export("anthropic")
    openai = {
        "type": "function",
        "function": {"name": "f", "parameters": PARAMETERS, "strict": True},
    }
    with pytest.raises(ExportError, match="additionalProperties"):
        Tool.from_definition(openai, verbatim=True).export("openai")


def test_what_it_says_to_its_own_provider_is_kept():
    """Cache marks, hints, icons and examples go along; the examples in the form that is shown."""
    anthropic = {
        **FORMS["anthropic"],
        "cache_control": {"type": "ephemeral"},
        "input_examples": [{"city": "Bonn"}],
    }
    made = Tool.from_definition(anthropic)
    assert made.export("anthropic", strict=False) == anthropic
    assert "cache_control" not in json.dumps(made.export("openai"))
    mcp = {
        **FORMS["mcp"],
        "title": "Weather",
        "outputSchema": {"type": "object", "properties": {"t": {"type": "number"}}},
        "annotations": {"readOnlyHint": True, "openWorldHint": False},
        "icons": [{"src": "https://example.com/i.png"}],
        "_meta": {"a": 1},
    }
    made = Tool.from_definition(mcp)
    assert made.export("mcp") == mcp
    assert (made.title, made.effects) == ("Weather", {"read", "closed_world"})


def test_many_at_once():
    """From a request, a list, or text; all of them or none."""
    registry = Registry()
    request = {
        "tools": [{"functionDeclarations": [FORMS["gemini"], {**FORMS["gemini"], "name": "other"}]}]
    }
    made = registry.add_definitions(request, {"other": lambda city: city.upper()}, tags=["x"])
    assert [item.name for item in made] == [item.name for item in registry] == ["weather", "other"]
    assert registry["other"].call('{"city": "a"}') == "A"
    assert len(registry.subset(tags=["x"])) == 2
    before = len(registry)
    for given, functions in (
        ([{**FORMS["mcp"], "name": "new"}, FORMS["mcp"]], {}),
        ([{**FORMS["mcp"], "name": "new"}, {"name": "x", "parameters": 1}], {}),
        ([{**FORMS["mcp"], "name": "new"}], {"nwe": print}),
    ):
        with pytest.raises(DefinitionError):
            registry.add_definitions(given, functions)
        assert len(registry) == before


def made_of(properties, function=None, **schema):
    definition = {"name": "f", "parameters": {"type": "object", "properties": properties, **schema}}
    return Tool.from_definition(definition, function or (lambda **arguments: arguments))


def test_arguments_reach_their_own_parameter():
    """A positional-only parameter that is left out keeps its default; an injected one is never a model's to set."""

    def by_position(a: int = 1, b: int = 2, /):
        return a, b

    assert made_of({"a": {"type": "integer"}, "b": {"type": "integer"}}, by_position).call(
        {"b": 5}
    ) == (1, 5)

    def injected(x: int, db: Injected[str] = "safe", **others):
        return x, db, others

    made = made_of({"x": {"type": "integer"}}, injected, required=["x"])
    with pytest.raises(CallError, match="db: unknown field"):
        made.call({"x": 1, "db": "evil"})
    assert made.call({"x": 1, "y": 2}) == (1, "safe", {"y": 2})
    with pytest.raises(DefinitionError, match="db: this parameter is injected into the function"):
        made_of({"x": {"type": "integer"}, "db": {"type": "string"}}, injected, required=["x"])

    def rest(*args: int):
        return args

    with pytest.raises(DefinitionError, match="args: the function has no parameter"):
        made_of({"args": {"type": "integer"}}, rest)
    with pytest.raises(
        DefinitionError,
        match="n: the function requires this parameter, but the definition does not",
    ):
        made_of({"n": {"type": "string"}}, lambda n: n)


NULLABLE = [
    {"$ref": "#/$defs/A"},
    {"allOf": [{"$ref": "#/$defs/A"}]},
    {"oneOf": [{"type": "string"}, {"type": "integer"}]},
    {"anyOf": [{"type": "string"}, {"type": "integer"}]},
    {"type": ["string", "integer"]},
    {"const": "a", "type": "string"},
    {"enum": ["a"]},
]


@pytest.mark.parametrize("node", NULLABLE)
def test_nullable_admits_null(node):
    """Whatever it stands beside."""
    made = made_of(
        {"a": {**node, "nullable": True}}, required=["a"], **{"$defs": {"A": {"type": "string"}}}
    )
    assert made.call({"a": None}) == {"a": None}
    assert made.call({"a": "a"}) == {"a": "a"}
    with pytest.raises(CallError):
        made_of({"a": node}, required=["a"], **{"$defs": {"A": {"type": "string"}}}).call(
            {"a": None}
        )


@pytest.mark.parametrize(
    ("properties", "schema", "right", "wrong"),
    [
        (
            {"x": {"$id": "http://a/b", "$ref": "#/$defs/A"}},
            {"$defs": {"A": {"type": "string"}}},
            {"x": "a"},
            {"x": [1]},
        ),
        (
            {"x": {"$schema": "http://json-schema.org/draft-07/schema#", "type": "string"}},
            {},
            {"x": "a"},
            {"x": [1]},
        ),
        ({"x": {"not": {"pattern": r"(?<!\p{L})a"}, "type": "string"}}, {}, {"x": "a"}, {"x": [1]}),
        ({}, {"patternProperties": {r"(?<!\p{L})x": {"type": "string"}}}, {"x": 1}, None),
        (
            {"x": {"items": [{"type": "int"}], "additionalItems": {"type": "str"}}},
            {},
            {"x": [1, "a"]},
            {"x": ["b", "a"]},
        ),
        ({"x": {"type": "integer", "divisibleBy": 2}}, {}, {"x": 4}, {"x": 3}),
        ({"x": {}, "y": {}}, {"dependencies": {"x": ["y"]}}, {"x": 1, "y": 1}, {"x": 1}),
        (
            {"x": {"$dynamicRef": "#node"}},
            {"$defs": {"n": {"$dynamicAnchor": "node", "type": "string"}}},
            {"x": "a"},
            {"x": [1]},
        ),
        ({"x": {"const": None}}, {}, {"x": None}, {"x": "null!"}),
        (
            {"m": {"type": "object", "additionalProperties": {"type": "integer"}}},
            {},
            {"m": {"²": 1}},
            {"m": {"²": "b"}},
        ),
        (
            {"n": {"type": "integer"}, "next": {"$ref": "#"}},
            {},
            {"next": {"n": 1}},
            {"next": {"n": "x"}},
        ),
        ([{"name": "x", "type": "str", "required": True}], {}, {"x": "a"}, {"x": [1]}),
    ],
)
def test_words_that_others_use(properties, schema, right, wrong):
    """What they mean holds in canonical form and in the form of each provider."""
    made = made_of(properties, **schema)
    assert made.call(right) == right
    if wrong is not None:
        with pytest.raises(CallError) as raised:
            made.call(wrong)
        assert raised.value.code == "invalid_arguments"
    for name in (
        "openai",
        "anthropic",
        "gemini",
        "gemini-openapi",
        "cohere",
        "ollama",
        "mcp",
        "moonshot",
    ):
        for strict in (False, True) if get(name).schema.strict is not None else (False,):
            shown = to_wire(get(name), made.spec, strict)
            said = right if shown.lens.out is None else shown.lens.out(right)
            canonical = said if shown.lens.back is None else shown.lens.back(said)
            assert canonical == right, (name, strict)
            assert "x-toolshape" not in json.dumps(shown.payload)


def test_a_part_of_all_of_adds_to_what_stands_beside_it():
    """The pattern of OpenAPI: a base, and fields of one's own."""
    base = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    node = {
        "type": "object",
        "allOf": [base],
        "properties": {"b": {"type": "string"}},
        "required": ["b"],
    }
    made = made_of({"o": node}, required=["o"])
    shown = made.export("gemini")["parametersJsonSchema"]["properties"]["o"]
    assert sorted(shown["properties"]) == sorted(shown["required"]) == ["a", "b"]


def test_branches_that_do_not_fit_in_are_said():
    """In the description, and in the report; the arguments are held to them all the same."""
    node = {"type": "string", "pattern": "^a", "anyOf": [{"pattern": "b$"}, {"maxLength": 2}]}
    made = made_of({"x": node}, required=["x"])
    shown = made.export("openai", strict=True)["function"]["parameters"]["properties"]["x"]
    assert shown["type"] == "string"
    assert "anyOf" in shown["description"]
    with pytest.raises(CallError):
        made.call({"x": "accc"})


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"$ref": 5}}},
        {"properties": {"a": {}}, "required": [{}]},
        {"properties": {"a": {"enum": 5, "nullable": True}}},
        {"properties": [1]},
        {"properties": {"a": {"anyOf": {}}}},
        {"properties": {"a": {"pattern": 5}}},
    ],
)
def test_what_is_no_schema_is_refused(schema):
    """With a sentence, whatever it is."""
    with pytest.raises(DefinitionError):
        Tool.from_definition({"name": "f", "parameters": {"type": "object", **schema}})


def test_pickled_and_inspected():
    """As other tools are."""
    made = pickle.loads(pickle.dumps(Tool.from_definition(FORMS["mcp"], plain_weather, tags=["x"])))
    assert (made.call({"city": "Bonn"}), made.tags) == ("Bonn", {"x"})
    assert str(inspect.signature(made)) == "(city)"
    shown_only = pickle.loads(pickle.dumps(Tool.from_definition(FORMS["mcp"])))
    assert shown_only.name == "weather"
    assert callable(shown_only)
    assert str(inspect.signature(shown_only)) == "(*, city)"


def plain_weather(city):
    return city


def test_verbatim_is_strict_or_not_as_it_was_written():
    """A wish that contradicts it is refused; the budget counts it and cannot relax it."""
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    strict = [
        {"name": f"v{number}", "input_schema": schema, "strict": True} for number in range(21)
    ]
    registry = Registry(Tool.from_definition(item, verbatim=True) for item in strict[:20])
    assert sum(item["strict"] for item in registry.export("anthropic")) == 20
    registry.add(Tool.from_definition(strict[20], verbatim=True))
    with pytest.raises(ExportError, match="relax v20"):
        registry.export("anthropic")
    for wish, entry in ((False, strict[0]), (True, {"name": "v", "input_schema": schema})):
        with pytest.raises(ExportError, match="sent as written"):
            Registry([Tool.from_definition(entry, verbatim=True)]).export("anthropic", strict=wish)
    together = {"type": "function", "function": {"name": "f", "parameters": schema, "strict": True}}
    with pytest.raises(ExportError, match="no strict form"):
        Tool.from_definition(together, verbatim=True).export("together")
    openai = [
        {
            "type": "function",
            "function": {"name": f"o{number}", "parameters": schema, "strict": True},
        }
        for number in range(25)
    ]
    elsewhere = Registry(Tool.from_definition(item, verbatim=True) for item in openai)
    assert (
        sum("strict" in item for item in elsewhere.export("anthropic")) == 20
    )  # there it is like any other
    long = {
        "type": "function",
        "function": {"name": "f", "description": "x" * 2000, "parameters": PARAMETERS},
    }
    with pytest.raises(ExportError, match="shorten it"):
        Tool.from_definition(long, verbatim=True).export("azure")
    bare = Tool.from_definition(PARAMETERS, name="f", verbatim=True)
    assert bare.export("json-schema")["name"] == "f"


def test_the_authors_word_goes_before_the_definitions():
    """Effects before hints, keys beside keys, "not strict" for all."""
    mcp = {**FORMS["mcp"], "annotations": {"readOnlyHint": True}, "_meta": {"a": 1}}
    made = Tool.from_definition(mcp, effects=["destructive"], providers={"mcp": {"icons": []}})
    exported = made.export("mcp")
    assert exported["annotations"] == {"readOnlyHint": False, "destructiveHint": True}
    assert (exported["_meta"], exported["icons"]) == ({"a": 1}, [])
    closed = {**PARAMETERS, "additionalProperties": False}
    openai = {"type": "function", "function": {"name": "f", "parameters": closed, "strict": False}}
    assert "strict" not in Tool.from_definition(openai).export("openai")["function"]
    openai["function"]["strict"] = True
    assert Tool.from_definition(openai).export("openai")["function"]["strict"] is True
    assert Tool.from_definition(openai).export("mcp")
