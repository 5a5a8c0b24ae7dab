"""What can be sent to another process, or copied, is the same there; what cannot says which part and why."""

import copy
import json
import pickle
from concurrent.futures import ProcessPoolExecutor

import pytest

from toolshape import (
    CallError,
    DefinitionError,
    ExportError,
    Registry,
    ResponseError,
    ToolError,
    tool,
)
from toolshape._bound.registry import store_of
from toolshape._families import get
from toolshape._records.errors import Problem


@tool
def restock(items: dict[str, int], note: str = "none") -> dict[str, int]:
    """Restock the shelves."""
    return items


def plain(x: int = 1) -> int:
    return x


def failing(x: int) -> int:
    return restock.call('{"items": "none"}')


WAYS = [lambda value: pickle.loads(pickle.dumps(value)), copy.copy, copy.deepcopy]
WAY = pytest.mark.parametrize("way", WAYS, ids=["pickle", "copy", "deepcopy"])
PROBLEM = Problem(path="x", rule="r", message="m")
ERRORS = [
    CallError(
        "invalid_arguments", tool="t", problems=[PROBLEM], arguments={"x": 1}, annotated="// x"
    ),
    CallError("unknown_tool", tool="t", text="u", names=["u"]),
    CallError("tool_crashed", tool="t", reference="abc", retryable=True),
    DefinitionError(tool="t", location="f:1", problems=[PROBLEM]),
    ExportError(provider="openai", tool=None, problems=[PROBLEM]),
    ResponseError("no response", body={"a": 1}),
    ToolError("no", retryable=True),
]


@WAY
@pytest.mark.parametrize("error", ERRORS, ids=range(len(ERRORS)))
def test_errors(way, error):
    """With all that they say."""
    again = way(error)
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert again.__dict__ == error.__dict__


def dispatched(arguments='{"items":[{"key":"kettle","value":3}],"note":null}'):
    call = {"id": "c", "type": "function", "function": {"name": "restock", "arguments": arguments}}
    response = {
        "choices": [
            {"finish_reason": "tool_calls", "message": {"role": "assistant", "tool_calls": [call]}}
        ]
    }
    return Registry([restock]).bind("openai", strict=True).dispatch(response)


@WAY
@pytest.mark.parametrize(
    "arguments", ['{"items":[{"key":"kettle","value":3}],"note":null}', '{"items":5}', "{"]
)
def test_results(way, arguments):
    """Their messages, their turn, and their calls: canonical arguments, in place of ``back``."""
    results = dispatched(arguments)
    again = way(results)
    assert (again.messages, again.turn, again.finish, again.ok) == (
        results.messages,
        results.turn,
        "tool_calls",
        results.ok,
    )
    assert [item.text for item in again] == [result.text for result in results]
    assert [item.call.arguments for item in again] == [result.call.arguments for result in results]
    [call], [result] = way(list(results.calls)), [way(result) for result in results]
    assert call.arguments == results[0].call.arguments
    assert way(call).arguments == call.arguments
    assert way(call)[:-1] == call[:-1]
    assert result.text == results[0].text
    assert "restock" in repr(call)


@WAY
def test_registries(way):
    """By the names of their functions; a plain function is one again."""
    registry = Registry([restock, plain], strict=True, coerce={"bool_text": True}, feedback="json")
    registry.bind("anthropic")
    again = way(registry)
    assert list(map(str, again)) == list(map(str, registry))
    assert again["restock"] is restock
    assert again.export("openai") == registry.export("openai")
    assert store_of(again).contents.used.keys() == store_of(registry).contents.used.keys()
    bound = registry.bind("openai")
    assert way(bound).export() == bound.export()
    assert (
        way(bound)
        .dispatch({"choices": [{"message": {"role": "assistant", "content": "hi"}}]})
        .messages
        == []
    )


def test_in_another_process():
    """An error comes back, and the pool goes on."""
    with ProcessPoolExecutor(1) as pool:
        with pytest.raises(CallError) as caught:
            pool.submit(failing, 1).result(timeout=60)
        assert caught.value.code == "invalid_arguments"
        assert pool.submit(plain, 2).result(timeout=60) == 2
        results = pool.submit(dispatched).result(timeout=60)
    assert results[0].value == {"kettle": 3}
    assert results[0].call.arguments == {"items": {"kettle": 3}}
    assert json.dumps(results.turn)


def test_what_cannot_says_so():
    """Which part, and why."""

    @tool
    def local(x: int) -> int:
        return x

    with pytest.raises(
        TypeError, match=r"the tool 'local' cannot be pickled: .*local is not its function"
    ):
        pickle.dumps(Registry([local]))
    bound = Registry([restock]).bind("openai")
    with pytest.raises(TypeError, match="a Collector cannot be pickled"):
        pickle.dumps(bound.collector())
    with pytest.raises(TypeError, match="a Plan cannot be pickled"):
        pickle.dumps(bound.plan({"choices": [{"message": {"role": "assistant", "content": "hi"}}]}))
    import dataclasses

    mine = dataclasses.replace(get("openai"), name="mine")
    with pytest.raises(TypeError, match="the provider 'mine' cannot be pickled"):
        pickle.dumps(mine)
    assert pickle.loads(pickle.dumps(get("openai"))) is get("openai")
