"""Every function of the zoo: a valid schema that admits its call, the right values in the function, stable bytes."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from zoo import CASES

from toolshape import Registry, tool

EVERY = pytest.mark.parametrize("name", CASES)


@EVERY
def test_the_schema_is_canonical(name):
    """Valid 2020-12, a closed object unless there is **kwargs, no generated title, the call in it valid."""
    case = CASES[name]
    schema = tool(case.function).input_schema
    Draft202012Validator.check_schema(schema)
    Draft202012Validator(schema).validate(case.arguments)
    assert schema["type"] == "object"
    assert schema["additionalProperties"] is False or name == "var_keyword"
    assert "title" not in schema
    assert not [node for node in nodes(schema) if isinstance(node.get("title"), str)]


@EVERY
@pytest.mark.parametrize("as_text", [True, False], ids=["text", "object"])
def test_the_call_reaches_the_function(name, as_text):
    """What the model wrote arrives with the function's own types, sync and async."""
    case = CASES[name]
    arguments = json.dumps(case.arguments) if as_text else case.arguments
    assert tool(case.function).call(arguments) == case.seen
    assert asyncio.run(tool(case.function).acall(arguments)) == case.seen


@EVERY
def test_an_unknown_field_is_refused(name):
    """Never dropped in silence: a misspelt option would run with the default."""
    case = CASES[name]
    registry = Registry([case.function])
    call = {"name": name, "arguments": {**case.arguments, "misspelt": {"not": "an int"}}}
    [result] = registry.dispatch(call, provider="json-schema")
    assert result.error is not None
    assert result.error.code == "invalid_arguments"
    assert [problem.path for problem in result.error.problems] == ["misspelt"]


@pytest.mark.slow
def test_exports_are_the_same_bytes_in_every_process():
    """Hash seeds, set orders and addresses never reach a payload."""
    script = (
        "import json, zoo, toolshape\n"
        "registry = toolshape.Registry(case.function for case in zoo.CASES.values())\n"
        "print(json.dumps([registry.export(p) for p in ('openai', 'anthropic', 'json-schema')]))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[1])},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
    assert len(json.loads(outputs.pop())) == 3


@EVERY
def test_exports_are_json(name):
    """No NaN, which JSON does not have."""
    json.dumps(tool(CASES[name].function).export("json-schema"), allow_nan=False)


def test_exports_are_the_callers_own():
    """Changing one changes no other."""
    registry = Registry([CASES["nested"].function])
    first = registry.export("openai")
    first[0]["function"]["parameters"]["properties"].clear()
    registry["nested"].input_schema["properties"].clear()
    assert registry.export("openai")[0]["function"]["parameters"]["properties"]


def nodes(node):
    """Every schema in a schema; a property called title is a name, not a keyword."""
    if isinstance(node, dict):
        yield node
        for key, value in node.items():
            if key in ("properties", "$defs"):
                for inner in value.values():
                    yield from nodes(inner)
            elif key not in ("default", "enum", "const"):
                yield from nodes(value)
    elif isinstance(node, list):
        for item in node:
            yield from nodes(item)


@EVERY
def test_properties_stand_in_signature_order(name):
    """The order of the author is the order of the schema."""
    import inspect

    case = CASES[name]
    order = list(inspect.signature(case.function).parameters)
    properties = [p for p in tool(case.function).input_schema["properties"] if p in order]
    assert properties == [p for p in order if p in properties]
