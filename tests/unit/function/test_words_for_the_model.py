"""What a tool raises for the model is told to it, whichever library's word it is; everything else is hidden."""

import asyncio
import sys

import pytest

from toolshape import Registry, ToolError, tool


def word(module, name):
    """A framework's exception, as its module would define it."""
    return type(name, (Exception,), {"__module__": module})


def told(raised):
    @tool
    def shop(a: int) -> str:
        """A shop."""
        raise raised

    [result] = Registry([shop]).dispatch({"name": "shop", "arguments": {"a": 1}})
    return result.error


@pytest.mark.parametrize(
    ("module", "name", "retryable"),
    [
        ("langchain_core.tools.base", "ToolException", False),
        ("pydantic_ai.exceptions", "ModelRetry", True),
        ("pydantic_ai.exceptions", "ToolFailed", False),
        ("fastmcp.exceptions", "ToolError", False),
    ],
)
def test_a_framework_s_own_word_reaches_the_model(module, name, retryable):
    """Also as a subclass of the author's own."""
    base = word(module, name)
    for cls in (base, type("Closed", (base,), {"__module__": "shop"})):
        error = told(cls("the shop is closed"))
        assert (error.code, error.retryable) == ("tool_error", retryable)
        assert "the shop is closed" in str(error)


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("shop", "ToolException"),
        ("pydantic_ai.exceptions", "UserError"),
        ("pydantic_ai2", "ModelRetry"),
    ],
)
def test_any_other_exception_is_hidden(module, name, caplog):
    error = told(word(module, name)("the password is hunter2"))
    assert error.code == "tool_crashed"
    assert "hunter2" not in str(error)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="task groups are from 3.11 on")
@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        ([ToolError("closed")], ["closed"]),
        ([ToolError("closed"), ToolError("sold out")], ["closed", "sold out"]),
        ([ToolError("closed"), ValueError("hunter2")], None),
        ([ValueError("hunter2")], None),
    ],
)
def test_a_word_out_of_the_tool_s_own_task_group(raised, expected, caplog):
    """A group that holds anything else is hidden whole."""

    @tool
    async def shop(a: int) -> str:
        """A shop."""

        async def ask(error):
            await asyncio.sleep(0)
            raise error

        async with asyncio.TaskGroup() as group:
            for error in raised:
                group.create_task(ask(error))
        return "open"

    call = {"name": "shop", "arguments": {"a": 1}}
    [result] = asyncio.run(Registry([shop]).adispatch(call))
    assert "hunter2" not in str(result.error)
    if expected is None:
        assert result.error.code == "tool_crashed"
    else:
        assert result.error.code == "tool_error"
        assert all(text in str(result.error) for text in expected)
