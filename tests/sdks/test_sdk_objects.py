"""Objects of the SDKs, where JSON may stand as well."""

import mcp_types._v2026_07_28 as mcp
import openai.types.chat

from toolshape import Registry, Tool, tool

PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def test_sdk_objects_are_definitions():
    """What an MCP client lists."""
    listed = mcp.Tool.model_validate(
        {"name": "w", "inputSchema": PARAMETERS, "annotations": {"readOnlyHint": True}}
    )
    made = Tool.from_definition(listed)
    assert (made.input_schema, made.effects) == (PARAMETERS, {"read"})


def test_parsed_responses_go_back_as_they_came():
    """What the SDK's ``parse`` adds is no part of a request."""
    message = {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        ],
    }
    choice = {"index": 0, "finish_reason": "tool_calls", "message": message}
    body = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    parsed = openai.types.chat.ParsedChatCompletion[None].model_validate(body)
    parsed.choices[0].message.parsed = None
    parsed.choices[0].message.tool_calls[0].function.parsed_arguments = {"a": 1}
    results = Registry([tool(name="f")(lambda: 1)]).dispatch(parsed)
    assert results.turn[0] == message
