"""Definitions that are odd and mean something: read, sent to every provider in both forms, and held to what they mean."""

import json
from random import Random

import pytest
from jsonschema import Draft202012Validator
from odd_schemas import ODD, TEXT

from toolshape import CallError, DefinitionError, Registry, Tool
from toolshape._families import get
from toolshape._families.names import available
from toolshape._schema.intersect import intersect
from toolshape._schema.lens import UnsupportedError


def definition(schema):
    return {"name": "odd", "description": "Odd.", "inputSchema": schema}


@pytest.mark.parametrize("case", ODD)
def test_every_provider_can_be_sent_it(case):
    """In lenient form, and in strict form where there is one."""
    made = Tool.from_definition(definition(ODD[case][0]), lambda **given: given)
    for provider in available():
        for strict in (False, *([True] if get(provider).schema.strict is not None else [])):
            assert json.dumps(made.export(provider, strict=strict))


@pytest.mark.parametrize("case", ODD)
@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini", "cohere"])
def test_what_it_means_is_kept(case, provider):
    """Arguments that are valid by it arrive, whatever form the provider was sent; others are refused."""
    schema, right, wrong = ODD[case]
    registry = Registry(
        [Tool.from_definition(definition(schema), lambda **given: given, coerce=False)]
    )
    for strict in (False, True) if get(provider).schema.strict is not None else (False,):
        bound = registry.bind(provider, strict=strict)
        if right is not None:
            results = bound.dispatch(bound.calls_as_messages([("odd", right)])[0])
            assert [result.value for result in results] == [right], str(results)
        if wrong is not None:
            assert not bound.dispatch(bound.calls_as_messages([("odd", wrong)])[0]).ok
    if wrong is not None:
        with pytest.raises(CallError):
            registry["odd"].call(wrong)


def test_what_admits_nothing_is_refused():
    """A root that is a reference to ``false``."""
    with pytest.raises(DefinitionError, match="admits nothing"):
        Tool.from_definition(definition({"$ref": "#/$defs/x", "$defs": {"x": False}}))


def test_what_was_read_otherwise_is_found():
    """A finding says so."""
    found = Tool.from_definition(definition(ODD["an object or null"][0])).findings
    assert any("is read as object" in item.message for item in found)
    found = Tool.from_definition(definition(ODD["keywords that are null"][0])).findings
    assert any("required is null and is ignored" in item.message for item in found)


def test_what_is_no_longer_required_is_reported():
    """The provider may leave it out; the call is then refused by us."""
    made = Tool.from_definition(
        definition(
            {
                "type": "object",
                "properties": {"a": TEXT},
                "required": ["a", "b"],
                "additionalProperties": False,
            }
        )
    )
    for provider in ("gemini", "gemini-openapi", "openai"):
        losses = [
            item for item in Registry([made]).bind(provider).report() if item.rule == "required"
        ]
        assert [loss.kind for loss in losses] == ["widened"]


def test_other_places_for_a_definition():
    """A whole request of Gemini, a schema as JSON text inside Bedrock's key, and one that says nothing."""
    declared = {
        "name": "odd",
        "parameters": {"type": "OBJECT", "properties": {"a": {"type": "STRING"}}},
    }
    request = {
        "tools": [{"functionDeclarations": [declared]}],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY"}},
    }
    [made] = Registry().add_definitions(request)
    assert made.name == "odd"
    text = {
        "toolSpec": {
            "name": "odd",
            "inputSchema": {"json": '{"type": "object", "properties": {"a": {}}}'},
        }
    }
    assert list(Tool.from_definition(text).input_schema["properties"]) == ["a"]
    assert Tool.from_definition({}, name="odd").input_schema["type"] == "object"


UNSOUND = [
    # two parts, and a value that only one of them admits
    ({"prefixItems": [{"type": "integer"}], "items": {}}, {"items": {"type": "string"}}, [1, "a"]),
    (
        {"properties": {"a": {}}},
        {"properties": {"b": {}}, "unevaluatedProperties": False},
        {"a": 1},
    ),
    (
        {"properties": {"a": {}}, "additionalProperties": False},
        {"patternProperties": {"^x": {}}},
        {"x1": "s"},
    ),
    ({"contains": {"type": "integer"}}, {"minContains": 2}, None),
    ({"if": {"type": "integer"}}, {"then": False}, None),
    ({"enum": [1, 2]}, {"enum": [True, "a"]}, 1),
    ({"const": 1}, {"const": True}, 1),
]


@pytest.mark.parametrize(("one", "other", "value"), UNSOUND, ids=range(len(UNSOUND)))
def test_what_cannot_be_intersected_is_not(one, other, value):
    """Whatever is sent, both parts are held."""
    with pytest.raises(UnsupportedError):
        intersect(one, other, lambda node: node, frozenset(), path="")
    schema = {"type": "object", "properties": {"x": {"allOf": [one, other]}}, "required": ["x"]}
    made = Tool.from_definition(definition(schema), lambda **given: given)
    for provider in available():
        assert json.dumps(made.export(provider, strict=False))
    if value is not None:
        with pytest.raises(CallError):
            made.call({"x": value})


@pytest.mark.parametrize("seed", range(200))
def test_an_intersection_admits_what_both_admit(seed):
    """Against the validator, for schemas and values put together at random."""
    random = Random(seed)
    one, other = _schema(random, 2), _schema(random, 2)
    try:
        both = intersect(one, other, lambda node: node, frozenset(), path="")
    except UnsupportedError:
        return
    for _ in range(60):
        value = _value(random, 2)
        wanted = all(Draft202012Validator(part).is_valid(value) for part in (one, other))
        assert Draft202012Validator(both).is_valid(value) is wanted, (one, other, both, value)


def _schema(random, depth):
    """A schema of a few keywords, which often meet."""
    made = {}
    for keyword in random.sample(
        ["type", "enum", "minimum", "maximum", "minLength", "not", "required", "const"], 2
    ):
        made[keyword] = {
            "type": lambda: random.choice(
                ["string", "integer", "number", "object", "array", ["string", "null"]]
            ),
            "enum": lambda: random.sample([1, True, "a", "ab", None, 2.0], 3),
            "minimum": lambda: random.choice([0, 1, 2]),
            "maximum": lambda: random.choice([0, 1, 2]),
            "minLength": lambda: random.choice([0, 1, 2]),
            "not": lambda: {"type": random.choice(["string", "integer"])},
            "required": lambda: random.sample(["a", "b"], 1),
            "const": lambda: random.choice([1, True, "a"]),
        }[keyword]()
    if depth and random.random() < 0.6:
        made["properties"] = {
            name: _schema(random, depth - 1) for name in random.sample(["a", "b"], 1)
        }
        if random.random() < 0.4:
            made["additionalProperties"] = random.choice([False, True, {"type": "integer"}])
    if depth and random.random() < 0.3:
        made["items"] = _schema(random, depth - 1)
    return made


def _value(random, depth):
    kinds = [lambda: random.choice([0, 1, 2, 2.0, 1.5, True, None, "", "a", "ab"])]
    if depth:
        kinds += [
            lambda: {
                name: _value(random, depth - 1)
                for name in random.sample(["a", "b", "c"], random.randint(0, 2))
            },
            lambda: [_value(random, depth - 1) for _ in range(random.randint(0, 2))],
        ]
    return random.choice(kinds)()


@pytest.mark.parametrize("strict", [False, True])
def test_a_default_that_its_own_schema_forbids_is_not_sent(strict):
    """As pandas marks what was not given: Cohere needs a required field, and this one cannot be it."""
    fields = {"freq": {"type": "string"}, "copy": {"type": "boolean", "default": "NO_DEFAULT"}}
    schema = {"type": "object", "properties": fields}
    tools = Registry([Tool.from_definition(definition(schema), lambda **given: given)])
    bound = tools.bind("cohere", strict=strict)
    [message] = bound.calls_as_messages([("odd", {})])
    [call] = message["tool_calls"]
    sent = json.loads(call["function"]["arguments"])
    [entry] = tools.export("cohere", strict=strict)
    Draft202012Validator(entry["function"]["parameters"]).validate(sent)
    [result] = bound.dispatch(message)
    assert result.ok
