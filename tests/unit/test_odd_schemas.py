"""Definitions that are odd and mean something: read, sent to every provider in both forms, and held to what they mean."""

import json

import pytest
from odd_schemas import ODD, TEXT

from toolshape import CallError, DefinitionError, Registry, Tool
from toolshape.providers import available, get


def definition(schema):
    return {"name": "odd", "description": "Odd.", "inputSchema": schema}


@pytest.mark.parametrize("case", ODD)
def test_every_provider_can_be_sent_it(case):
    """In lenient form, and in strict form where there is one."""
    made = Tool.from_definition(definition(ODD[case][0]), lambda **given: given)
    for provider in available():
        for strict in (False, *([True] if get(provider).strict is not None else [])):
            assert json.dumps(made.export(provider, strict=strict))


@pytest.mark.parametrize("case", ODD)
@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini", "cohere"])
def test_what_it_means_is_kept(case, provider):
    """Arguments that are valid by it arrive, whatever form the provider was sent; others are refused."""
    schema, right, wrong = ODD[case]
    registry = Registry([Tool.from_definition(definition(schema), lambda **given: given, coerce=False)])
    for strict in (False, True) if get(provider).strict is not None else (False,):
        bound = registry.bind(provider, strict=strict)
        if right is not None:
            results = bound.dispatch(bound.say([("odd", right)])[0])
            assert [one.value for one in results] == [right], str(results)
        if wrong is not None:
            assert not bound.dispatch(bound.say([("odd", wrong)])[0]).ok
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
    assert any("is read as object" in one.message for one in found)
    found = Tool.from_definition(definition(ODD["keywords that are null"][0])).findings
    assert any("required is null, which is ignored" in one.message for one in found)


def test_what_is_no_longer_required_is_reported():
    """The provider may leave it out; the call is then refused by us."""
    made = Tool.from_definition(
        definition({"type": "object", "properties": {"a": TEXT}, "required": ["a", "b"], "additionalProperties": False})
    )
    for provider in ("gemini", "gemini-openapi", "openai"):
        losses = [one for one in Registry([made]).bind(provider).report() if one.rule == "required"]
        assert [one.kind for one in losses] == ["widened"]


def test_other_places_for_a_definition():
    """A whole request of Gemini, a schema as JSON text inside Bedrock's key, and one that says nothing."""
    declared = {"name": "odd", "parameters": {"type": "OBJECT", "properties": {"a": {"type": "STRING"}}}}
    request = {
        "tools": [{"functionDeclarations": [declared]}],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY"}},
    }
    [made] = Registry().add_definitions(request)
    assert made.name == "odd"
    text = {"toolSpec": {"name": "odd", "inputSchema": {"json": '{"type": "object", "properties": {"a": {}}}'}}}
    assert list(Tool.from_definition(text).input_schema["properties"]) == ["a"]
    assert Tool.from_definition({}, name="odd").input_schema["type"] == "object"
