"""Dispatch: what mutants of it have shown to be untested."""

import json
from datetime import timedelta
from typing import Any

import pytest

from toolshape import Registry, ResponseError, Tool, UsageError, tool
from toolshape._families import get
from toolshape._families.names import available

KEY = b"a secret of thirty-two bytes, or more"


@tool(approve=True)
def keep(data: Any) -> str:
    """Keep."""
    return json.dumps(data)


def plan_of(tools, data):
    """A plan of one call, whose ``Any`` a strict OpenAI was sent as JSON text."""
    call = {"name": "keep", "arguments": json.dumps({"data": json.dumps(data)})}
    message = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": call}],
    }
    return tools.bind("openai", strict=True).plan(
        {"choices": [{"message": message, "finish_reason": "tool_calls"}]}
    )


@pytest.mark.parametrize("text", ["[1]", "null", '"x"', "plain"])
def test_an_edit_is_in_the_functions_own_form(text):
    """Whatever the provider was sent: a text that reads like JSON is the text that somebody wrote."""
    plan = plan_of(Registry([keep]), {"a": 1})
    [waiting] = plan.pending
    assert waiting.arguments == {"data": {"a": 1}}
    plan.approve(plan.edit(waiting, {"data": text}))
    assert plan.run()[0].value == json.dumps(text)


@pytest.mark.parametrize("data", ["[1]", "null", {"a": "1"}, [None]])
def test_what_is_paused_comes_back_in_that_form(data):
    """As it was edited, too."""
    tools = Registry([keep])
    for is_edited in (False, True):
        plan = plan_of(tools, "first" if is_edited else data)
        if is_edited:
            plan.edit(plan.pending[0], {"data": data})
        [waiting] = plan.pending
        token = plan.pause(KEY, audience="ann", expires=timedelta(hours=1))
        [result] = tools.resume(token, KEY, {waiting.id: True}, audience="ann")
        assert result.value == json.dumps(data)


@tool
def add(a: int, b: int = 1) -> int:
    """Add."""
    return a + b


@pytest.mark.parametrize(("returned", "named"), [(5, "int"), ("5", "str"), ({}, "dict")])
def test_a_hook_that_returns_something_else_is_told_what(returned, named):
    """A value is no result: it is named by its type, as it may be long or secret."""
    tools = Registry([add])
    tools.around(lambda context, proceed: (proceed(), returned)[1])
    [result] = tools.dispatch({"name": "add", "arguments": '{"a": 1}'})
    assert not result.ok
    cause = result.error.__cause__
    assert isinstance(cause, UsageError)
    assert str(cause).endswith(
        f"returned {named}: return the result of proceed(), or context.result(value)"
    )


@pytest.mark.parametrize(
    "provider",
    [name for name in available() if ":" not in name and get(name).session is None],
)
def test_a_stream_of_which_nothing_came(provider):
    """It is closed without a call, and there is no plan of it."""
    collector = Registry([add]).bind(provider).collector()
    assert collector.close() == []
    with pytest.raises(ResponseError, match="no part of a response has arrived in this stream"):
        collector.plan()


def test_tools_beyond_the_limits_of_strict_are_noted_as_a_whole():
    """The note is of no place in the schema: it is the request that would be too large."""
    made = [
        Tool.from_definition(
            {"name": f"t{number}", "description": "T.", "parameters": add.input_schema}
        )
        for number in range(40)
    ]
    entries = [
        entry
        for entry in Registry(made).bind("anthropic").report()
        if "would exceed the limits" in str(entry)
    ]
    assert entries
    assert {entry.path for entry in entries} == {""}
